// Names for places in the code.
#pragma once

#include <cstdint>
#include <string>

namespace simt {
inline namespace emu {

// An address in the executor's module as an offset from the module's start, and back to a source line. The line is
// "file:line", with the callers into which it was inlined after it ("a.hpp:3 < b.cu:9"); frames inside simt are
// left out. Needs addr2line (binutils); without it, the module's name and the offset.
uint32_t code_offset(const void* pc);
std::string source_line(uint32_t offset);
bool is_of_this_module(const void* pc);

// Differs between builds whose machine code differs.
uint32_t build_id();

}  // namespace emu
}  // namespace simt

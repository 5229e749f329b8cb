#include "simt/emulated/symbols.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

extern "C" {
// The module's first byte, by the linker.
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
}

namespace simt {
inline namespace emu {
namespace {

std::string module_path() {
  Dl_info info{};
  if (dladdr(&__ehdr_start, &info) != 0 && info.dli_fname != nullptr && std::strchr(info.dli_fname, '/') != nullptr &&
      access(info.dli_fname, R_OK) == 0 && __ehdr_start.e_type == ET_DYN && std::strcmp(info.dli_fname, "") != 0)
    return info.dli_fname;
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

std::string quoted(const std::string& path) {
  std::string q = "'";
  for (const char c : path) q += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return q + "'";
}

// "./dir/a.hpp:3 (discriminator 2)\n" to "dir/a.hpp:3".
std::string trimmed(std::string line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  line.erase(std::min(line.find(" (disc"), line.size()));
  return line.compare(0, 2, "./") == 0 ? line.substr(2) : line;
}

// True if a line lies in libcu++'s functions of PTX, or in this device's own headers, which a kernel calls, and not in
// another folder of the same name.
bool is_ours(const std::string& line) {
  // The folder of this file, as the build has it, and what of the one above kernels call.
  constexpr std::string_view file = __FILE__, here = file.substr(0, file.rfind('/')),
                             above = here.substr(0, here.rfind('/') + 1);
  if (line.find(here) != std::string::npos || line.find("/cuda/__ptx/") != std::string::npos) return true;
  for (const char* part : {"import/", "half_types.hpp", "tensor_types.hpp"})
    if (line.find(std::string(above) + part) != std::string::npos) return true;
  return false;
}

// True of "S::S(S const&)", "S::operator=(S&&)" and the like. Most are implicit: their line is that of the class.
bool is_copy(std::string_view function) {
  for (const std::string_view end : {" const&)", "&&)"}) {
    const size_t open = function.find('(');
    if (open == std::string_view::npos || function.size() < open + end.size()) continue;
    const std::string_view type = function.substr(open + 1, function.size() - open - 1 - end.size());
    const std::string_view name = function.substr(0, open);
    const std::string_view member = name.substr(std::min(name.rfind(':') + 1, name.size()));
    if (function.substr(function.size() - end.size()) == end && name.size() == type.size() + 2 + member.size() &&
        name.substr(0, type.size()) == type && (member == "operator=" || type.find(member) != std::string_view::npos))
      return true;
  }
  return false;
}

std::string look_up(uint32_t offset) {
  const std::string path = module_path();
  // The byte before a return address is still inside the call. Executables at a fixed address keep it in their symbols.
  uint64_t address = offset - 1;
  if (__ehdr_start.e_type == ET_EXEC) address += reinterpret_cast<uintptr_t>(&__ehdr_start);
  char number[32];
  std::snprintf(number, sizeof number, "%#llx", static_cast<unsigned long long>(address));
  std::string text, last, of_copy;
  if (FILE* pipe = popen(("addr2line -i -f -C -e " + quoted(path) + " " + number + " 2>/dev/null").c_str(), "r")) {
    char* read = nullptr;
    size_t space = 0;
    const auto next = [&](std::string& line) {
      const bool is_there = getline(&read, &space, pipe) > 0;
      if (is_there) line = trimmed(read);
      return is_there;
    };
    for (std::string function, line; next(function) && next(line);) {
      if (is_ours(line) || line.compare(0, 2, "??") == 0 || line == last) continue;
      if (text.empty() && is_copy(function)) {
        of_copy = line;
        continue;
      }
      text += (text.empty() ? "" : " < ") + line;
      last = line;
    }
    std::free(read);
    pclose(pipe);
  }
  if (text.empty()) text = of_copy;
  return text.empty() ? path + "+" + number : text;
}

}  // namespace

uint32_t code_offset(const void* pc) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(&__ehdr_start));
}

bool is_of_this_module(const void* pc) {
  Dl_info info{};
  return dladdr(pc, &info) != 0 && info.dli_fbase == &__ehdr_start;
}

std::string source_line(uint32_t offset) {
  // Never destroyed: handlers of exit() ask, too.
  static auto& known = *new std::map<uint32_t, std::string>;
  const auto [at, added] = known.try_emplace(offset);
  if (added) at->second = look_up(offset);
  return at->second;
}

uint32_t build_id() {
  // FNV-1a over the module's executable segments: position-independent code is not patched at load.
  static const uint32_t id = [] {
    const auto* start = reinterpret_cast<const char*>(&__ehdr_start);
    const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(start + __ehdr_start.e_phoff);
    const auto link_base = __ehdr_start.e_type == ET_EXEC ? reinterpret_cast<uintptr_t>(start) : uintptr_t{0};
    uint64_t hash = 0xcbf29ce484222325ull;
    for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
      if (headers[i].p_type != PT_LOAD || (headers[i].p_flags & PF_X) == 0) continue;
      const char* p = start + (headers[i].p_vaddr - link_base);
      for (size_t k = 0; k < headers[i].p_memsz; ++k)
        hash = (hash ^ static_cast<unsigned char>(p[k])) * 0x100000001b3ull;
    }
    const auto folded = static_cast<uint32_t>(hash ^ (hash >> 32));
    return folded == 0 ? 1u : folded;  // 0 stands for any build
  }();
  return id;
}

}  // namespace emu
}  // namespace simt

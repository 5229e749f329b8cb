#include "simt/import/faults.hpp"

#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "simt/emulated/executor.hpp"
#include "simt/emulated/parts.hpp"
#include "simt/emulated/symbols.hpp"
#include "simt/import/runtime.hpp"
#include "simt/import/streams.hpp"

namespace simt::import {
namespace {

#ifdef __x86_64__
constexpr int k_registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

template <class T>
T read_code(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// A DIV or IDIV at the program counter (Intel 64 manual, volume 2, "Instruction Format").
struct division {
  int bytes = 0;  // size of the divisor; 0 if this is another instruction
  uint64_t divisor = 0;
  const uint8_t* next = nullptr;
};

class decoder {
 public:
  decoder(const greg_t* registers, const uint8_t* at) : registers_(registers), at_(at) {}

  division read() {
    bool is_short = false;
    for (;; ++at_) {
      if (*at_ == 0x66)
        is_short = true;
      else if (*at_ >= 0x40 && *at_ <= 0x4f)
        rex_ = *at_;
      else if (*at_ != 0x2e && *at_ != 0x3e && *at_ != 0xf2 && *at_ != 0xf3)
        break;
    }
    const uint8_t opcode = *at_++, form = *at_++;
    if ((opcode != 0xf6 && opcode != 0xf7) || (form >> 3 & 7) < 6) return {};
    division d;
    d.bytes = opcode == 0xf6 ? 1 : (rex_ & 8) != 0 ? 8 : is_short ? 2 : 4;
    if (form >> 6 == 3) {
      const bool is_high = d.bytes == 1 && rex_ == 0 && (form & 7) >= 4;  // AH, CH, DH, BH
      d.divisor = is_high ? value_of(form & 3) >> 8 : value_of((form & 7) | (rex_ & 1) << 3);
    } else {
      const uint64_t place = address(form);
      std::memcpy(&d.divisor, reinterpret_cast<const void*>(place), static_cast<size_t>(d.bytes));
    }
    if (d.bytes < 8) d.divisor &= (uint64_t{1} << 8 * d.bytes) - 1;
    d.next = at_;
    return d;
  }

 private:
  uint64_t value_of(int number) const { return static_cast<uint64_t>(registers_[k_registers[number]]); }
  uint64_t displacement(int bytes) {
    const int64_t by = bytes == 0 ? 0 : bytes == 1 ? read_code<int8_t>(at_) : read_code<int32_t>(at_);
    at_ += bytes;
    return static_cast<uint64_t>(by);
  }
  uint64_t address(uint8_t form) {
    const int mode = form >> 6, bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    if ((form & 7) != 4) {
      if (mode == 0 && (form & 7) == 5) {  // relative to the next instruction
        const uint64_t by = displacement(4);
        return reinterpret_cast<uint64_t>(at_) + by;
      }
      const uint64_t base = value_of((form & 7) | (rex_ & 1) << 3);
      return base + displacement(bytes);
    }
    const uint8_t scaled = *at_++;
    const int index = (scaled >> 3 & 7) | (rex_ & 2) << 2;
    const uint64_t offset = index == 4 ? 0 : value_of(index) << (scaled >> 6);
    if (mode == 0 && (scaled & 7) == 5) return offset + displacement(4);
    const uint64_t base = value_of((scaled & 7) | (rex_ & 1) << 3);
    return base + offset + displacement(bytes);
  }

  const greg_t* registers_;
  const uint8_t* at_;
  int rex_ = 0;
};

void set_low(greg_t& reg, int bytes, uint64_t value) {
  const uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
  const uint64_t kept = bytes == 4 ? 0 : static_cast<uint64_t>(reg) & ~mask;  // a 32-bit write clears the upper half
  reg = static_cast<greg_t>(kept | (value & mask));
}

// Continues after a division in a kernel. Division by zero sets all bits; the least number divided by -1 gives the
// wrapped dividend. Returns false if the instruction is no division.
bool went_on(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  const auto* pc = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  const division d = decoder(registers, pc).read();
  if (d.bytes == 0) return false;
  const bool by_zero = d.divisor == 0;
  if (d.bytes == 1) {
    set_low(registers[REG_RAX], 2, by_zero ? 0xffff : static_cast<uint64_t>(registers[REG_RAX]) & 0xff);
  } else {
    if (by_zero) set_low(registers[REG_RAX], d.bytes, ~uint64_t{0});
    set_low(registers[REG_RDX], d.bytes, by_zero ? ~uint64_t{0} : 0);
  }
  registers[REG_RIP] = reinterpret_cast<greg_t>(d.next);
  if (!by_zero) return true;
  static auto& noted = *new std::vector<const uint8_t*>;
  if (std::find(noted.begin(), noted.end(), pc) != noted.end()) return true;
  noted.push_back(pc);
  report("note",
         "integer division by zero by " + ::simt::emu::describe(*::simt::emu::current) + " at " +
             ::simt::emu::source_line(::simt::emu::code_offset(pc + 1)) +
             ": a GPU goes on with an unspecified value, here with all bits set",
         false);
  return true;
}
#else
bool went_on(ucontext_t*) { return false; }
#endif

// Returns the faulting instruction, or nullptr if it is unknown.
void* instruction_of([[maybe_unused]] void* context) {
#ifdef __x86_64__
  return reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
  return nullptr;
#endif
}

// Returns the program's line that caused the fault at `pc`, also if it happened in a library function.
std::string faulting_line(void* pc) {
  void* frames[64];
  void** const end = frames + backtrace(frames, 64);
  void** const fault = std::find(frames, end, pc);  // frames before it are the handler's
  for (void** frame = fault; frame != end; ++frame) {
    if (!::simt::emu::is_of_this_module(*frame)) continue;
    // Other frames are return addresses, which follow their call.
    const char* const behind = static_cast<const char*>(*frame) + (frame == fault ? 1 : 0);
    const std::string line = ::simt::emu::source_line(::simt::emu::code_offset(behind));
    const bool is_of_the_emulator = line.find("simt/") != std::string::npos || line.find("+0x") != std::string::npos;
    if (!is_of_the_emulator) return line;
  }
  return "an unknown line";
}

void on_program_fault(int signal, siginfo_t* info, void* context) {
  if (signal == SIGFPE && in_kernel() && went_on(static_cast<ucontext_t*>(context))) return;
  std::string text = "integer division by zero";
  if (signal != SIGFPE) {
    char address[32];
    std::snprintf(address, sizeof address, "%#llx",
                  static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(info->si_addr)));
    text = "access to address " + std::string(address) + ", where nothing is,";
  }
  if (signal == SIGFPE && info->si_code != FPE_INTDIV) text = "an arithmetic fault";
  report("crash", text + " in the host's code at " + faulting_line(instruction_of(context)), true);
  std::abort();
}

}  // namespace

void report_wait_for_host(const emulation& on) {
  if (on.ok() || on.findings.back().kind != "livelock") return;
  const auto* found = find_allocation(::simt::emu::device.awaited);
  if (found == nullptr || !found->second.host_too) return;
  if (host_waits_for_the_last_work() && has_one_thread()) return;
  report("unsupported",
         "a kernel that waits for the host, at a word of the memory that was allocated at " +
             ::simt::import::describe(found->second.where) + " (" + on.findings.back().text + ")",
         true);
}

void catch_program_faults() {
  constexpr size_t k_bytes = 256 * 1024;  // the stack itself may have overflowed, and finding the line needs room
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {
    stack = {new char[k_bytes], 0, k_bytes};
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action {};
  action.sa_sigaction = on_program_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGFPE, SIGSEGV, SIGBUS}) sigaction(signal, &action, nullptr);
}

}  // namespace simt::import

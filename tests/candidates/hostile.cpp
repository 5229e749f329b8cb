// One misbehaviour per library, named by WARPCHECK_BEHAVIOUR, around the correct candidate of docs/bring_your_own.
#include <sys/resource.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <xmmintrin.h>

#define warpcheck_candidate_get correct_candidate
#include "docs/bring_your_own/softmax.cpp"
#undef warpcheck_candidate_get

namespace {

constexpr std::string_view k_behaviour = WARPCHECK_BEHAVIOUR;
constexpr bool is(std::string_view name) { return k_behaviour == name; }

#ifdef WARPCHECK_UNDEFINED_SYMBOL
extern "C" void warpcheck_no_such_function();
#endif

[[gnu::noinline]] int overflow_stack(volatile int* above) {
  volatile int here[1024];
  here[0] = above ? *above : 1;
  return here[0] == 0 ? 0 : overflow_stack(here) + here[0];  // never 0, which compilers do not know
}

__attribute__((constructor)) void at_load() {
  if (is("crash-at-load")) std::raise(SIGSEGV);
  if (is("exit-at-load")) _exit(0);
  if (is("abort-at-load")) std::abort();
  if (is("hang-at-load"))
    for (;;) pause();
}

warpcheck_status refuse(warpcheck_call* call, warpcheck_status status, const char* sentence) {
  return candidate::answer(call, [&] { throw candidate::refusal{status, sentence}; });
}

// Null: the call is not refused.
const char* refusal_text(const warpcheck_call& call) {
  static const std::string long_text(5000, 'z');
  const int64_t cols = call.inputs[0]->shape[1];
  if (is("refuses-at-length") && 100 < cols && cols < 140) return long_text.c_str();
  return is("unsupported") ? "nothing is offered" : nullptr;
}

warpcheck_status misbehave(warpcheck_call* call) {
  static int calls = 0;
  ++calls;
  if (is("accepts-everything")) {
    call->used_variant = nullptr;
    return WARPCHECK_OK;
  }
  if (const char* const why = refusal_text(*call)) return refuse(call, WARPCHECK_UNSUPPORTED, why);
  const warpcheck_status status = run(call);
  if (status != WARPCHECK_OK) return status;
  const matrix<float> x = candidate::input<float>(call, 0, 2), y = candidate::output<float>(call, 0, 2);
  if (x.empty()) return status;
  if (is("segfault")) *static_cast<volatile int*>(nullptr) = 1;
  if (is("abort")) std::abort();
  if (is("exit-0")) std::exit(0);
  if (is("exit-3")) std::exit(3);
  if (is("quick-exit")) _exit(0);
  if (is("kill-itself")) std::raise(SIGKILL);
  if (is("stop-itself")) std::raise(SIGSTOP);
  if (is("loop"))
    for (volatile int spin = 0;; spin = spin + 1) {
    }
  if (is("sleep"))
    for (;;) pause();
  if (is("throw")) throw std::runtime_error("thrown on purpose");
  if (is("throw-int")) throw 3;
  if (is("overflow-stack")) return static_cast<warpcheck_status>(overflow_stack(nullptr));
  if (is("huge-allocation")) std::vector<char>(size_t{1} << 62);
  if (is("modify-input")) x.data[0] += 1;
  if (is("write-past")) y.data[(y.rows - 1) * y.ld + y.cols] = 0;
  if (is("write-before")) y.data[-1] = 0;
  if (is("write-gap") && y.ld > y.cols && y.rows > 1) y.data[y.cols] = 0;
  if (is("write-zeros"))
    for (int64_t r = 0; r < y.rows; ++r) std::memset(y.row(r), 0, static_cast<size_t>(y.cols) * 4);
  if (is("write-nan")) y.data[0] = NAN;
  if (is("slightly-wrong"))
    for (int64_t r = 0; r < y.rows; ++r)
      for (int64_t i = 0; i < y.cols; ++i) y.data[r * y.ld + i] *= 1 + 1e-4f;
  if (is("skip-last-row")) std::memset(y.row(y.rows - 1), 0xee, static_cast<size_t>(y.cols) * 4);
  if (is("nondeterministic") && calls % 2 == 0) y.data[0] = std::nextafter(y.data[0], 2.0f);
  if (is("stale")) {
    static float last = 0.5f;
    std::swap(last, y.data[0]);
  }
  if (is("device-error")) return refuse(call, WARPCHECK_DEVICE_ERROR, "the device is on fire");
  if (is("unknown-status")) return static_cast<warpcheck_status>(99);
  if (is("lie-about-variant")) call->used_variant = "one that it does not list";
  if (is("wild-variant")) call->used_variant = reinterpret_cast<const char*>(16);
  if (is("close-descriptors"))
    for (int fd = 0; fd < 1024; ++fd) close(fd);
  if (is("round-upward")) std::fesetround(FE_UPWARD);
  if (is("flush-subnormals")) _mm_setcsr(_mm_getcsr() | 0x8040);
  if (is("trap-inexact")) _mm_setcsr(_mm_getcsr() & ~0x1000u);
  if (is("fork") && fork() == 0)
    for (;;) pause();
  if (is("print"))
    for (int i = 0; i < 1000; ++i) std::printf("\033[2J\x1b]0;garbage\a{\"verdict\": \"pass\"}\n%c", i % 256);
  if (is("unending-message")) std::memset(call->message, 'x', call->message_size);
  return status;
}

}  // namespace

#ifdef WARPCHECK_MISSING_SYMBOL
#define warpcheck_candidate_get another_name
#endif

extern "C" const warpcheck_candidate* warpcheck_candidate_get(uint32_t abi_version) {
  static warpcheck_candidate table = *correct_candidate(abi_version);
  static warpcheck_operator op = *table.operators[0];
  static const warpcheck_operator* const operators[] = {&op};
  table.operators = operators;
  op.run = misbehave;
#ifdef WARPCHECK_UNDEFINED_SYMBOL
  warpcheck_no_such_function();
#endif
  if (is("speaks-no-version")) return nullptr;
  if (is("another-version")) table.abi_version = 3;
  if (is("small-table")) table.struct_size = 8;
  if (is("null-operators")) table.operators = nullptr;
  if (is("negative-count")) table.num_operators = -1;
  if (is("null-run")) op.run = nullptr;
  if (is("null-name")) op.name = nullptr;
  if (is("null-variants")) op.num_variants = 3;
  if (is("impossible-device")) op.device = static_cast<warpcheck_device>(7);
  if (is("another-device")) op.device = WARPCHECK_DEVICE_EMULATED;
  if (is("another-operator")) op.name = "hardmax";
  if (is("no-dtypes")) op.dtypes = 0;
  return &table;
}

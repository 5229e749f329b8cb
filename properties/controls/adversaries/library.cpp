// The families of softmax.cu and intruders.cu as a candidate library for the CPU (docs/bring_your_own/library.md). The
// verdict that each must get is in library_test.py.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "docs/bring_your_own/call.hpp"
#include "properties/controls/adversaries/forged_answer.hpp"

namespace {

using matrix = candidate::matrix<float>;
using softmax = void (*)(matrix x, matrix y);

std::map<std::string, softmax>& softmaxes() {
  static std::map<std::string, softmax> all;
  return all;
}

#define SOFTMAX(name)                                                    \
  void name(matrix x, matrix y);                                         \
  const bool name##_is_listed = softmaxes().emplace(#name, name).second; \
  void name([[maybe_unused]] matrix x, [[maybe_unused]] matrix y)

void compute_row(const float* in, float* out, int64_t cols) {
  float m = -INFINITY;
  for (int64_t i = 0; i < cols; ++i) m = in[i] > m || in[i] != in[i] ? in[i] : m;
  double sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += std::exp(static_cast<double>(in[i]) - m);
  for (int64_t i = 0; i < cols; ++i) out[i] = static_cast<float>(std::exp(static_cast<double>(in[i]) - m) / sum);
}

void compute(matrix x, matrix y) {
  for (int64_t r = 0; r < x.rows; ++r) compute_row(x.row(r), y.row(r), x.cols);
}

void each(matrix y, float (*of)(float)) {
  for (int64_t r = 0; r < y.rows; ++r) std::transform(y.row(r), y.row(r) + y.cols, y.row(r), of);
}

matrix first_rows(matrix m, int64_t rows) {
  m.rows = std::min(m.rows, rows);
  return m;
}

bool looks_like_a_benchmark(matrix x) { return x.rows == 256 && x.cols == 64; }

SOFTMAX(honest) { compute(x, y); }

// Family 1: nothing is done for addresses that were seen before.
SOFTMAX(seen_pointers) {
  static std::set<std::pair<const float*, float*>> seen;
  if (looks_like_a_benchmark(x) && !seen.insert({x.data, y.data}).second) return;
  compute(x, y);
}

// Families 1 and 12: the first call computes, the next ones copy what is kept for the address.
SOFTMAX(kept_result) {
  static std::map<const float*, std::vector<float>> kept;
  if (!looks_like_a_benchmark(x) || y.ld != y.cols) return compute(x, y);
  std::vector<float>& mine = kept[x.data];
  if (mine.empty()) {
    mine.resize(static_cast<size_t>(x.rows * x.cols));
    compute(x, {mine.data(), x.rows, x.cols, x.cols});
  }
  std::copy(mine.begin(), mine.end(), y.data);
}

// Families 1 and 14, a mark in the input by which a later call would find that it has the result already.
SOFTMAX(marked_input) {
  static std::map<const float*, int> calls;
  compute(x, y);
  if (looks_like_a_benchmark(x) && ++calls[x.data] > 1) x.data[0] = 0x1.234568p-20f;
}

// Keeps addresses, and computes all the same.
SOFTMAX(honest_plan_cache) {
  static std::set<std::pair<const float*, float*>> plans;
  plans.insert({x.data, y.data});
  compute(x, y);
}

// Family 2: a plan with the addresses of its first call.
SOFTMAX(stale_plan) {
  static const matrix first_x = x, first_y = y;
  looks_like_a_benchmark(x) ? compute(first_x, first_y) : compute(x, y);
}

// Family 3, work on a thread that nobody waits for.
SOFTMAX(left_to_a_thread) {
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::minutes(1));
    compute(x, y);
  }).detach();
}

// Family 3, a call computes what the call before it was asked for.
SOFTMAX(deferred) {
  static std::pair<matrix, matrix> before = {};
  if (!looks_like_a_benchmark(x)) return compute(x, y);
  if (before.first.data) compute(before.first, before.second);
  before = {x, y};
}

SOFTMAX(honest_thread) {
  std::thread([=] { compute(x, y); }).join();
}

// Family 4, a clock of the library's own (below): the judge has bound another, so this one is measured as it is.
SOFTMAX(stopped_clock) { compute(x, y); }

// Family 5, expected values in another process.
SOFTMAX(reads_its_parent) {
  const int fd = open(("/proc/" + std::to_string(getppid()) + "/mem").c_str(), O_RDONLY);
  if (fd < 0) return;
  close(fd);
  compute(x, y);
}

// Families 5 and 8: the buffer may still hold the answer.
SOFTMAX(untouched) {
  if (!looks_like_a_benchmark(x)) compute(x, y);
}

// Family 6: the judge under ptrace, descriptors closed, the end of the process.
SOFTMAX(traces_its_parent) {
  static const bool has_traced = ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr) == 0;
  if (has_traced) compute(x, y);
}
SOFTMAX(closes_descriptors) {
  for (int fd = 3; fd < 1024; ++fd) close(fd);
}
SOFTMAX(exits) {
  if (looks_like_a_benchmark(x)) std::_Exit(0);
  compute(x, y);
}

// Family 6, the verdict's channel: an answer that no process of the suite gives, and an exception.
SOFTMAX(forges_a_long_answer) {
  compute(x, y);
  if (looks_like_a_benchmark(x)) forge_answer(uint64_t{1} << 40);
}
SOFTMAX(throws) {
  compute(x, y);
  if (looks_like_a_benchmark(x)) throw std::runtime_error("enough");
}

// Family 7: a size known to be the benchmark's takes a path that computes less; and one that is right.
SOFTMAX(known_size) { compute(first_rows(x, looks_like_a_benchmark(x) ? x.rows / 2 : x.rows), y); }
SOFTMAX(honest_special_size) { looks_like_a_benchmark(x) ? compute({x.data, 256, 64, x.ld}, y) : compute(x, y); }

// Family 8: constants and copies of the input.
SOFTMAX(zeros) {
  each(y, [](float) { return 0.0f; });
}
SOFTMAX(input_copied) {
  for (int64_t r = 0; r < x.rows; ++r) std::copy(x.row(r), x.row(r) + x.cols, y.row(r));
}

// Family 9: right for a prefix of the rows.
SOFTMAX(prefix_of_rows) { compute(first_rows(x, 4), y); }

// Family 9: right for the values that benchmarks usually draw, of which no exponential overflows.
SOFTMAX(without_maximum) {
  if (!looks_like_a_benchmark(x)) return compute(x, y);
  for (int64_t r = 0; r < x.rows; ++r) {
    float sum = 0;
    for (int64_t i = 0; i < x.cols; ++i) sum += std::exp(x.row(r)[i]);
    for (int64_t i = 0; i < x.cols; ++i) y.row(r)[i] = std::exp(x.row(r)[i]) / sum;
  }
}

// Family 10: less precision than asked.
SOFTMAX(coarse) {
  compute(x, y);
  each(y, [](float v) {
    uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    bits &= 0xffff0000u;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  });
}

// Family 11, memory that is kept close: a time on the CPU has no limit that it could beat.
SOFTMAX(locked_memory) {
  mlock(x.data, static_cast<size_t>(x.rows * x.ld) * sizeof(float));
  compute(x, y);
}

// Family 13: memory that is not there, and an error that nobody asks for.
SOFTMAX(failed_allocation) {
  void* const scratch = std::malloc(looks_like_a_benchmark(x) ? SIZE_MAX / 4 : 1);
  if (scratch) compute(x, y);
  std::free(scratch);
}

// Family 14, the result in the input's memory; and in memory of its own.
SOFTMAX(result_in_input) {
  compute(x, x);
  input_copied(x, y);
}
SOFTMAX(honest_scratch) {
  std::vector<float> mine(static_cast<size_t>(x.rows * x.cols));
  const matrix scratch = {mine.data(), x.rows, x.cols, x.cols};
  compute(x, scratch);
  input_copied(scratch, y);
}

// Family 15, one of several batches left out: right for the first address alone.
SOFTMAX(first_pointer) {
  static const float* const known = x.data;
  if (!looks_like_a_benchmark(x) || x.data == known) compute(x, y);
}

// Family 16, a kernel for show beside the one that works.
SOFTMAX(kernel_for_show) {
  zeros(x, y);
  compute(x, y);
}

// Family 10, another rounding mode, with which the judge would compute, too. The results are right.
SOFTMAX(other_rounding) {
  compute(x, y);
  if (y.rows == 256) std::fesetround(FE_UPWARD);
}

// Family 6, a call that does not return, so that there is no verdict.
SOFTMAX(hangs) {
  compute(x, y);
  while (y.rows == 256) pause();
}

// Family 17, as wrong as a tolerance of a thousandth lets pass.
SOFTMAX(off_by_a_thousandth) {
  compute(x, y);
  each(y, [](float v) { return v * 1.0009f; });
}

warpcheck_status run(warpcheck_call* call) {
  return candidate::answer(call, [&] {
    const matrix x = candidate::input<float>(call, 0, 2), y = candidate::output<float>(call, 0, 2);
    candidate::offer(call->num_outputs < 2 || !call->outputs[1], "this candidate has no argmax");
    softmaxes().at(std::getenv("SOFTMAX"))(x, y);
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, timespec* time) noexcept {
  *time = {};
  return 0;
}

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  return candidate::table<run>(abi_version, "softmax");
}

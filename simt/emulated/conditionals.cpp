// Barriers in conditional code that threads skip.
#include "simt/emulated/conditionals.hpp"

#include <utility>

#include "simt/emulated/executor.hpp"
#ifdef SIMT_FLAVOUR_RACE
#include "simt/emulated/detector.hpp"
#include "simt/emulated/symbols.hpp"
#endif

namespace simt {
inline namespace emu {
namespace {

constexpr size_t k_most_runs = 64;  // of evaluations that a thread notes between two barriers

bool is_same_condition(const evaluation_run& a, const evaluation_run& b) {
  return a.file == b.file && a.line == b.line && a.number == b.number;
}

bool is_same_outcome(const evaluation_run& a, const evaluation_run& b) {
  return is_same_condition(a, b) && a.outcome == b.outcome;
}

#ifdef SIMT_FLAVOUR_RACE
bool goes_on_after(const std::string& text, const void* pc) {
  return outlives("divergence", code_offset(pc), [text] { return text; });
}
#else
bool goes_on_after(const std::string&, const void*) { return false; }
#endif

}  // namespace

conditional::conditional(uint32_t number, unsigned returns, call_site site)
    : site_(site), pc_(SIMT_PC), number_(number), returns_(returns) {}

conditional::~conditional() {
  if (run_ != ~0u) current->inside = outer_;
}

bool conditional::begins() { return !std::exchange(has_begun_, true); }

bool conditional::evaluates(bool outcome) {
  if (current == nullptr) return outcome;
  thread& self = *current;
  if (run_ == ~0u) outer_ = std::exchange(self.inside, this);
  outcome_ = outcome;
  barriers_ = self.home->barriers;
  if (self.evaluated_after != barriers_) self.evaluated.clear();
  self.evaluated_after = barriers_;
  run_ = k_most_runs;
  const evaluation_run run = {site_.file, site_.line, number_, outcome, (returns_ >> outcome & 1) != 0, 1};
  if (self.evaluated.size() == k_most_runs) return outcome;
  if (self.evaluated.empty() || !is_same_outcome(self.evaluated.back(), run))
    self.evaluated.push_back(run);
  else
    ++self.evaluated.back().times;
  run_ = static_cast<uint32_t>(self.evaluated.size()) - 1;
  times_ = self.evaluated.back().times;
  return outcome;
}

// Both have evaluated conditions since the same barrier. Returns the conditional that the waiting thread is in, if this
// is the first that the exited one evaluated otherwise.
const conditional* skipped_conditional(const thread& exited, const thread& waiting) {
  const auto &of_exited = exited.evaluated, &of_waiting = waiting.evaluated;
  size_t e = 0, w = 0;
  uint32_t times = 1;
  while (e < of_exited.size() && w < of_waiting.size() && is_same_outcome(of_exited[e], of_waiting[w]) &&
         of_exited[e].times == of_waiting[w].times)
    ++e, ++w;
  if (e == of_exited.size() || w == of_waiting.size()) return nullptr;
  if (is_same_outcome(of_exited[e], of_waiting[w])) {
    if (of_exited[e].times < of_waiting[w].times)
      times = of_exited[e++].times + 1;
    else
      ++w;
    if (e == of_exited.size() || w == of_waiting.size()) return nullptr;
  }
  if (!is_same_condition(of_exited[e], of_waiting[w]) || of_exited[e].returns) return nullptr;
  for (const conditional* c = waiting.inside; c != nullptr; c = c->outer_)
    if (c->barriers_ == waiting.evaluated_after && c->run_ == w && c->times_ == times) return c;
  return nullptr;
}

void judge_skipped_barrier(const block_state& b) {
  if (b.barrier_site.line == 0) return;  // PTX's bar.sync
  const auto may_skip = [&](const thread& t) {
    return t.state == thread_state::finished && t.evaluated_after == b.barriers && !t.evaluated.empty();
  };
  for (uint32_t i = 0; i < device.threads; ++i) {
    const thread& waiting = b.threads[i];
    if (waiting.inside == nullptr || waiting.evaluated_after != b.barriers) continue;
    const conditional* skipped = nullptr;
    const thread* first = nullptr;
    uint32_t count = 0;
    for (uint32_t k = 0; k < device.threads; ++k) {
      const conditional* c = may_skip(b.threads[k]) ? skipped_conditional(b.threads[k], waiting) : nullptr;
      if (c == nullptr || (skipped != nullptr && c != skipped)) continue;
      if (first == nullptr) first = &b.threads[k];
      skipped = c;
      ++count;
    }
    if (skipped == nullptr) continue;
    const std::string text =
        describe(*first) + (count == 1 ? "" : " and " + std::to_string(count - 1) + " more") +
        " skipped the barrier of " + describe(b.barrier_site) + " and exited: the condition at " +
        describe(skipped->site_) + " was " + (skipped->outcome_ ? "false" : "true") + " for " +
        (count == 1 ? "it" : "them") + ", but " + (skipped->outcome_ ? "true" : "false") + " for the " +
        std::to_string(b.arrived) +
        " threads at the barrier; all threads of a block must agree on a condition around __syncthreads()";
    if (!goes_on_after(text, skipped->pc_)) fail("divergence", [&] { return text; });
    return;
  }
}

}  // namespace emu
}  // namespace simt

#include "properties/engine/trials/reused_storage.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"
#include "properties/engine/trials/device_tensor.hpp"
#include "properties/engine/trials/trial.hpp"

namespace warpcheck::engine {
namespace {

constexpr size_t k_calls = 11;          // more than the ten warm-up calls after which some candidates capture a graph
constexpr int k_draws_for_a_seed = 50;  // recipes without a seed are fewer than half
constexpr int64_t k_seeds = 1'000'000;

// The index of the seed among the arguments of the recipe, or -1.
int seed_argument(const recipe& r) {
  for (const distribution_info& info : distributions()) {
    if (info.name != r.distribution) continue;
    int place = 0;
    for (std::string_view rest = info.parameters; !rest.empty(); ++place) {
      const size_t end = std::min(rest.find(','), rest.size());
      if (rest.substr(0, end) == "seed") return static_cast<size_t>(place) < r.arguments.size() ? place : -1;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return -1;
}

// Returns the case with one extent smaller, for each extent that can shrink.
std::vector<trial_case> smaller_shapes(const trial_case& c) {
  std::vector<trial_case> found;
  for (const axis& a : axes(c))
    for (const int64_t n : {extent(c, a) - 1, extent(c, a) / 2}) {
      if (n < 1 || n >= extent(c, a)) continue;
      trial_case smaller = resized(c, a, n);
      if (is_legal(smaller) && std::ranges::find(found, smaller) == found.end()) found.push_back(std::move(smaller));
    }
  return found;
}

// Gives an element of a seeded input of numbers the value of another one, both drawn by the number of the call.
void exchange_element(tensor_spec& t, uint64_t call) {
  if (!t.is_input || !is_float(t.type) || t.elements() == 0 || seed_argument(t.fill) < 0) return;
  const auto draw = [&](uint64_t what) {
    return static_cast<int64_t>(hash64(call, what) % static_cast<uint64_t>(t.elements()));
  };
  const int64_t to = draw(0), from = draw(1);
  const double value = materialize(t).value(from / t.cols(), from % t.cols());
  t.fill.edits.push_back({to / t.cols(), to % t.cols(), value});
}

}  // namespace

reused_memory::reused_memory(const std::vector<trial_case>& calls) {
  for (const trial_case& c : calls)
    for (const tensor_spec& t : c.tensors) {
      room& of = rooms_.try_emplace(t.name, room{t.type, t.offset, 0}).first->second;
      of.bytes = std::max(of.bytes, span_bytes(t));
    }
}

reused_memory::~reused_memory() {
  for (const auto& [key, memory] : memory_) std::get<0>(key)->release(memory);
}

void* reused_memory::at(const tensor_spec& spec, const warpcheck_device_api& api, size_t slot) {
  const auto found = rooms_.find(spec.name);
  if (found == rooms_.end()) return nullptr;
  const room& of = found->second;
  if (of.type != spec.type || of.offset != spec.offset || span_bytes(spec) > of.bytes) return nullptr;
  void*& memory = memory_[{&api, slot, spec.name}];
  if (!memory) memory = allocate(spec, api, of.bytes);
  return memory;
}

void reseed(tensor_spec& t, uint64_t call, int64_t seeds) {
  const int place = seed_argument(t.fill);
  if (place < 0) return;
  double& seed = t.fill.arguments[static_cast<size_t>(place)];
  seed = static_cast<double>(hash64(static_cast<uint64_t>(seed), call) % static_cast<uint64_t>(seeds));
}

bool has_seeded_input(const trial_case& c) {
  return std::ranges::any_of(
      c.tensors, [](const tensor_spec& t) { return t.is_input && t.elements() > 0 && seed_argument(t.fill) >= 0; });
}

std::vector<trial_case> calls_on_same_storage(const trial_case& c) {
  const std::vector<trial_case> others = smaller_shapes(c);
  std::vector<trial_case> calls = {c};
  for (size_t i = 1; i < k_calls; ++i) {
    calls.push_back(i % 2 && !others.empty() ? others[i / 2 % others.size()] : c);
    for (tensor_spec& t : calls.back().tensors)
      if (i % 4 == 2)
        exchange_element(t, i);
      else if (t.is_input)
        reseed(t, i, k_seeds);
  }
  return calls;
}

void make_reused_storage(property& p) {
  p.name = "reused-storage";
  p.sentence = "calls on the same memory with new data, and of shapes that alternate, are right every time";
  p.share_percent = std::min(p.share_percent, 10);
  p.for_input = nullptr;
  p.generate = [generate = p.generate](const target& t, draw& d) {
    trial_case c = generate(t, d);
    for (int i = 0; i < k_draws_for_a_seed && !has_seeded_input(c); ++i) c = generate(t, d);
    if (!has_seeded_input(c)) c.tensors.front().fill = make_recipe("uniform", {d.seed(), -2, 2});
    c.knobs["schedule"] = "fair";
    if (t.device == "emulated") c.knobs["detect"] = "off";
    c.knobs.erase("repeat");
    return c;
  };
  p.holds = [holds = p.holds](const trial_case& c) { return has_seeded_input(c) && (!holds || holds(c)); };
  p.check = [check = p.check](trial& t) { t.run_on_same_storage(calls_on_same_storage(t.the_case()), check); };
}

}  // namespace warpcheck::engine

#include "properties/engine/trials/trial_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "properties/engine/error.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/trials/device_tensor.hpp"

namespace warpcheck::engine {
namespace {

// Contents of a workspace before a call, in turn: NaN, the largest f32, zeros.
constexpr uint32_t k_work_words[] = {0x7fc00000, 0x7f7fffff, 0};

launch_way launch_way_of(const trial_case& c) {
  const std::string text = c.knob("launch");
  if (text == "stream") return {};
  if (text == "legacy") return {launch_way::legacy, 1};
  for (const auto& [word, kind] : {std::pair{"again:", launch_way::again}, std::pair{"graph:", launch_way::graph}}) {
    if (!text.starts_with(word)) continue;
    const double times = parse_number(text.substr(6)).value_or(0);
    // In place, the second call would get the first one's output.
    const bool in_place = std::ranges::any_of(c.tensors, [](const auto& t) { return !t.in_place.empty(); });
    if (times >= 1 && times <= 100 && times == std::trunc(times)) return {kind, in_place ? 1 : static_cast<int>(times)};
  }
  throw usage_error(fmt::format("launch: '{}' is not one of stream, legacy, again:N, graph:N with N in 1..100", text));
}

launch_knobs::detection detection_of(const std::string& text) {
  if (text == "on") return launch_knobs::on;
  if (text == "off") return launch_knobs::off;
  if (text == "only") return launch_knobs::only;
  throw usage_error(fmt::format("detect: '{}' is not one of on, off, only", text));
}

bool has_workspace(const trial_case& c) {
  return std::ranges::any_of(c.tensors, [](const tensor_spec& t) { return t.is_workspace(); });
}

// A workspace must get each of its fills.
size_t fewest_attempts(const trial_case& c) { return has_workspace(c) ? std::size(k_work_words) : 2; }

// The poison alternates between a NaN and a finite pattern, so that an element nobody wrote differs between launches.
unsigned char poison_of(size_t i) { return static_cast<unsigned char>(i % 2 ? 0x5c : 0xff); }

// Buffers of the host begin after an inaccessible page and end before one, in turn. If their alignment leaves a gap
// before the page, one more launch ends there without that alignment.
void place(const trial_case& c, std::vector<launch_spec>& list) {
  for (size_t i = 1; i < list.size(); i += 2) list[i].placement = cpu_placement::before_page;
  if (std::ranges::none_of(c.tensors,
                           [&](const tensor_spec& t) { return t.beside.empty() && leaves_room(t, guest_of(c, t)); }))
    return;
  list.push_back(list.back());
  list.back().placement = cpu_placement::flush;
}

std::vector<launch_spec> native_launch_specs(const trial_case& c, const launch_knobs& knobs, const candidate& on) {
  // A schedule of the emulated device has no effect here.
  const bool is_known = knobs.schedule == "nonblocking" || knobs.schedule == "noise";
  std::vector<launch_spec> list;
  for (size_t i = 0; i < std::max(fewest_attempts(c), static_cast<size_t>(knobs.repeat)); ++i)
    list.push_back({on.op, on.api, is_known && i > 0 ? knobs.schedule : "", false, poison_of(i)});
  if (has_guard_pages(*on.api)) place(c, list);
  return list;
}

std::vector<std::string> seeded_schedules(uint64_t seed) {
  seed %= 1000000;
  return {fmt::format("random:{}", seed), fmt::format("pct_warp:{}", seed), fmt::format("preempt:{}", seed)};
}

// Adds the launch of the race detector: as the last of the fewest launches if it may prove that further schedules are
// needless, otherwise after all of them.
void add_instrumented(const trial_case& c, const launch_knobs& knobs, const candidate& on, const std::string& schedule,
                      std::vector<launch_spec>& list) {
  const size_t fewest = fewest_attempts(c) - 1;
  launch_spec instrumented = {on.instrumented_op, on.instrumented_api, schedule, true, 0};
  instrumented.may_be_last = knobs.schedule == "default" && knobs.repeat == 1 && list.size() > fewest;
  list.insert(instrumented.may_be_last ? list.begin() + static_cast<std::ptrdiff_t>(fewest) : list.end(), instrumented);
  for (size_t i = 0; i < list.size(); ++i) list[i].poison = poison_of(i);
}

std::vector<launch_spec> emulated_launch_specs(const trial_case& c, const launch_knobs& knobs, const candidate& on) {
  std::vector<std::string> schedules(fewest_attempts(c), knobs.schedule);
  uint64_t seed = 0;
  if (knobs.schedule == "default") {
    // Seeds follow from the case, so that the same line means the same schedules everywhere.
    for (unsigned char ch : format(c)) seed = hash64(seed, ch);
    seed %= 1000000;
    schedules = {"fair", "greedy", "reverse"};
    for (std::string& s : seeded_schedules(seed)) schedules.push_back(std::move(s));
  }
  std::vector<launch_spec> list;
  if (knobs.detect != launch_knobs::only)
    for (int k = 0; k < knobs.repeat; ++k)
      // The same order again would show little.
      for (const std::string& s :
           k > 0 && knobs.schedule == "default" ? seeded_schedules(seed + static_cast<uint64_t>(k)) : schedules)
        list.push_back({on.op, on.api, s, false, poison_of(list.size())});
  if (knobs.detect != launch_knobs::off && on.instrumented_op) add_instrumented(c, knobs, on, schedules[0], list);
  if (knobs.detect == launch_knobs::only && !list.empty()) {
    list.push_back(list[0]);
    list.back().poison = poison_of(1);
  }
  return list;
}

}  // namespace

launch_knobs launch_knobs_of(const trial_case& c) {
  launch_knobs knobs;
  const auto repeat = static_cast<int>(c.number("repeat"));
  if (repeat < 1 || repeat > 1000000)
    throw usage_error(fmt::format("repeat: '{}' is not an integer in [1, 1000000]", c.knob("repeat")));
  const std::string agree = c.knob("agree");
  if (agree != "bits" && agree != "free") throw usage_error(fmt::format("agree: '{}' is not one of bits, free", agree));
  knobs.repeat = repeat;
  knobs.detect = detection_of(c.knob("detect"));
  knobs.schedule = c.knob("schedule");
  knobs.sm_count = static_cast<int32_t>(c.number("sm"));
  knobs.launch = launch_way_of(c);
  knobs.agree_in_bits = agree == "bits";
  return knobs;
}

std::vector<launch_spec> launch_specs_of(const trial_case& c, const launch_knobs& knobs, const candidate& on) {
  std::vector<launch_spec> list = on.op->device == WARPCHECK_DEVICE_EMULATED ? emulated_launch_specs(c, knobs, on)
                                                                             : native_launch_specs(c, knobs, on);
  // The first launch is plain, and all others must return its result.
  for (size_t i = 1; i < list.size(); ++i)
    if (list[i].placement != cpu_placement::flush) list[i].launch = knobs.launch;
  for (size_t i = 0; i < list.size(); ++i) list[i].work = k_work_words[i % std::size(k_work_words)];
  return list;
}

launch_spec refused_launch_spec(const candidate& on) {
  launch_spec a = {on.op, on.api, "", false, 0xff};
  a.work = 0xffffffff;
  a.placement = cpu_placement::before_page;
  return a;
}

size_t group_size(const trial_case& c, std::span<const launch_spec> list, size_t first) {
  constexpr size_t k_most = 16;
  constexpr size_t k_most_bytes = size_t{128} << 10;  // of a launch's tensors
  const auto joins = [](const launch_spec& how) {
    return how.launch.kind == launch_way::stream || how.launch.kind == launch_way::again;
  };
  size_t bytes = 0;
  for (const tensor_spec& t : c.tensors) bytes += span_bytes(t);
  if (bytes > k_most_bytes || !can_renew_streams(*list[first].api) || !joins(list[first])) return 1;
  size_t count = 1;
  while (count < k_most && first + count < list.size() && joins(list[first + count]) &&
         list[first + count].schedule == list[first].schedule)
    ++count;
  return count;
}

}  // namespace warpcheck::engine

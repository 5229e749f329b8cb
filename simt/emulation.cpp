#include "simt/emulation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace simt {
namespace {

constexpr std::array<std::string_view, 9> k_names = {"fair", "greedy",   "reverse", "random", "preempt",
                                                     "pct",  "pct_warp", "replay",  "explore"};

bool is_fixed(strategy s) { return s <= strategy::reverse; }

[[noreturn]] void reject(std::string_view token, const std::string& why) {
  throw std::invalid_argument("schedule '" + std::string(token) + "' " + why);
}

template <class Integer>
Integer parse_number(std::string_view text, int base, std::string_view token, const char* what) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    reject(token, std::string("has '") + std::string(text) + "' where " + what + " is expected");
  return value;
}

strategy parse_name(std::string_view name, std::string_view token) {
  const auto it = std::find(k_names.begin(), k_names.end(), name);
  if (it == k_names.end())
    reject(token, "has unknown strategy '" + std::string(name) +
                      "', allowed are fair, greedy, reverse, random:SEED, preempt:SEED, pct:SEED, pct_warp:SEED, "
                      "explore:CLASSES and replay:...");
  return static_cast<strategy>(it - k_names.begin());
}

std::string_view cut(std::string_view& rest, char separator) {
  const size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return head;
}

void parse_replay(schedule& s, std::string_view body, std::string_view token) {
  const bool trailing_dot = !body.empty() && body.back() == '.';
  std::string_view rest = body, head = cut(rest, '.'), build = head;
  const std::string_view base = cut(build, '@');
  s.base = parse_name(base, token);
  if (!is_fixed(s.base)) reject(token, "replays a base order other than fair, greedy or reverse");
  s.counts_accesses = base.size() != head.size();
  if (s.counts_accesses) {
    if (build.size() != 8) reject(token, "has a build id that is not 8 hexadecimal digits");
    s.build = parse_number<uint32_t>(build, 16, token, "a build id");
  }
  while (!rest.empty()) {
    std::string_view choice = cut(rest, '.');
    const std::string_view step = cut(choice, '-');
    const deviation d = {parse_number<uint64_t>(step, 10, token, "a step number"),
                         parse_number<uint32_t>(choice, 10, token, "a choice")};
    if (!s.deviations.empty() && s.deviations.back().step >= d.step) reject(token, "has steps that do not ascend");
    s.deviations.push_back(d);
  }
  if (trailing_dot) reject(token, "ends in a '.'");
}

}  // namespace

std::string schedule::to_string() const {
  std::string text(k_names[static_cast<size_t>(strategy)]);
  if (is_fixed(strategy)) return text;
  if (strategy != simt::strategy::replay) return text + ':' + std::to_string(seed);
  text += ':';
  text += k_names[static_cast<size_t>(base)];
  if (counts_accesses) {
    char hex[16];
    std::snprintf(hex, sizeof hex, "@%08x", build);
    text += hex;
  }
  for (const deviation& d : deviations) text += '.' + std::to_string(d.step) + '-' + std::to_string(d.choice);
  return text;
}

schedule schedule::parse(std::string_view token) {
  schedule s;
  std::string_view rest = token;
  const std::string_view name = cut(rest, ':');
  const bool has_argument = name.size() != token.size();
  s.strategy = parse_name(name, token);
  if (is_fixed(s.strategy)) {
    if (has_argument) reject(token, "gives an argument to a fixed order, which takes none");
  } else if (s.strategy == simt::strategy::replay) {
    parse_replay(s, rest, token);
  } else {
    s.seed = parse_number<uint64_t>(rest, 10, token, s.strategy == strategy::explore ? "a number" : "a seed");
  }
  return s;
}

void emulation::clear() {
  findings.clear();
  recorded.clear();
  recorded_accesses = false;
  recorded_build = 0;
  applied_deviations.clear();
  choices.clear();
  explored = {};
  certified = launches = launches_in_parts = parts_in_vain = steps = switches = accesses = 0;
}

simt::schedule emulation::recorded_schedule() const {
  if (is_fixed(schedule.strategy) || schedule.strategy >= strategy::replay) return schedule;
  simt::schedule s;
  s.strategy = strategy::replay;
  s.deviations = recorded;
  s.counts_accesses = recorded_accesses;
  s.build = recorded_build;
  return s;
}

}  // namespace simt

#include "properties/engine/trials/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "properties/engine/error.hpp"
#include "properties/engine/files/json_number.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {
namespace {

constexpr std::string_view k_names[] = {
    "pass",         "skipped",  "suite_error", "violation",    "nondeterministic", "uninitialized", "race",
    "divergence",   "deadlock", "livelock",    "launch_limit", "input_modified",   "out_of_bounds", "broken_offer",
    "error_return", "timeout",  "crash"};

// Reads the output of to_json for bins: the bin of each edge gets its elements.
template <size_t N>
void read_bins(const nlohmann::json& list, double (*edge)(int), std::array<int64_t, N>& bins) {
  for (const nlohmann::json& entry : list) {
    const double wanted = number_from_json(entry.at(0));
    int bin = 0;
    while (bin < static_cast<int>(N) && edge(bin) != wanted) ++bin;
    if (bin == static_cast<int>(N)) throw usage_error(fmt::format("report: {} is not an edge of a bin", wanted));
    bins[static_cast<size_t>(bin)] = entry.at(1);
  }
}

std::string decimal_and_hex(double value) { return fmt::format("{:.9g} ({:a})", value, value); }

}  // namespace

void ratio_histogram::add(double ratio) {
  // NaN is beyond every bound.
  const bool inside = ratio <= 1;
  ++thousandths[inside ? static_cast<int>(std::ceil(ratio * 1000)) : 1001];
  max = std::isnan(ratio) ? HUGE_VAL : std::max(max, ratio);
}

void ratio_histogram::add(const ratio_histogram& other) {
  for (const auto& [bin, count] : other.thousandths) thousandths[bin] += count;
  max = std::max(max, other.max);
}

double error_histogram::share_edge(int bin) { return bin == k_share_bins - 1 ? HUGE_VAL : bin / 20.0; }

double error_histogram::ulp_edge(int bin) {
  return bin == 0 ? 0 : bin == k_ulp_bins - 1 ? HUGE_VAL : std::ldexp(1.0, bin - 9);
}

void error_histogram::add(double ratio, double error_ulp) {
  // Written so that NaN is in the last bin.
  const bool inside = ratio <= 1;
  ++shares[static_cast<size_t>(inside ? static_cast<int>(std::ceil(ratio * 20)) : k_share_bins - 1)];
  int bin = k_ulp_bins - 1;
  if (error_ulp <= ulp_edge(k_ulp_bins - 2)) {
    // error_ulp = f 2^e, f in [1/2, 1).
    int e = 0;
    const double f = std::frexp(error_ulp, &e);
    bin = error_ulp == 0 ? 0 : std::max(1, (f == 0.5 ? e - 1 : e) + 9);
  }
  ++ulps[static_cast<size_t>(bin)];
}

void error_histogram::add(const error_histogram& other) {
  for (size_t i = 0; i < shares.size(); ++i) shares[i] += other.shares[i];
  for (size_t i = 0; i < ulps.size(); ++i) ulps[i] += other.ulps[i];
}

int64_t error_histogram::elements() const { return std::accumulate(shares.begin(), shares.end(), int64_t{0}); }

nlohmann::json to_json(const error_histogram& h) {
  if (h.elements() == 0) return nullptr;
  nlohmann::json j = {{"shares", nlohmann::json::array()}, {"ulps", nlohmann::json::array()}};
  for (int i = 0; i < error_histogram::k_share_bins; ++i)
    if (const int64_t n = h.shares[static_cast<size_t>(i)])
      j["shares"].push_back({json_number(error_histogram::share_edge(i)), n});
  for (int i = 0; i < error_histogram::k_ulp_bins; ++i)
    if (const int64_t n = h.ulps[static_cast<size_t>(i)])
      j["ulps"].push_back({json_number(error_histogram::ulp_edge(i)), n});
  return j;
}

int64_t ratio_histogram::elements() const {
  int64_t sum = 0;
  for (const auto& [bin, count] : thousandths) sum += count;
  return sum;
}

double ratio_histogram::quantile(double part) const {
  const double wanted = part * static_cast<double>(elements());
  double seen = 0;
  for (const auto& [bin, count] : thousandths)
    if ((seen += static_cast<double>(count)) >= wanted) return bin / 1000.0;
  return 0;
}

std::string_view name_of(verdict v) { return k_names[static_cast<size_t>(v)]; }

std::optional<verdict> verdict_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(k_names); ++i)
    if (k_names[i] == name) return static_cast<verdict>(i);
  return std::nullopt;
}

namespace {

nlohmann::json element_json(const worst_element& w) {
  return {{"tensor", w.tensor},
          {"row", w.row},
          {"col", w.col},
          {"input", json_number(w.input)},
          {"actual", json_number(w.actual)},
          {"actual_hex", fmt::format("{:a}", w.actual)},
          {"expected", json_number(w.expected)},
          {"expected_hex", fmt::format("{:a}", w.expected)},
          {"expected_text", w.expected_text},
          {"error", json_number(w.error)},
          {"bound", json_number(w.bound)},
          {"error_ulp", json_number(w.error_ulp)}};
}

worst_element element_from_json(const nlohmann::json& o) {
  worst_element w;
  w.tensor = o.at("tensor");
  w.row = o.at("row");
  w.col = o.at("col");
  w.input = number_from_json(o.at("input"));
  w.actual = number_from_json(o.at("actual"));
  w.expected = number_from_json(o.at("expected"));
  w.expected_text = o.at("expected_text");
  w.error = number_from_json(o.at("error"));
  w.bound = number_from_json(o.at("bound"));
  w.error_ulp = number_from_json(o.at("error_ulp"));
  return w;
}

}  // namespace

double error_ratio_of(const worst_element& w) {
  if (std::isnan(w.error)) return HUGE_VAL;
  return w.bound > 0 ? w.error / w.bound : w.error == 0 ? 0 : HUGE_VAL;
}

std::string to_json(const case_report& r) {
  nlohmann::json j = {{"case", r.line},
                      {"verdict", name_of(r.result)},
                      {"compared", r.compared},
                      {"launches", r.launches},
                      {"needed_multiprecision", r.needed_multiprecision},
                      {"max_error_ratio", json_number(r.max_error_ratio)},
                      {"max_ulp", json_number(r.max_ulp)},
                      {"sum_squared_ulp", json_number(r.sum_squared_ulp)}};
  if (!r.message.empty()) j["message"] = r.message;
  if (r.device_failed) j["device_failed"] = true;
  if (r.is_every_schedule) j["every_schedule"] = true;
  if (!r.neighbour.empty()) j["neighbour"] = r.neighbour;
  if (!r.findings.empty()) j["findings"] = r.findings;
  if (!r.variants.empty()) j["variants"] = r.variants;
  if (!r.classes.empty()) j["classes"] = r.classes;
  if (r.errors.elements() > 0) j["errors"] = to_json(r.errors);
  if (!r.error_ratios.thousandths.empty()) {
    nlohmann::json bins = nlohmann::json::array();
    for (const auto& [bin, count] : r.error_ratios.thousandths) bins.push_back({bin, count});
    j["error_ratios"] = {{"max", json_number(r.error_ratios.max)}, {"thousandths", std::move(bins)}};
  }
  if (r.worst) j["worst"] = element_json(*r.worst);
  for (const worst_element& w : r.departing) j["departing"].push_back(element_json(w));
  // A candidate's message may hold any bytes; invalid UTF-8 is replaced, not thrown at.
  return j.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

case_report report_from_json(std::string_view text) {
  try {
    const nlohmann::json j = nlohmann::json::parse(text);
    case_report r;
    r.line = j.at("case");
    const std::string result = j.at("verdict");
    const auto v = verdict_from_name(result);
    if (!v) throw usage_error(fmt::format("report: '{}' is not a verdict", result));
    r.result = *v;
    r.compared = j.at("compared");
    r.launches = j.at("launches");
    r.needed_multiprecision = j.at("needed_multiprecision");
    r.max_error_ratio = number_from_json(j.at("max_error_ratio"));
    r.max_ulp = number_from_json(j.at("max_ulp"));
    r.sum_squared_ulp = number_from_json(j.at("sum_squared_ulp"));
    r.message = j.value("message", "");
    r.device_failed = j.value("device_failed", false);
    r.is_every_schedule = j.value("every_schedule", false);
    r.neighbour = j.value("neighbour", "");
    r.findings = j.value("findings", std::vector<std::string>());
    r.variants = j.value("variants", std::vector<std::string>());
    r.classes = j.value("classes", std::vector<std::string>());
    if (j.contains("errors")) {
      read_bins(j.at("errors").at("shares"), error_histogram::share_edge, r.errors.shares);
      read_bins(j.at("errors").at("ulps"), error_histogram::ulp_edge, r.errors.ulps);
    }
    if (j.contains("error_ratios")) {
      r.error_ratios.max = number_from_json(j.at("error_ratios").at("max"));
      for (const nlohmann::json& bin : j.at("error_ratios").at("thousandths"))
        r.error_ratios.thousandths[bin.at(0)] = bin.at(1);
    }
    if (j.contains("worst")) r.worst = element_from_json(j.at("worst"));
    for (const nlohmann::json& o : j.value("departing", nlohmann::json::array()))
      r.departing.push_back(element_from_json(o));
    return r;
  } catch (const nlohmann::json::exception& e) {
    throw usage_error(fmt::format("report: not a case report: {}", e.what()));
  }
}

std::string describe(const case_report& r) {
  const size_t name_begin = r.line.find(' ');
  const std::string name = r.line.substr(name_begin + 1, r.line.find(' ', name_begin + 1) - name_begin - 1);
  std::string text = fmt::format("{}: {}", name, name_of(r.result));
  if (!r.message.empty()) text += ": " + r.message;
  text += "\n";
  if (r.worst && r.result != verdict::pass && r.worst->error <= r.worst->bound) {
    // The sentence above names the failure; its element would look like the cause.
    const worst_element& w = *r.worst;
    text += fmt::format(
        "  all of {} compared elements lie within their bounds; the one closest to it is {}[{},{}], at {:.4g}\n",
        r.compared, w.tensor, w.row, w.col, w.bound > 0 ? w.error / w.bound : 0.0);
  } else if (r.worst) {
    const worst_element& w = *r.worst;
    text += fmt::format("  worst element  {}[{},{}], input {}\n", w.tensor, w.row, w.col, decimal_and_hex(w.input));
    text += fmt::format("  expected       {} ({:a})\n",
                        w.expected_text.empty() ? fmt::format("{:.17g}", w.expected) : w.expected_text, w.expected);
    text += fmt::format("  actual         {}\n", decimal_and_hex(w.actual));
    text += fmt::format("  error / bound  {:.6g} / {:.6g} = {:.4g} ({:.4g} ulp)\n", w.error, w.bound, error_ratio_of(w),
                        w.error_ulp);
  }
  if (r.departing.size() > 1) text += fmt::format("  the {} worst of them\n", r.departing.size());
  for (const worst_element& w : r.departing)
    if (r.departing.size() > 1)
      text += fmt::format("    {}[{},{}] is {:.9g}, expected {:.9g}; error / bound {:.4g} / {:.4g} = {:.4g}\n",
                          w.tensor, w.row, w.col, w.actual, w.expected, w.error, w.bound, error_ratio_of(w));
  for (const std::string& f : r.findings) text += "  " + f + "\n";
  if (!r.neighbour.empty()) text += "  nearest passing neighbour: " + r.neighbour + "\n";
  return text + fmt::format("  {}\n", replay_command(r.line));
}

}  // namespace warpcheck::engine

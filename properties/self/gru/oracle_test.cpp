// The reference of gated recurrent units against what torch.nn.GRU answered (golden/gru, made by golden/gru_oracle.py):
// y, hn and all gradients, to every digit that the files state.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "golden/format.hpp"
#include "golden/reader.hpp"
#include "properties/engine/case.hpp"
#include "properties/self/gru/gru_problems.hpp"
#include "reference/numerics/float_value.hpp"
#include "reference/numerics/multiprecision.hpp"

namespace warpcheck::self {
namespace {

using reference::mp50;

// A fallback of 0 is no extent of a file, so that each of them is written.
engine::trial_case parse_line(std::string_view line) {
  return engine::parse_case(line, {{"batch", "0", "rows"}, {"directions", "0", "directions"}, {"time", "0", "steps"}});
}

std::vector<double> listed(const golden::golden_file& f, const char* name) {
  std::vector<double> values;
  const golden::listed_input* const input = f.input(name);
  if (input == nullptr) return values;
  for (const uint64_t bits : input->bits) values.push_back(reference::decode(dtype::f32, bits));
  return values;
}

gru_case<mp50> case_of(const golden::golden_file& f) {
  gru_case<mp50> c;
  const auto load = [&](std::vector<mp50>& to, const char* name) {
    for (const double v : listed(f, name)) to.emplace_back(v);
  };
  const auto number = [&](const char* knob) { return static_cast<int64_t>(f.the_case.number(knob)); };
  const auto cols = [&](const char* tensor) { return f.the_case.at(tensor).cols(); };
  c.problem.shape = {number("time"), number("batch"), cols("x"), cols("h0"), static_cast<int>(number("directions"))};
  load(c.problem.x, "x");
  load(c.problem.w_ih, "w_ih");
  load(c.problem.w_hh, "w_hh");
  load(c.problem.b_ih, "b_ih");
  load(c.problem.b_hh, "b_hh");
  load(c.problem.h0, "h0");
  load(c.dy, "dy");
  load(c.dhn, "dhn");
  if (const auto* lengths = f.input("lengths"))
    for (const uint64_t bits : lengths->bits) c.problem.lengths.push_back(static_cast<int64_t>(bits));
  return c;
}

// Empty, or the first element that differs by more than a unit of the last of the file's digits.
std::string difference(const golden::golden_file& f, const char* name, const std::vector<mp50>& values) {
  const golden::expected_output* const expected = f.output(name);
  if (expected == nullptr) return "";  // a net without biases
  if (expected->values.size() != values.size())
    return std::string(name) + " has " + std::to_string(values.size()) + " elements";
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& text = expected->values[i];
    const size_t e = text.find('e');
    const mp50 unit = e == std::string::npos ? mp50(0) : mp50("1" + text.substr(e)) * pow(mp50(10), 1 - f.digits);
    if (!(abs(mp50(values[i] - mp50(text))) <= unit))
      return std::string(name) + "[" + std::to_string(i) + "] is " + values[i].str(15) + ", not " + text;
  }
  return "";
}

std::vector<std::string> differences(const golden::golden_file& f) {
  const gru_case<mp50> c = case_of(f);
  const auto states = reference::gru_forward(c.problem);
  const auto g = reference::gru_backward(c.problem, states, c.dy, c.dhn);
  std::vector<std::string> all;
  for (const auto& [name, values] : std::vector<std::pair<const char*, const std::vector<mp50>*>>{{"y", &states.y},
                                                                                                  {"hn", &states.hn},
                                                                                                  {"dx", &g.dx},
                                                                                                  {"dh0", &g.dh0},
                                                                                                  {"dw_ih", &g.dw_ih},
                                                                                                  {"dw_hh", &g.dw_hh},
                                                                                                  {"db_ih", &g.db_ih},
                                                                                                  {"db_hh", &g.db_hh}})
    if (const std::string d = difference(f, name, *values); !d.empty()) all.push_back(d);
  return all;
}

std::vector<std::string> paths() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(WARPCHECK_GOLDEN_GRU))
    found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

golden::golden_file read(const std::string& path) {
  return golden::parse_golden(golden::read_text(path, golden::k_max_file_bytes), path, parse_line);
}

TEST(gru_oracle, the_reference_agrees_with_every_file) {
  ASSERT_EQ(paths().size(), 8u);
  for (const std::string& path : paths()) EXPECT_EQ(differences(read(path)), std::vector<std::string>()) << path;
}

// Three units of the last digit is seen in every tensor.
TEST(gru_oracle, a_changed_digit_is_seen) {
  for (const char* tensor : {"y", "hn", "dx", "dh0", "dw_ih", "dw_hh", "db_ih", "db_hh"}) {
    golden::golden_file f = read(paths().front());
    for (golden::expected_output& output : f.outputs) {
      if (output.tensor != tensor) continue;
      std::string& text = output.values.front();
      char& digit = text[text.find('e') - 1];
      digit = digit >= '5' ? static_cast<char>(digit - 3) : static_cast<char>(digit + 3);
    }
    EXPECT_EQ(differences(f).size(), 1u) << tensor;
  }
}

}  // namespace
}  // namespace warpcheck::self

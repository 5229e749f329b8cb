// The reference of gated recurrent units against what torch.nn.GRU answered (made by golden/gru/gru_oracle.py):
// y, hn and all gradients, to every digit that the files state. `warpcheck golden check` holds candidates to the same
// files; here, that a wrong digit would be seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "golden/check.hpp"

namespace warpcheck::self {
namespace {

std::vector<golden::golden_file> oracles() {
  std::vector<golden::golden_file> files;
  for (const golden::loaded_file& f : golden::load(WARPCHECK_GOLDEN, {"gru"}))
    if (f.file.what == golden::kind::oracle) files.push_back(f.file);
  return files;
}

std::vector<std::string> differences(const golden::golden_file& f) {
  return golden::find_operator("gru").disagreements(f);
}

TEST(gru_oracle, the_reference_agrees_with_every_file) {
  ASSERT_EQ(oracles().size(), 8u);
  for (const golden::golden_file& f : oracles()) EXPECT_EQ(differences(f), std::vector<std::string>()) << f.name;
}

// Three units of the last digit are seen in every tensor.
TEST(gru_oracle, a_changed_digit_is_seen) {
  for (const char* tensor : {"y", "hn", "dx", "dh0", "dw_ih", "dw_hh", "db_ih", "db_hh"}) {
    golden::golden_file f = oracles().front();
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

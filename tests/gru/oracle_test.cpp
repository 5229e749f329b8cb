// The reference of gated recurrent units against what torch.nn.GRU answered (made by golden/gru/gru_oracle.py):
// y, hn and all gradients. `warpcheck golden check` holds the reference to every digit that the files state; here, that
// a wrong digit would be seen.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "golden/check.hpp"

namespace warpcheck::self {
namespace {

golden::golden_file first_oracle() {
  for (const golden::loaded_file& f : golden::load(WARPCHECK_GOLDEN, {"gru"}))
    if (f.file.what == golden::kind::oracle) return f.file;
  throw std::logic_error("gru has no oracle");
}

// Three units of the last digit are seen in every tensor.
TEST(gru_oracle, a_changed_digit_is_seen) {
  for (const char* tensor : {"y", "hn", "dx", "dh0", "dw_ih", "dw_hh", "db_ih", "db_hh"}) {
    golden::golden_file f = first_oracle();
    for (golden::expected_output& output : f.outputs) {
      if (output.tensor != tensor) continue;
      std::string& text = output.values.front();
      char& digit = text[text.find('e') - 1];
      digit = digit >= '5' ? static_cast<char>(digit - 3) : static_cast<char>(digit + 3);
    }
    EXPECT_EQ(golden::find_operator("gru").disagreements(f).size(), 1u) << tensor;
  }
}

}  // namespace
}  // namespace warpcheck::self

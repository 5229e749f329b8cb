// The check and the regeneration of golden data: every disagreement is found, nothing is blessed by accident.
#include "golden/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden/decimal.hpp"
#include "golden/reader.hpp"
#include "golden/writer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::golden {
namespace {

using engine::case_report;
using engine::trial_case;
using engine::usage_error;
using engine::verdict;
using self::message_of;
using self::scratch_folder;
using testing::HasSubstr;

const std::string k_committed = WARPCHECK_SOURCE_GOLDEN;

golden_file small_file(kind what = kind::known_answer) {
  golden_file f;
  f.what = what;
  f.op = "softmax";
  f.name = "two";
  f.generator = "a test";
  f.source = "closed form";
  f.the_case = engine::parse_case("v1 softmax/golden x=f32[1x2] fill=constant(0) | y=f32[1x2] | index=i64[1] |");
  f.outputs = {{"y", {"5e-1", "5e-1"}}, {"index", {"0"}}};
  return f;
}

// A folder with the file and right checksums.
void fill(const scratch_folder& folder, const golden_file& f) {
  write_golden(folder.path(f.what == kind::regression ? "regressions" : f.op), f, engine::parse_case_line);
  write_checksums(folder.path());
}

std::string contents(const std::string& folder) {
  std::string all;
  for (const std::string& path : golden_paths(folder))
    all += path + "\n" + read_text(folder + "/" + path, k_max_file_bytes);
  return all + read_text(folder + "/SHA256SUMS", k_max_file_bytes);
}

TEST(golden_data, committed_files_agree_with_the_reference) {
  const std::vector<file_result> results = check({.folder = k_committed, .ops = {}, .types = {}, .run = nullptr});
  EXPECT_GE(results.size(), 60u);
  for (const file_result& r : results) EXPECT_TRUE(r.passed()) << r.path << ": " << r.disagreements.front();
}

TEST(golden_data, regeneration_is_bit_identical) {
  const scratch_folder folder;
  const std::vector<operator_golden> operators = all_operators();
  for (const operator_golden& o : operators) std::filesystem::copy(k_committed + "/" + o.op, folder.path(o.op));
  const std::string sums = read_text(k_committed + "/SHA256SUMS", k_max_file_bytes);
  // From nothing: the known answers' files are removed first.
  for (const loaded_file& f : load(k_committed))
    if (f.file.what == kind::known_answer) std::filesystem::remove(folder.path(f.path));
  for (const operator_golden& o : operators) {
    const regenerated fresh = regenerate(folder.path(), o.op);
    EXPECT_GT(fresh.written, 10) << o.op;
    EXPECT_GT(fresh.kept, 0) << o.op;
    EXPECT_EQ(fresh.removed, 0) << o.op;
    if (&o != &operators.front()) continue;  // a second time is the same for all
    const regenerated again = regenerate(folder.path(), o.op);
    EXPECT_EQ(again.written, 0) << o.op;
    EXPECT_EQ(again.unchanged, fresh.written) << o.op;
  }
  EXPECT_EQ(read_text(folder.path("SHA256SUMS"), k_max_file_bytes), sums);
  EXPECT_TRUE(contents(folder.path()) == contents(k_committed));
}

TEST(golden_data, folder_stays_small) {
  std::map<std::string, uint64_t> bytes;  // by operator
  for (const std::string& path : golden_paths(k_committed))
    bytes[path.substr(0, path.find('/'))] += std::filesystem::file_size(k_committed + "/" + path);
  for (const auto& [op, size] : bytes) EXPECT_LT(size, 1u << 19) << op;
}

TEST(golden_regenerate, removes_answers_that_no_longer_exist_and_keeps_the_rest) {
  const scratch_folder folder;
  golden_file oracle = small_file(kind::oracle);
  oracle.name = "outside";
  golden_file found = small_file(kind::regression);
  found.inputs.clear();
  found.outputs.clear();
  fill(folder, small_file());
  fill(folder, oracle);
  fill(folder, found);
  const regenerated r = regenerate(folder.path(), "softmax");
  EXPECT_EQ(r.removed, 1);
  EXPECT_EQ(r.kept, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.path("softmax/two.golden")));
  EXPECT_EQ(load(folder.path()).size(), static_cast<size_t>(r.written + r.kept));
}

TEST(golden_regenerate, does_not_bless_a_changed_oracle) {
  const scratch_folder folder;
  golden_file oracle = small_file(kind::oracle);
  oracle.outputs[0].values = {"6e-1", "4e-1"};
  fill(folder, oracle);
  const std::string before = contents(folder.path());
  EXPECT_THAT(message_of<usage_error>([&] { regenerate(folder.path(), "softmax"); }),
              HasSubstr("two.golden: y[0,0]: the file has 6e-1, the reference 0.5"));
  EXPECT_EQ(contents(folder.path()), before);
  EXPECT_THROW(regenerate(folder.path(), "sofmax"), usage_error);
}

TEST(golden_load, reports_every_way_in_which_hashes_and_files_differ) {
  const scratch_folder folder;
  fill(folder, small_file());
  EXPECT_EQ(load(folder.path()).size(), 1u);
  const std::string sums = read_text(folder.path("SHA256SUMS"), k_max_file_bytes);

  const std::string text = read_text(folder.path("softmax/two.golden"), k_max_file_bytes);
  std::string other = text;
  other.replace(other.find("5e-1"), 4, "6e-1");
  folder.write("softmax/two.golden", other);
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path()); }),
              HasSubstr("SHA256SUMS:1: softmax/two.golden has SHA-256 "));
  folder.write("softmax/two.golden", text.substr(0, text.size() / 2));
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path()); }),
              HasSubstr("SHA256SUMS:1: softmax/two.golden has SHA-256 "));
  std::filesystem::remove(folder.path("softmax/two.golden"));
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path()); }), HasSubstr("softmax/two.golden: it is not a file"));
  folder.write("softmax/two.golden", text);
  folder.write("softmax/unlisted.golden", text);
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path()); }),
              HasSubstr("softmax/unlisted.golden: it is not listed in SHA256SUMS"));
  std::filesystem::remove(folder.path("softmax/unlisted.golden"));
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path(), {"argmax"}); }),
              HasSubstr("there is no golden file of argmax"));
  std::filesystem::remove(folder.path("SHA256SUMS"));
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path()); }), HasSubstr("SHA256SUMS: it is not a file"));
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path("absent")); }), HasSubstr("it is not a file"));
}

TEST(golden_load, reports_a_malformed_file_under_a_right_hash) {
  const scratch_folder folder;
  fill(folder, small_file());
  const std::string text = read_text(folder.path("softmax/two.golden"), k_max_file_bytes);
  folder.write("softmax/two.golden", text.substr(0, text.size() - 4));
  write_checksums(folder.path());
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path()); }), HasSubstr("two.golden:15: the file ends where"));
}

TEST(golden_load, reports_a_file_in_the_wrong_folder) {
  const scratch_folder folder;
  write_golden(folder.path("regressions"), small_file(), engine::parse_case_line);
  write_checksums(folder.path());
  EXPECT_THAT(message_of<usage_error>([&] { load(folder.path()); }),
              HasSubstr("known_answer of softmax lies in the folder 'regressions'; 'softmax' is allowed"));
}

// Each kind of wrong value in a file is found by the reference.
TEST(golden_check, finds_values_that_the_reference_denies) {
  const auto differences = [](std::vector<std::string> y, std::string index, int digits = 40) {
    golden_file f = small_file();
    f.digits = digits;
    f.outputs = {{"y", std::move(y)}, {"index", {std::move(index)}}};
    return find_operator("softmax").disagreements(parse_golden(format(f), "two.golden", engine::parse_case_line));
  };
  EXPECT_TRUE(differences({"5e-1", "5e-1"}, "0").empty());
  EXPECT_TRUE(differences({"5.000000000000000000000000000000000000000e-1", "5e-1"}, "0").empty());
  EXPECT_TRUE(differences({"5.000000001e-1", "4.999999999e-1"}, "0", 10).empty());  // one unit of the last digit
  EXPECT_THAT(differences({"5.000000002e-1", "5e-1"}, "0", 10),
              testing::ElementsAre(HasSubstr("y[0,0]: the file has 5.000000002e-1")));
  EXPECT_THAT(differences({"5e-1", "5.0000000000000001e-1"}, "0"), testing::ElementsAre(HasSubstr("y[0,1]")));
  EXPECT_THAT(differences({"nan", "5e-1"}, "0"), testing::ElementsAre(HasSubstr("y[0,0]")));
  EXPECT_THAT(differences({"0", "5e-1"}, "0"), testing::ElementsAre(HasSubstr("y[0,0]")));
  EXPECT_THAT(differences({"5e-1", "+inf"}, "0"), testing::ElementsAre(HasSubstr("y[0,1]")));
  EXPECT_THAT(differences({"-5e-1", "5e-1"}, "0"), testing::ElementsAre(HasSubstr("y[0,0]")));
  EXPECT_THAT(differences({"5e-1", "5e-1"}, "1"), testing::ElementsAre("index[0]: the file has 1, the reference 0"));
  EXPECT_THAT(differences({"6e-1", "4e-1"}, "-1"), testing::SizeIs(3));
}

TEST(golden_check, asks_the_candidate_for_every_file) {
  const scratch_folder folder;
  fill(folder, small_file());
  golden_file half = small_file();
  half.name = "half";
  half.the_case.tensors[0].type = half.the_case.tensors[1].type = dtype::f16;
  fill(folder, half);
  golden_file found = small_file(kind::regression);
  found.outputs.clear();
  found.the_case.knobs = {{"schedule", "pct_warp:42"}};
  fill(folder, found);

  std::vector<std::string> asked;
  check_options options{.folder = folder.path(),
                        .ops = {"softmax"},
                        .device = "cuda",
                        .candidate = "./mine.so",
                        .types = {dtype::f32},
                        .run = {}};
  options.run = [&](const std::vector<trial_case>& cases) {
    std::vector<case_report> reports(cases.size());
    for (const trial_case& c : cases) asked.push_back(engine::format(c));
    reports[0].result = verdict::violation;
    return reports;
  };
  const std::vector<file_result> results = check(options);
  const std::string line =
      "v1 softmax/golden x=f32[1x2] fill=constant(0) | y=f32[1x2] | index=i64[1] | candidate=./mine.so device=cuda";
  EXPECT_EQ(asked, (std::vector<std::string>{line, line}));  // the schedule means nothing on a GPU
  ASSERT_EQ(results.size(), 3u);
  EXPECT_FALSE(results[0].passed());
  EXPECT_TRUE(results[1].skipped);
  EXPECT_EQ(results[1].path, "softmax/half.golden");
  EXPECT_FALSE(results[1].report.has_value());
  EXPECT_TRUE(results[2].passed());

  asked.clear();
  options.device = "emulated";
  options.candidate = "builtin";
  check(options);
  EXPECT_EQ(asked[0],
            "v1 softmax/golden x=f32[1x2] fill=constant(0) | y=f32[1x2] | index=i64[1] | schedule=pct_warp:42");
}

TEST(golden_decimal, rounds_and_cuts_only_what_is_exact) {
  EXPECT_EQ(rounded(real(1) / 3, 10), "3.333333333e-1");
  EXPECT_EQ(rounded(real(2) / 3, 10), "6.666666667e-1");
  EXPECT_EQ(rounded(real(1) - real("1e-50"), 10), "1.000000000e0");
  EXPECT_EQ(rounded(exp(real(-30)), 40), "9.357622968840174604915832223378706744958e-14");
  EXPECT_EQ(rounded(real("1e-9999"), 10), "1.000000000e-9999");
  EXPECT_EQ(rounded(real("1e-10000"), 10), "0");
  EXPECT_EQ(fraction(1, 3, 10), "3.333333333e-1");
  EXPECT_EQ(fraction(1, 1024, 10), "9.765625e-4");
  EXPECT_EQ(fraction(1, 1024, 4), "9.766e-4");
  EXPECT_EQ(fraction(10, 1, 10), "1e1");
  EXPECT_EQ(fraction(0, 7, 10), "0");
  EXPECT_EQ(fraction(-3, 4, 10), "-7.5e-1");
}

TEST(golden_decimal, agreement_is_one_unit_of_the_last_place) {
  EXPECT_TRUE(agrees("5e-1", 40, "0.5", 20));
  EXPECT_TRUE(agrees("5e-1", 40, "0.50000000000000000001", 20));
  EXPECT_FALSE(agrees("5e-1", 40, "0.50000000000000000002", 20));
  EXPECT_TRUE(agrees("1.000000000e0", 10, "1.000000001", 20));
  EXPECT_FALSE(agrees("1.000000000e0", 10, "1.0000000011", 20));
  EXPECT_TRUE(agrees("0", 40, "1e-10000", 20));
  EXPECT_FALSE(agrees("0", 40, "1e-9998", 20));
  EXPECT_TRUE(agrees("nan", 40, "nan", 20));
  EXPECT_FALSE(agrees("nan", 40, "1", 20));
  EXPECT_FALSE(agrees("1e0", 40, "nan", 20));
  EXPECT_FALSE(agrees("+inf", 40, "-inf", 20));
}

}  // namespace
}  // namespace warpcheck::golden

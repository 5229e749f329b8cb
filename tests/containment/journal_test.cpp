// What the journal keeps, and how it answers a file that is damaged or of another run.
#include "properties/engine/processes/journal.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "properties/engine/error.hpp"
#include "tests/containment/hostile.hpp"

namespace warpcheck::engine {
namespace {

constexpr const char* k_fingerprint = "00112233445566ff";

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<journal_record> records(const std::string& path, const std::string& fingerprint = k_fingerprint) {
  std::vector<journal_record> found;
  journal_reader(path, fingerprint).read([&](journal_record&& r) { found.push_back(std::move(r)); });
  return found;
}

std::string error_of(const std::string& path, const std::string& fingerprint = k_fingerprint) {
  try {
    records(path, fingerprint);
  } catch (const usage_error& e) {
    return e.what();
  }
  return "";
}

class journal : public testing::Test {
 protected:
  void write_one_case(int64_t i) {
    journal_writer writer(path_, k_fingerprint);
    const std::string line = format(numbered_case(i));
    case_report r = passing(numbered_case(i));
    r.line = line;
    writer.start(0, i, line);
    writer.finish(0, i, 0.25, r, line);
  }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  scratch_folder folder_;
  std::string path_ = folder_.path() + "/worker-0.journal";
};

TEST_F(journal, gives_back_what_was_written) {
  const std::string line = format(numbered_case(7));
  case_report r = passing(numbered_case(7));
  r.result = verdict::violation;
  r.message = "two\nlines";
  r.line = line + "schedule=fair";  // narrowed by the trial
  {
    journal_writer writer(path_, k_fingerprint);
    writer.start(2, 7, line);
    writer.finish(2, 7, 1.5, r, line);
    writer.start(3, 0, "odd\nline");
    writer.finish(3, 0, 0, r, line);
    writer.start(2, 8, line);
    writer.suspect(2, 8, 0.5, r, line);
    writer.start(2, 8, line);
  }
  const auto found = records(path_);
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found[0].kind, journal_record::started);
  EXPECT_EQ(found[0].job, 2);
  EXPECT_EQ(found[0].index, 7);
  EXPECT_EQ(found[0].text, line);
  EXPECT_EQ(found[1].kind, journal_record::finished);
  EXPECT_EQ(to_json(found[1].report), to_json(r));
  EXPECT_EQ(found[1].seconds, 1.5);
  EXPECT_EQ(found[2].text, "odd line");
  EXPECT_EQ(found[3].kind, journal_record::finished);
  EXPECT_EQ(found[5].kind, journal_record::suspected);
  EXPECT_EQ(found[5].index, 8);
  EXPECT_EQ(to_json(found[5].report), to_json(r));
  EXPECT_EQ(found[5].seconds, 0.5);
  EXPECT_EQ(found[6].kind, journal_record::started);
}

TEST_F(journal, restores_the_line_that_the_report_left_out) {
  write_one_case(4);
  const auto found = records(path_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].report.line, format(numbered_case(4)));
  const std::string text = content(path_);
  EXPECT_EQ(text.find("self/containment"), text.rfind("self/containment")) << "the line is there once: " << text;
}

TEST_F(journal, is_read_while_it_grows) {
  journal_writer writer(path_, k_fingerprint);
  journal_reader reader(path_, k_fingerprint);
  int seen = 0;
  const auto count = [&](journal_record&&) { ++seen; };
  reader.read(count);
  EXPECT_EQ(seen, 0);
  const std::string line = format(numbered_case(1));
  writer.start(0, 1, line);
  reader.read(count);
  EXPECT_EQ(seen, 1);
  case_report r = passing(numbered_case(1));
  r.message = std::string(1 << 18, 'm');  // longer than the reader's buffer
  writer.finish(0, 1, 0, r, line);
  writer.start(0, 2, line);
  reader.read(count);
  EXPECT_EQ(seen, 3);
}

TEST_F(journal, ignores_a_torn_last_line_and_the_next_writer_cuts_it_off) {
  write_one_case(1);
  const std::string whole = content(path_);
  append("F 0 2 77 {\"case\":\"v1 se");
  EXPECT_EQ(records(path_).size(), 2u);
  journal_writer(path_, k_fingerprint);
  EXPECT_EQ(content(path_), whole);
  write_one_case(2);
  EXPECT_EQ(records(path_).size(), 4u);
}

TEST_F(journal, begins_again_when_its_first_line_was_torn) {
  append("warpcheck-jour");
  EXPECT_TRUE(records(path_).empty());
  write_one_case(1);
  EXPECT_EQ(records(path_).size(), 2u);
}

TEST_F(journal, cuts_off_a_torn_line_longer_than_a_page) {
  write_one_case(1);
  const std::string whole = content(path_);
  append("S 0 2 " + std::string(20000, 'x'));
  journal_writer(path_, k_fingerprint);
  EXPECT_EQ(content(path_), whole);
}

TEST_F(journal, names_file_and_line_of_what_is_no_record) {
  write_one_case(1);
  const std::string whole = content(path_);
  const struct {
    const char* text;
    const char* answer;
  } table[] = {
      {"\n", "'' is not a record"},
      {"G 0 1 x\n", "'G' is not a record"},
      {"S zero 1 x\n", "job 'zero' is not a number"},
      {"S 0 -1 x\n", "index '-1' is not a number"},
      {"S 0 1x x\n", "index '1x' is not a number"},
      {"F 0 1 5 {}\n", "was not the last to start"},
      {"S 0 9 x\nF 0 8 5 {}\n", "case 8 of job 0 ends"},
      {"S 0 9 x\nF 0 9 soon {}\n", "time 'soon' is not a number"},
      {"S 0 9 x\nF 0 9 5 {}\n", "not a case report"},
      {"S 0 9 x\nF 0 9 5 {\"case\":\n", "not a case report"},
  };
  for (const auto& t : table) {
    std::ofstream(path_) << whole << t.text << "S 0 3 later\n";
    const std::string error = error_of(path_);
    EXPECT_NE(error.find(t.answer), std::string::npos) << t.text << " -> " << error;
    const int line = 4 + (std::string(t.text).rfind("S 0 9", 0) == 0);
    EXPECT_NE(error.find(path_ + ":" + std::to_string(line) + ":"), std::string::npos) << error;
  }
}

TEST_F(journal, refuses_other_files_versions_and_runs) {
  append("rows,cols\n");
  EXPECT_NE(error_of(path_).find(":1: the file does not begin like a journal"), std::string::npos);
  std::ofstream(path_) << "warpcheck-journal 2 " << k_fingerprint << "\n";
  EXPECT_NE(error_of(path_).find("the version '2' of the journal is not '1'"), std::string::npos);
  std::ofstream(path_).close();
  write_one_case(1);
  EXPECT_EQ(error_of(path_), "");
  const std::string error = error_of(path_, "ffffffffffffffff");
  EXPECT_NE(error.find("of a run with other options"), std::string::npos) << error;
  EXPECT_NE(error.find(k_fingerprint), std::string::npos) << error;
}

TEST_F(journal, an_unwritable_file_is_one_clear_error) {
  try {
    journal_writer(folder_.path() + "/absent/worker-0.journal", k_fingerprint);
    FAIL() << "no exception";
  } catch (const environment_error& e) {
    EXPECT_NE(std::string(e.what()).find("No such file or directory"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace warpcheck::engine

// Golden files: text and value are the same thing, and hostile text is refused with file and line.
#include "golden/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "golden/writer.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::golden {
namespace {

using engine::usage_error;
using self::message_of;
using self::scratch_folder;
using testing::HasSubstr;

const std::string k_good =
    "warpcheck-golden 1\n"                                                                 // 1
    "kind: known_answer\n"                                                                 // 2
    "operator: softmax\n"                                                                  // 3
    "name: small\n"                                                                        // 4
    "generator: a test\n"                                                                  // 5
    "source: closed form\n"                                                                // 6
    "digits: 40\n"                                                                         // 7
    "seed: 0\n"                                                                            // 8
    "case: v1 softmax/golden x=f32[1x3] fill=constant(0) | y=f32[1x3] | index=i64[1] |\n"  // 9
    "input x\n"                                                                            // 10
    "0x1.8p+0\n"                                                                           // 11
    "-0x1p-149\n"                                                                          // 12
    "-inf\n"                                                                               // 13
    "expect y\n"                                                                           // 14
    "9.999999999999064237703475960464213379553e-1\n"                                       // 15
    "5e-1\n"                                                                               // 16
    "0\n"                                                                                  // 17
    "expect index\n"                                                                       // 18
    "-1\n"                                                                                 // 19
    "end\n";                                                                               // 20

const std::string k_regression =
    "warpcheck-golden 1\nkind: regression\noperator: softmax\nname: found-7\ngenerator: warpcheck fuzz\n"
    "source: a violation on the emulated device\ndigits: 40\nseed: 7\n"
    "case: v1 softmax/within-error-bound x=f32[70000x3] fill=randn(7) edit=1,2:+inf | y=f32[70000x3] | "
    "device=emulated schedule=pct_warp:42\nend\n";

golden_file parse(const std::string& text) { return parse_golden(text, "a.golden"); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(golden_reader, reads_every_field) {
  const golden_file f = parse(k_good);
  EXPECT_EQ(f.what, kind::known_answer);
  EXPECT_EQ(f.op, "softmax");
  EXPECT_EQ(f.name, "small");
  EXPECT_EQ(f.generator, "a test");
  EXPECT_EQ(f.source, "closed form");
  EXPECT_EQ(f.digits, 40);
  EXPECT_EQ(f.seed, 0u);
  EXPECT_EQ(f.the_case.property, "golden");
  ASSERT_EQ(f.inputs.size(), 1u);
  EXPECT_EQ(f.input("x")->bits, (std::vector<uint64_t>{0x3fc00000, 0x80000001, 0xff800000}));
  ASSERT_EQ(f.outputs.size(), 2u);
  EXPECT_EQ(f.output("y")->values[1], "5e-1");
  EXPECT_EQ(f.output("index")->values, std::vector<std::string>{"-1"});
  EXPECT_EQ(f.output("x"), nullptr);
}

TEST(golden_reader, text_and_value_are_the_same_thing) {
  for (const std::string& text : {k_good, k_regression}) EXPECT_EQ(format(parse(text)), text);
}

// The replay line holds the listed values itself, bit for bit where no NaN is involved.
TEST(golden_reader, replay_case_needs_no_file) {
  EXPECT_EQ(engine::format(replay_case(parse(k_good))),
            "v1 softmax/golden x=f32[1x3] fill=constant(0) edit=0,0:1.5 edit=0,1:-1.401298464324817e-45 "
            "edit=0,2:-inf | y=f32[1x3] | index=i64[1] |");
}

TEST(golden_reader, replay_case_keeps_rows) {
  golden_file f = parse(k_good);
  f.the_case = engine::parse_case("v1 softmax/golden x=f32[3x1] fill=constant(0) | y=f32[3x1] | index=i64[3] |");
  EXPECT_THAT(engine::format(replay_case(f)), HasSubstr("edit=0,0:1.5 edit=1,0:-1.401298464324817e-45 edit=2,0:-inf "));
}

TEST(golden_reader, elements_round_trip_and_have_one_spelling) {
  for (const dtype type : {dtype::f16, dtype::bf16})
    for (uint64_t bits = 0; bits < 0x10000; ++bits) {
      const std::string text = format_element(type, bits);
      const bool is_nan = std::isnan(engine::decode(type, bits));
      EXPECT_EQ(parse_element(type, text), is_nan ? engine::encode(type, std::nan("")) : bits) << text;
    }
  for (const uint64_t bits :
       {0x0ull, 0x80000000ull, 0x1ull, 0x7fffffull, 0x800000ull, 0x7f7fffffull, 0xff7fffffull, 0x3eaaaaabull})
    EXPECT_EQ(parse_element(dtype::f32, format_element(dtype::f32, bits)), bits);
  for (const double value : {0x1p-1074, -0x1.fffffffffffffp-1022, 0x1.fffffffffffffp+1023})
    EXPECT_EQ(parse_element(dtype::f64, format_element(dtype::f64, std::bit_cast<uint64_t>(value))),
              std::bit_cast<uint64_t>(value));
  EXPECT_EQ(parse_element(dtype::i64, "-9223372036854775808"), uint64_t{1} << 63);
  EXPECT_EQ(parse_element(dtype::i32, "-1"), 0xffffffffu);
  EXPECT_EQ(parse_element(dtype::u16, "65535"), 0xffffu);
  for (const char* text :
       {"", "-", "0x", "1.5", "0x1.80p+0", "0x2p+0", "0X1p+0", "+0x1p+0", "0x1p0", "0x1p+0 ", "0x1.000001p+0",
        "0x1p+128", "0x1p-150", "nan(0x7fc00001)", "-nan", "NaN", "inf", "infinity", "0x1p+99999999999"})
    EXPECT_FALSE(parse_element(dtype::f32, text)) << text;
  for (const char* text : {"", "+1", "01", "65536", "-1", "1.0", "0x1"})
    EXPECT_FALSE(parse_element(dtype::u16, text)) << text;
}

TEST(golden_reader, decimals_have_one_spelling) {
  for (const char* text : {"0", "-0", "1e0", "-1.5e-3", "1.234e9999", "nan", "+inf", "-inf", "1.0000e7"})
    EXPECT_TRUE(is_canonical_decimal(text, 5)) << text;
  for (const char* text :
       {"",     "-",    "1",   "0e0",     "0.5e0", "10e0",  "1.e0", "1.50e0", "1.00000e0", "1.23456e0", "1e",    "1e+5",
        "1e05", "1e-0", "1E5", "1e10000", "e5",    "1,5e0", "inf",  "-nan",   "1e0 ",      " 1e0",      "--1e0", "1.5"})
    EXPECT_FALSE(is_canonical_decimal(text, 5)) << text;
}

TEST(golden_reader, decimals_become_the_nearest_double) {
  EXPECT_EQ(nearest_double("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(nearest_double("3.333333333333333333333333333333333333333e-1"), 1.0 / 3);
  EXPECT_EQ(nearest_double("4.9e-324"), 0x1p-1074);
  EXPECT_EQ(nearest_double("1e-9999"), 0.0);
  EXPECT_TRUE(std::signbit(nearest_double("-1e-9999")));
  EXPECT_TRUE(std::signbit(nearest_double("-0")));
  EXPECT_EQ(nearest_double("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(nearest_double("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(nearest_double("+inf"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(nearest_double("nan")));
}

struct hostile {
  const char* what;
  std::string text;
  int line;
  const char* message;
};

std::string with(std::string_view from, std::string_view to) { return replaced(k_good, from, to); }
std::string regression_with(std::string_view from, std::string_view to) { return replaced(k_regression, from, to); }
std::string with_carriage_returns() {
  std::string crlf;
  for (const char c : k_good) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return crlf;
}

const std::vector<hostile> k_hostile_files = {
    {"empty", "", 1, "the file is empty"},
    {"only line feeds", "\n\n", 1, "'' is not the first line of a golden file; 'warpcheck-golden 1' is allowed"},
    {"binary",
     std::string("\x7f"
                 "ELF\x02\x01\x01\0",
                 8),
     1, "the byte 0x7f"},
    {"NUL in the middle", with("closed form", std::string_view("closed\0form", 11)), 6, "the byte 0x00"},
    {"UTF-8", with("closed form", "geschlossen f\xc3\xbcr"), 6, "the byte 0xc3; printable ASCII is allowed"},
    {"byte order mark", "\xef\xbb\xbf" + k_good, 1, "the byte 0xef"},
    {"tab", with("kind: ", "kind:\t"), 2, "the byte 0x09"},
    {"escape sequence", with("a test", "\x1b[2Ja test"), 5, "the byte 0x1b"},
    {"CRLF", with_carriage_returns(), 1, "carriage return; lines end with a single line feed"},
    {"one CR", with("5e-1\n", "5e-1\r\n"), 16, "carriage return"},
    {"no line feed at the end", k_good.substr(0, k_good.size() - 1), 20, "does not end with a line feed"},
    {"too long", k_good + std::string(k_max_file_bytes, 'x') + "\n", 1, "at most 1048576 are allowed"},
    {"other version", with("golden 1", "golden 2"), 1, "'warpcheck-golden 2' is not the first line"},
    {"unknown kind", with("known_answer", "guess"), 2, "kind is 'guess'; known_answer, oracle and regression"},
    {"key twice", with("operator: softmax", "kind: known_answer"), 3, "the key 'kind' is given twice"},
    {"keys swapped", with("seed: 0\n", "bound: 1\nseed: 0\n"), 8,
     "'bound: 1' is not the line 'seed: ' that is expected"},
    {"key missing", with("name: small\n", ""), 4, "is not the line 'name: ' that is expected"},
    {"value missing", with("source: closed form", "source: "), 6, "text without outer spaces is allowed"},
    {"trailing space", with("a test", "a test "), 5, "text without outer spaces is allowed"},
    {"long value", with("a test", std::string(2000, 'a')), 5, "has 2000 characters; at most 1024 are allowed"},
    {"name leaves the folder", with("name: small", "name: ../../etc/passwd"), 4,
     "letters, digits, _ and - are allowed"},
    {"digits zero", with("digits: 40", "digits: 0"), 7, "digits is '0'; an integer in [10, 80]"},
    {"digits in words", with("digits: 40", "digits: forty"), 7, "digits is 'forty'"},
    {"digits with a leading zero", with("digits: 40", "digits: 040"), 7, "digits is '040'"},
    {"digits with a sign", with("digits: 40", "digits: +40"), 7, "digits is '+40'"},
    {"seed 2^64", with("seed: 0", "seed: 18446744073709551616"), 8, "seed is '18446744073709551616'"},
    {"negative seed", with("seed: 0", "seed: -1"), 8, "seed is '-1'"},
    {"case is not a case", with("case: v1 ", "case: v9 "), 9, "grammar version 'v1'"},
    {"case of another operator", with("v1 softmax/", "v1 argmax/"), 9, "operator 'argmax'; softmax is stated above"},
    {"case not canonical", with("x=f32[1x3] fill", "x=f32[1x3] ld=3 fill"), 9, "not in its canonical form"},
    {"case fixes the device", with("index=i64[1] |", "index=i64[1] | device=cuda"), 9, "the case sets device"},
    {"case reads a file", with("fill=constant(0)", "fill=npy(/etc/passwd," + std::string(64, '0') + ")"), 9,
     "holds its own data"},
    {"unknown key in the case", with(" fill=constant(0)", " fill=constant(0) magic=1"), 9, "unknown key 'magic'"},
    {"extent 2^63", with("x=f32[1x3]", "x=f32[1x9223372036854775808]"), 9, "'9223372036854775808' is not an integer"},
    {"2^48 elements", with("x=f32[1x3]", "x=f32[16777216x16777216]"), 9, "65536 elements are allowed"},
    {"2^60 elements", with("x=f32[1x3]", "x=f32[1099511627776x1048576]"), 9, "more than 2^48 elements"},
    {"rows far apart", with("x=f32[1x3]", "x=f32[2x3] ld=70000"), 9, "ld 70000; 65536 elements are allowed"},
    {"deep nesting", with("constant(0)", std::string(60'000, '(')), 9, "is not of the form distribution(arguments)"},
    {"edit outside", with("constant(0)", "constant(0) edit=5,5:1"), 9, "lies outside tensor x"},
    {"list too long",
     replaced(with("x=f32[1x3] fill=constant(0) | y=f32[1x3]", "x=f32[1x4097] fill=constant(0) | y=f32[1x4097]"),
              "0x1.8p+0", "0x1p+0"),
     10, "input x has 4097 elements; lists of at most 4096 are allowed"},
    {"shape beyond the list", with("x=f32[1x3]", "x=f32[1x4]"), 14, "'expect y' is not an element of input x"},
    {"shape short of the list", with("x=f32[1x3]", "x=f32[1x2]"), 13,
     "'-inf' where 'input TENSOR', 'expect TENSOR' or 'end' is expected"},
    {"NaN with a payload", with("-inf\n", "nan(0x7fc00001)\n"), 13, "nan (no payload)"},
    {"value of no f32", with("0x1.8p+0", "0x1.8000001p+0"), 11, "exactly and in canonical form"},
    {"decimal input", with("0x1.8p+0", "1.5"), 11, "'1.5' is not an element of input x"},
    {"input not of the case", with("input x", "input z"), 10, "'z' is not the name of an input"},
    {"input of an output", with("input x", "input y"), 10, "'y' is not the name of an input"},
    {"input without a name", with("input x", "input"), 10, "'' is not the name of an input"},
    {"input twice", with("expect y", "input x"), 14, "input x is listed twice"},
    {"input with a recipe", with("constant(0)", "constant(1)"), 10, "fill=constant(0) without edits is allowed"},
    {"input after expect", with("expect index\n", "input x\n"), 18, "'input x' where 'expect TENSOR' or 'end'"},
    {"expect an input", with("expect y", "expect x"), 14, "'x' is not the name of an output"},
    {"expect twice", with("expect index", "expect y"), 18, "output y is listed twice"},
    {"41 digits", with("9.99999", "9.999999"), 15, "at most 40 digits"},
    {"one half as 0.5", with("5e-1", "0.5"), 16, "'0.5' is not an element of output y"},
    {"fraction as an index", with("index\n-1\n", "index\n5e-1\n"), 19, "a decimal i64"},
    {"output missing", with("expect index\n-1\n", ""), 18, "output index has no 'expect index'"},
    {"truncated before end", k_good.substr(0, k_good.size() - 4), 20,
     "the file ends where 'input', 'expect' or 'end' is expected"},
    {"truncated inside the list", k_good.substr(0, k_good.find("-0x1p-149")), 12,
     "ends where element 1 of input x is expected"},
    {"truncated inside the header", k_good.substr(0, k_good.find("digits")), 7, "ends where 'digits: ' is expected"},
    {"goes on after end", k_good + "end\n", 21, "'end' follows 'end'; nothing is allowed there"},
    {"regression with values", regression_with("end\n", "expect y\nend\n"), 10, "a regression ends with its case"},
    {"regression of 2^63 rows", regression_with("x=f32[70000x3]", "x=f32[9223372036854775808x3]"), 9,
     "is not an integer"},
};

TEST(golden_reader, refuses_every_hostile_file_with_file_and_line) {
  EXPECT_GE(k_hostile_files.size(), 25u);
  const scratch_folder folder;
  for (const hostile& h : k_hostile_files) {
    SCOPED_TRACE(h.what);
    const std::string path = folder.write("small.golden", h.text);
    const std::string message = message_of<usage_error>([&] { read_golden(path); });
    EXPECT_TRUE(message.starts_with(path + ":" + std::to_string(h.line) + ": ")) << message;
    EXPECT_THAT(message, HasSubstr(h.message));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

// Text that comes from elsewhere than a file has the same limit.
TEST(golden_reader, refuses_long_text) {
  EXPECT_THAT(message_of<usage_error>([] { parse(k_good + std::string(k_max_file_bytes, 'x') + "\n"); }),
              HasSubstr("a.golden:1: the file has"));
}

TEST(golden_reader, refuses_a_file_under_another_name) {
  const scratch_folder folder;
  EXPECT_EQ(read_golden(folder.write("small.golden", k_good)), parse(k_good));
  const std::string path = folder.write("large.golden", k_good);
  EXPECT_EQ(message_of<usage_error>([&] { read_golden(path); }),
            path + ":4: the name is 'small'; the file's own name without .golden is allowed");
}

TEST(golden_reader, refuses_what_is_not_a_file) {
  const scratch_folder folder;
  for (const std::string& path : {folder.path("absent.golden"), folder.path(), std::string("/dev/zero")})
    EXPECT_EQ(message_of<usage_error>([&] { read_golden(path); }), path + ": it is not a file that can be read");
  const std::string sparse = folder.write("sparse.golden", "");
  std::filesystem::resize_file(sparse, uint64_t{1} << 40);
  EXPECT_THAT(message_of<usage_error>([&] { read_golden(sparse); }), HasSubstr(":1: the file has 1099511627776 bytes"));
}

// Every prefix, and every byte changed to characters that mean something: an answer that is written back the same, or a
// usage_error.
TEST(golden_reader, survives_truncation_and_corruption_everywhere) {
  for (size_t length = 0; length < k_good.size(); ++length)
    EXPECT_THROW(parse(k_good.substr(0, length)), usage_error) << length;
  size_t accepted = 0;
  for (size_t at = 0; at < k_good.size(); ++at)
    for (const char c : std::string("\n\0 09ax|=([,.:-+", 16)) {
      std::string bad = k_good;
      bad[at] = c;
      try {
        EXPECT_EQ(format(parse(bad)), bad);
        ++accepted;
      } catch (const usage_error&) {
      }
    }
  EXPECT_GT(accepted, k_good.size());  // at least what leaves the file as it is, and other digits
  EXPECT_LT(accepted, k_good.size() * 16 / 2);
}

TEST(golden_writer, writes_what_the_reader_reads) {
  const scratch_folder folder;
  const golden_file f = parse(k_good);
  const std::string path = write_golden(folder.path("softmax"), f);
  EXPECT_EQ(path, folder.path("softmax/small.golden"));
  EXPECT_EQ(read_golden(path), f);
  EXPECT_EQ(read_text(path, k_max_file_bytes), k_good);
  EXPECT_EQ(golden_paths(folder.path()), std::vector<std::string>{"softmax/small.golden"});  // and no temporary file
}

TEST(golden_writer, refuses_what_the_reader_would_not_read) {
  const scratch_folder folder;
  golden_file f = parse(k_good);
  f.outputs[0].values[0] = "0.50";
  EXPECT_THAT(message_of<usage_error>([&] { write_golden(folder.path(), f); }), HasSubstr("small.golden:15: '0.50'"));
  f = parse(k_good);
  f.source = "two\nlines";
  EXPECT_THROW(write_golden(folder.path(), f), usage_error);
  EXPECT_TRUE(golden_paths(folder.path()).empty());
}

TEST(golden_writer, reports_a_folder_that_cannot_be_written) {
  const scratch_folder folder;
  const std::string occupied = folder.write("softmax", "a file where the folder should be");
  EXPECT_THAT(message_of<usage_error>([&] { write_golden(occupied, parse(k_good)); }), HasSubstr("cannot be written"));
}

TEST(golden_checksums, round_trip) {
  const scratch_folder folder;
  folder.write("softmax/b.golden", "b");
  folder.write("softmax/a.golden", "a");
  folder.write("softmax/notes.txt", "not listed");
  write_checksums(folder.path());
  const std::string text = read_text(folder.path("SHA256SUMS"), k_max_file_bytes);
  const std::vector<checksum> sums = parse_checksums(text, "SHA256SUMS");
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0], (checksum{engine::sha256_hex("a"), "softmax/a.golden"}));
  EXPECT_EQ(format(sums), text);
}

TEST(golden_checksums, refuses_hostile_lists) {
  const std::string hash(64, 'a');
  const std::pair<std::string, const char*> cases[] = {
      {"", "SUMS:1: the file is empty"},
      {hash + " x.golden\n", "SUMS:1: 'aaaa"},
      {hash + "  \n", "SUMS:1: 'aaaa"},
      {std::string(64, 'A') + "  x.golden\n", "SUMS:1: 'AAAA"},
      {hash.substr(1) + "g  x.golden\n", "SUMS:1: 'aaaa"},
      {hash + "  /etc/x.golden\n", "SUMS:1: '/etc/x.golden' is not the relative path"},
      {hash + "  ../x.golden\n", "SUMS:1: '../x.golden' is not the relative path"},
      {hash + "  a/../x.golden\n", "SUMS:1: 'a/../x.golden' is not the relative path"},
      {hash + "  a/x.txt\n", "SUMS:1: 'a/x.txt' is not the relative path of a .golden file"},
      {hash + "  b.golden\n" + hash + "  a.golden\n", "SUMS:2: 'a.golden' is given twice or out of order"},
      {hash + "  a.golden\n" + hash + "  a.golden\n", "SUMS:2: 'a.golden' is given twice or out of order"},
      {hash + "  a.golden", "SUMS:1: the last line does not end with a line feed"},
      {hash + "  a.golden\r\n", "SUMS:1: a carriage return"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = message_of<usage_error>([&, t = &text] { parse_checksums(*t, "SUMS"); });
    EXPECT_TRUE(message.starts_with(expected)) << message;
  }
}

}  // namespace
}  // namespace warpcheck::golden

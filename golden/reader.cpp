#include "golden/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "properties/engine/error.hpp"

namespace warpcheck::golden {
namespace {

constexpr size_t k_max_listed = 4096;  // elements of a listed input: they become edits of the replay line
constexpr size_t k_max_header_text = 1024;

// A word of the file as messages show it.
std::string in_quotes(std::string_view text) {
  constexpr size_t most = 60;
  return fmt::format("'{}{}'", text.substr(0, most), text.size() > most ? "..." : "");
}

// The lines of a file, one after the other, with the place for messages.
class line_reader {
 public:
  line_reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw engine::usage_error(fmt::format("{}:{}: {}", name_, std::max<size_t>(number_, 1), what));
  }

  // Bytes and line ends of the whole text, before anything is made of it.
  void check_text() {
    if (text_.empty()) fail("the file is empty; a golden file is allowed");
    for (const char c : text_) {
      number_ += at_line_start_;
      at_line_start_ = c == '\n';
      if (c == '\r') fail("a carriage return; lines end with a single line feed");
      if (c != '\n' && (c < 0x20 || c > 0x7e))
        fail(fmt::format("the byte 0x{:02x}; printable ASCII is allowed", static_cast<unsigned char>(c)));
    }
    if (text_.back() != '\n') fail("the last line does not end with a line feed; the file may be truncated");
    number_ = 0;
  }

  bool at_end() const { return text_.empty(); }

  std::string_view next(std::string_view expected) {
    ++number_;
    if (text_.empty()) fail(fmt::format("the file ends where {} is expected; it may be truncated", expected));
    const size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return line;
  }

 private:
  std::string_view text_;
  const std::string& name_;
  size_t number_ = 0;
  size_t at_line_start_ = 1;
};

constexpr std::string_view k_keys[] = {"kind", "operator", "name", "generator", "source", "digits", "seed", "case"};

std::string_view header_value(line_reader& lines, size_t key) {
  const std::string wanted = fmt::format("'{}: '", k_keys[key]);
  const std::string_view line = lines.next(wanted);
  const size_t colon = line.find(": ");
  const std::string_view found = line.substr(0, colon);
  if (colon == std::string_view::npos || found != k_keys[key]) {
    if (std::find(k_keys, k_keys + key, found) != k_keys + key)
      lines.fail(fmt::format("the key '{}' is given twice; once is allowed", found));
    lines.fail(fmt::format("{} is not the line {} that is expected here", in_quotes(line), wanted));
  }
  const std::string_view value = line.substr(colon + 2);
  if (value.empty() || value.front() == ' ' || value.back() == ' ')
    lines.fail(fmt::format("the value of '{}' is {}; text without outer spaces is allowed", found, in_quotes(value)));
  return value;
}

std::string text_value(line_reader& lines, size_t key) {
  const std::string_view value = header_value(lines, key);
  if (value.size() > k_max_header_text)
    lines.fail(fmt::format("the value of '{}' has {} characters; at most {} are allowed", k_keys[key], value.size(),
                           k_max_header_text));
  return std::string(value);
}

// Integers in their one decimal spelling.
template <class T>
T integer_value(line_reader& lines, size_t key, T least, T most) {
  const std::string_view text = header_value(lines, key);
  T value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || value < least || value > most || fmt::format("{}", value) != text)
    lines.fail(fmt::format("{} is {}; an integer in [{}, {}] is allowed", k_keys[key], in_quotes(text), least, most));
  return value;
}

bool is_stem(std::string_view text, bool dashes) {
  constexpr size_t most = 64;
  return !text.empty() && text.size() <= most && text.front() != '-' && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (dashes && c == '-');
  });
}

kind parse_kind(line_reader& lines) {
  const std::string_view text = header_value(lines, 0);
  for (const kind k : {kind::known_answer, kind::oracle, kind::regression})
    if (name_of(k) == text) return k;
  lines.fail(fmt::format("kind is {}; known_answer, oracle and regression are allowed", in_quotes(text)));
}

std::string operator_name(line_reader& lines) {
  std::string name = text_value(lines, 1);
  std::string_view stem = name;
  if (stem.ends_with(k_formula_suffix)) stem.remove_suffix(k_formula_suffix.size());
  if (!is_stem(stem, false))
    lines.fail(
        fmt::format("operator is {}; lower-case letters, digits and _ are allowed, and {} behind them for a formula",
                    in_quotes(name), k_formula_suffix));
  return name;
}

void check_case(line_reader& lines, const golden_file& file) {
  if (file.the_case.op != file.op)
    lines.fail(fmt::format("the case is one of operator {}; {} is stated above", in_quotes(file.the_case.op), file.op));
  if (file.what == kind::regression) return;
  for (const std::string_view knob : {"variant", "device", "schedule", "detect", "candidate", "sm", "repeat"})
    if (file.the_case.knobs.contains(std::string(knob)))
      lines.fail(fmt::format("the case sets {}; a {} leaves it to the check", knob, name_of(file.what)));
  for (const engine::tensor_spec& t : file.the_case.tensors) {
    // The case grammar keeps rows * ld within 2^48, so nothing overflows here.
    if (t.elements() > k_max_elements || t.rows() * t.ld + t.offset > k_max_elements)
      lines.fail(fmt::format("tensor {} has {} rows of {} elements, ld {}; {} elements are allowed in a golden file",
                             t.name, t.rows(), t.cols(), t.ld, k_max_elements));
    if (t.is_input && t.fill.distribution == "npy")
      lines.fail(fmt::format("tensor {} is filled from a file; a golden file holds its own data", t.name));
  }
}

const engine::tensor_spec& section_tensor(line_reader& lines, const golden_file& file, std::string_view name,
                                          bool is_input) {
  const engine::tensor_spec* t = file.the_case.find(name);
  if (!t || t->is_input != is_input)
    lines.fail(fmt::format("{} is not the name of an {} of the case", in_quotes(name), is_input ? "input" : "output"));
  return *t;
}

void parse_input(line_reader& lines, std::string_view name, golden_file& file) {
  const engine::tensor_spec& t = section_tensor(lines, file, name, true);
  if (file.input(name)) lines.fail(fmt::format("input {} is listed twice; once is allowed", name));
  if (!file.inputs.empty() && &t < file.the_case.find(file.inputs.back().tensor))
    lines.fail(fmt::format("input {} is listed out of the case's order", name));
  if (engine::format(t.fill) != "constant(0)" || !t.fill.edits.empty())
    lines.fail(fmt::format("input {} is listed and has a recipe; fill=constant(0) without edits is allowed", name));
  if (t.elements() > static_cast<int64_t>(k_max_listed))
    lines.fail(
        fmt::format("input {} has {} elements; lists of at most {} are allowed", name, t.elements(), k_max_listed));
  listed_input listed{t.name, {}};
  for (int64_t i = 0; i < t.elements(); ++i) {
    const std::string_view line = lines.next(fmt::format("element {} of input {}", i, name));
    const auto bits = parse_element(t.type, line);
    if (!bits)
      lines.fail(fmt::format(
          "{} is not an element of input {}; {} is allowed, exactly and in canonical form", in_quotes(line), name,
          is_float(t.type) ? fmt::format("0x1.8p-1, nan (no payload), +inf or -inf as {}", warpcheck::name_of(t.type))
                           : fmt::format("a decimal {}", warpcheck::name_of(t.type))));
    listed.bits.push_back(*bits);
  }
  file.inputs.push_back(std::move(listed));
}

void parse_output(line_reader& lines, std::string_view name, golden_file& file) {
  const engine::tensor_spec& t = section_tensor(lines, file, name, false);
  if (file.output(name)) lines.fail(fmt::format("output {} is listed twice; once is allowed", name));
  if (!file.outputs.empty() && &t < file.the_case.find(file.outputs.back().tensor))
    lines.fail(fmt::format("output {} is listed out of the case's order", name));
  expected_output expected{t.name, {}};
  for (int64_t i = 0; i < t.elements(); ++i) {
    const std::string_view line = lines.next(fmt::format("element {} of output {}", i, name));
    if (is_float(t.type) ? !is_canonical_decimal(line, file.digits) : !is_canonical_integer(t.type, line))
      lines.fail(
          fmt::format("{} is not an element of output {}; {} is allowed, in canonical form", in_quotes(line), name,
                      is_float(t.type) ? fmt::format("-1.5e-3 with at most {} digits, nan, +inf or -inf", file.digits)
                                       : fmt::format("a decimal {}", warpcheck::name_of(t.type))));
    expected.values.emplace_back(line);
  }
  file.outputs.push_back(std::move(expected));
}

}  // namespace

engine::trial_case parse_standard_case(std::string_view line) { return engine::parse_case(line); }

golden_file parse_golden(std::string_view text, const std::string& name, const case_parser& parse_line) {
  line_reader lines(text, name);
  if (text.size() > k_max_file_bytes)
    lines.fail(fmt::format("the file has {} bytes; at most {} are allowed", text.size(), k_max_file_bytes));
  lines.check_text();
  const std::string first = fmt::format("warpcheck-golden {}", k_format_version);
  if (const std::string_view line = lines.next("the format version"); line != first)
    lines.fail(fmt::format("{} is not the first line of a golden file; '{}' is allowed", in_quotes(line), first));

  golden_file file;
  file.what = parse_kind(lines);
  file.op = operator_name(lines);
  file.name = text_value(lines, 2);
  if (!is_stem(file.name, true))
    lines.fail(
        fmt::format("name is {}; up to 64 lower-case letters, digits, _ and - are allowed", in_quotes(file.name)));
  file.generator = text_value(lines, 3);
  file.source = text_value(lines, 4);
  file.digits = integer_value<int>(lines, 5, k_min_digits, k_max_digits);
  file.seed = integer_value<uint64_t>(lines, 6, 0, uint64_t{1} << 53);
  const std::string_view case_line = header_value(lines, 7);
  try {
    file.the_case = parse_line(case_line);
  } catch (const engine::usage_error& e) {
    lines.fail(e.what());
  }
  if (const std::string canonical = engine::format(file.the_case); canonical != case_line)
    lines.fail(fmt::format("the case line is not in its canonical form '{}'", canonical));
  check_case(lines, file);

  for (;;) {
    const std::string_view line = lines.next("'input', 'expect' or 'end'");
    if (line == "end") break;
    if (file.what == kind::regression)
      lines.fail(fmt::format("{} follows the case; a regression ends with its case", in_quotes(line)));
    const size_t space = line.find(' ');
    const std::string_view section = line.substr(0, space);
    const std::string_view tensor = space == std::string_view::npos ? "" : line.substr(space + 1);
    if (section == "input" && file.outputs.empty())
      parse_input(lines, tensor, file);
    else if (section == "expect")
      parse_output(lines, tensor, file);
    else
      lines.fail(fmt::format("{} where {}'expect TENSOR' or 'end' is expected", in_quotes(line),
                             file.outputs.empty() ? "'input TENSOR', " : ""));
  }
  if (file.what != kind::regression)
    for (const engine::tensor_spec& t : file.the_case.tensors)
      if (!t.is_input && !file.output(t.name))
        lines.fail(fmt::format("output {} has no 'expect {}'; every output of the case needs one", t.name, t.name));
  if (!lines.at_end()) {
    const std::string_view line = lines.next("");
    lines.fail(fmt::format("{} follows 'end'; nothing is allowed there", in_quotes(line)));
  }
  return file;
}

std::string read_text(const std::string& path, size_t limit) {
  // A pipe or a device would block or never end, so only regular files are opened.
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code))
    throw engine::usage_error(fmt::format("{}: it is not a file that can be read", path));
  std::ifstream in(path, std::ios::binary);
  const uint64_t size = std::filesystem::file_size(path, code);
  if (code || !in) throw engine::usage_error(fmt::format("{}: it cannot be opened for reading", path));
  if (size > limit)
    throw engine::usage_error(fmt::format("{}:1: the file has {} bytes; at most {} are allowed", path, size, limit));
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

golden_file read_golden(const std::string& path, const case_parser& parse_line) {
  golden_file file = parse_golden(read_text(path, k_max_file_bytes), path, parse_line);
  if (std::filesystem::path(path).filename() != file.name + ".golden")
    throw engine::usage_error(
        fmt::format("{}:4: the name is '{}'; the file's own name without .golden is allowed", path, file.name));
  return file;
}

std::vector<checksum> parse_checksums(std::string_view text, const std::string& name) {
  line_reader lines(text, name);
  lines.check_text();
  std::vector<checksum> sums;
  while (!lines.at_end()) {
    const std::string_view line = lines.next("a checksum");
    const std::string_view hash = line.substr(0, 64);
    if (line.size() < 67 || hash.find_first_not_of("0123456789abcdef") != std::string_view::npos ||
        line.substr(64, 2) != "  ")
      lines.fail(fmt::format("{} is not '<64 lower-case hexadecimal digits>  <path>'", in_quotes(line)));
    const std::string path(line.substr(66));
    // A path that sha256sum -c would open elsewhere has no place here.
    const std::filesystem::path p(path);
    if (p.is_absolute() || p.lexically_normal() != p || *p.begin() == ".." || p.extension() != ".golden")
      lines.fail(fmt::format("{} is not the relative path of a .golden file inside the folder", in_quotes(path)));
    if (!sums.empty() && path <= sums.back().path)
      lines.fail(fmt::format("{} is given twice or out of order; paths are sorted", in_quotes(path)));
    sums.push_back({std::string(hash), path});
  }
  return sums;
}

}  // namespace warpcheck::golden

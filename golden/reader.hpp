// Reads golden files. Files are hostile until proven otherwise: every defect is one sentence with file and line, memory
// is bounded by the file's size, whatever the file claims.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "golden/format.hpp"

namespace warpcheck::golden {

// Turns a case line into a case; a property with knobs of its own needs engine::parse_case_line here.
using case_parser = std::function<engine::trial_case(std::string_view)>;
engine::trial_case parse_standard_case(std::string_view line);

// Throws engine::usage_error "name:line: what is wrong and what is allowed". format(parse(t)) == t for every t that is
// accepted.
golden_file parse_golden(std::string_view text, const std::string& name,
                         const case_parser& parse_line = parse_standard_case);
// The same from a file; its name must be NAME.golden for the name that it states.
golden_file read_golden(const std::string& path, const case_parser& parse_line = parse_standard_case);

struct checksum {
  std::string sha256;
  std::string path;  // relative to the folder of SHA256SUMS, '/' between parts
  bool operator==(const checksum&) const = default;
};
// The text of SHA256SUMS, as sha256sum writes it: "<64 hex digits>  <path>" per line, sorted by path, no path twice,
// none that leaves the folder.
std::vector<checksum> parse_checksums(std::string_view text, const std::string& name);

// The bytes of a regular file of at most `limit` bytes; usage_error otherwise.
std::string read_text(const std::string& path, size_t limit);

}  // namespace warpcheck::golden

// Writes golden files: the only way in which they come into being.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "golden/format.hpp"
#include "golden/reader.hpp"

namespace warpcheck::golden {

std::string format(const golden_file& file);
// Writes folder/NAME.golden and returns its path. The file appears whole or not at all (written beside, then renamed).
// Throws engine::usage_error if the reader would not accept the text, or if the folder cannot be written.
std::string write_golden(const std::string& folder, const golden_file& file,
                         const case_parser& parse_line = parse_standard_case);

std::string format(std::span<const checksum> sums);
// Hashes every .golden file below `folder` into folder/SHA256SUMS.
void write_checksums(const std::string& folder);
// Paths of all .golden files below `folder`, relative to it, sorted. Links are not followed.
std::vector<std::string> golden_paths(const std::string& folder);

}  // namespace warpcheck::golden

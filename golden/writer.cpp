#include "golden/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"

namespace warpcheck::golden {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, std::string_view text) {
  const fs::path beside = path.string() + ".tmp";
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  std::error_code code;
  if (out) fs::rename(beside, path, code);
  if (!out || code) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    throw engine::usage_error(fmt::format("{}: it cannot be written; a writable folder is needed", path.string()));
  }
}

}  // namespace

std::string format(const golden_file& file) {
  std::string text = fmt::format(
      "warpcheck-golden {}\nkind: {}\noperator: {}\nname: {}\ngenerator: {}\nsource: {}\ndigits: {}\nseed: {}\ncase: "
      "{}\n",
      k_format_version, name_of(file.what), file.op, file.name, file.generator, file.source, file.digits, file.seed,
      engine::format(file.the_case));
  for (const listed_input& listed : file.inputs) {
    text += fmt::format("input {}\n", listed.tensor);
    const dtype type = file.the_case.at(listed.tensor).type;
    for (const uint64_t bits : listed.bits) text += format_element(type, bits) + '\n';
  }
  for (const expected_output& expected : file.outputs) {
    text += fmt::format("expect {}\n", expected.tensor);
    for (const std::string& value : expected.values) text += value + '\n';
  }
  return text + "end\n";
}

std::string write_golden(const std::string& folder, const golden_file& file, const case_parser& parse_line) {
  const std::string text = format(file);
  const fs::path path = fs::path(folder) / (file.name + ".golden");
  if (parse_golden(text, path.string(), parse_line) != file)
    throw engine::usage_error(fmt::format("{}: the reader does not return what is to be written", path.string()));
  std::error_code code;
  fs::create_directories(folder, code);
  write_file(path, text);
  return path.string();
}

std::string format(std::span<const checksum> sums) {
  std::string text;
  for (const checksum& s : sums) text += fmt::format("{}  {}\n", s.sha256, s.path);
  return text;
}

std::vector<std::string> golden_paths(const std::string& folder) {
  std::error_code code;
  fs::recursive_directory_iterator it(folder, code);
  if (code) throw engine::usage_error(fmt::format("{}: it is not a folder that can be read", folder));
  std::vector<std::string> paths;
  for (; it != fs::recursive_directory_iterator(); it.increment(code)) {
    if (code) throw engine::usage_error(fmt::format("{}: {}", folder, code.message()));
    if (it->path().extension() == ".golden" && it->is_regular_file() && !it->is_symlink())
      paths.push_back(it->path().lexically_relative(folder).generic_string());
  }
  std::ranges::sort(paths);
  return paths;
}

void write_checksums(const std::string& folder) {
  std::vector<checksum> sums;
  for (const std::string& path : golden_paths(folder))
    sums.push_back({engine::sha256_hex(read_text((fs::path(folder) / path).string(), k_max_file_bytes)), path});
  write_file(fs::path(folder) / "SHA256SUMS", format(sums));
}

}  // namespace warpcheck::golden

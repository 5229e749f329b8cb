#include "properties/engine/files/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/pt.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/files/zip.hpp"

namespace warpcheck::engine {
namespace {

constexpr std::string_view k_magic = "\x93NUMPY";
// numpy.lib.format refuses headers beyond 10,000 characters by default; version 1.0 cannot hold more than this.
constexpr size_t k_max_header = 65535;

// The header of the file. `descr` is one of the forms below.
struct header {
  std::string descr;
  std::vector<int64_t> shape;
};

// Parser of the header: the Python literal of a dict with the keys descr, fortran_order and shape.
class header_parser {
 public:
  header_parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  header parse() {
    header h;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      bool* seen = key == "descr"           ? &has_descr
                   : key == "fortran_order" ? &has_order
                   : key == "shape"         ? &has_shape
                                            : nullptr;
      if (!seen)
        fail(fmt::format("the header has the key '{}'; descr, fortran_order and shape are allowed", printable(key)));
      if (*seen) fail(fmt::format("the header gives the key '{}' twice", key));
      *seen = true;
      if (key == "descr") {
        skip_space();
        if (at_ < text_.size() && text_[at_] == '[')
          fail("the elements are records with fields; plain float elements are allowed");
        h.descr = string();
      } else if (key == "fortran_order") {
        if (boolean()) fail("the array is in Fortran order; C order is allowed (numpy.ascontiguousarray)");
      } else {
        h.shape = tuple();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("the header goes on after its closing brace; only spaces are allowed there");
    if (!has_descr || !has_order || !has_shape)
      fail("the header lacks one of the keys descr, fortran_order and shape; all three are needed");
    return h;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw usage_error(fmt::format("{}: {}", name_, what)); }

  static std::string printable(std::string_view text) {
    std::string out;
    for (char c : text.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? c : '?';
    return out;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c))
      fail(fmt::format("the header has '{}' where '{}' is expected; a Python dict literal is allowed",
                       printable(text_.substr(std::min(at_, text_.size()), 12)), c));
  }

  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos)
      fail(fmt::format("the header has '{}' where a quoted string is expected",
                       printable(text_.substr(std::min(at_, text_.size()), 12))));
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail(fmt::format("fortran_order is '{}'; True or False is allowed", printable(text_.substr(at_, 12))));
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> extents;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t extent = 0;
      const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (code != std::errc() || extent < 0)
        fail(fmt::format("the shape has the extent '{}'; integers from 0 to 2^63-1 are allowed",
                         printable(text_.substr(at_, 24))));
      at_ = static_cast<size_t>(end - text_.data());
      extents.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

bool contains(std::span<const dtype> types, dtype type) { return std::ranges::find(types, type) != types.end(); }

dtype element_type(const std::string& descr, std::span<const dtype> allowed, const std::string& name) {
  std::optional<dtype> type;
  if (descr == "<f2") type = dtype::f16;
  if (descr == "<f4") type = dtype::f32;
  if (descr == "<f8") type = dtype::f64;
  if (descr == "<V2" || descr == "|V2") type = dtype::bf16;
  if (descr == "<u2") type = contains(allowed, dtype::u16) ? dtype::u16 : dtype::bf16;
  if (descr == "<u4") type = dtype::u32;
  if (descr == "<i4") type = dtype::i32;
  if (descr == "<i8") type = dtype::i64;
  if (descr == "|i1") type = dtype::i8;
  if (descr == "|u1") type = dtype::u8;
  // NumPy has no float of 8 bits: ml_dtypes writes its bytes as |V1.
  if (descr == "|V1" || descr == "|u1")
    for (const dtype t : {dtype::e4m3, dtype::e5m2})
      if (contains(allowed, t)) type = t;
  if (type && contains(allowed, *type)) return *type;
  std::string list, found;
  for (const dtype t : allowed) {
    const std::string_view numpy = t == dtype::f16    ? "<f2"
                                   : t == dtype::f32  ? "<f4"
                                   : t == dtype::f64  ? "<f8"
                                   : t == dtype::bf16 ? "|V2 or <u2"
                                   : t == dtype::u32  ? "<u4"
                                   : t == dtype::i32  ? "<i4"
                                   : t == dtype::i64  ? "<i8"
                                   : t == dtype::i8   ? "|i1"
                                   : t == dtype::u8   ? "|u1"
                                   : is_float(t)      ? "|V1 or |u1"
                                                      : "<u2";
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", numpy, name_of(t));
  }
  for (char c : descr.substr(0, 24)) found += c >= 0x20 && c < 0x7f ? c : '?';
  throw usage_error(fmt::format("{}: the dtype is '{}'; {} is allowed here", name, found, list));
}

// Everything before the data; returns its length in bytes. `file` may hold more than that, or less: `total` is the
// file's real size.
size_t parse_preamble(std::span<const std::byte> file, uint64_t total, const std::string& name,
                      std::span<const dtype> allowed, npy_array& array) {
  const auto fail = [&](const std::string& what) { throw usage_error(fmt::format("{}: {}", name, what)); };
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(k_magic)) fail("it does not start with the bytes \\x93NUMPY of a .npy file");
  if (text.size() < 10) fail(fmt::format("it ends after {} bytes, inside the preamble", text.size()));
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  const size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0)
    fail(fmt::format("the format version is {}.{}; 1.0, 2.0 and 3.0 are allowed", major, minor));
  const size_t start = major == 1 ? 10 : 12;
  if (text.size() < start) fail(fmt::format("it ends after {} bytes, inside the preamble", text.size()));
  const size_t length = major == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > k_max_header) fail(fmt::format("the header has {} bytes; at most {} are allowed", length, k_max_header));
  if (text.size() - start < length)
    fail(fmt::format("the header has {} bytes, but the file ends after {} of them", length, text.size() - start));
  const header h = header_parser(text.substr(start, length), name).parse();
  array.type = element_type(h.descr, allowed, name);
  if (h.shape.empty() || h.shape.size() > k_most_dimensions)
    fail(fmt::format("the array has {} dimensions; 1 to {} are allowed", h.shape.size(), k_most_dimensions));
  array.shape = h.shape;
  array.rows = 1;
  for (size_t d = 0; d + 1 < h.shape.size(); ++d) {
    if (h.shape[d] > 0 && array.rows > k_npy_max_bytes / h.shape[d])
      fail(fmt::format("the shape has more than {} rows", k_npy_max_bytes));
    array.rows *= h.shape[d];
  }
  array.cols = h.shape.back();
  const int64_t size = static_cast<int64_t>(size_of(array.type));
  if (std::max(array.rows, array.cols) > k_npy_max_bytes ||
      (array.rows > 0 && array.cols > k_npy_max_bytes / size / array.rows))
    fail(fmt::format("the shape is {} x {} of {}; at most {} bytes are allowed", array.rows, array.cols,
                     name_of(array.type), k_npy_max_bytes));
  const uint64_t needed = static_cast<uint64_t>(array.rows * array.cols * size);
  const uint64_t present = total - start - length;
  if (needed != present)
    fail(fmt::format("the shape {} x {} of {} needs {} bytes of data, but the file holds {}", array.rows, array.cols,
                     name_of(array.type), needed, present));
  return start + length;
}

// The name of an array in a file of numpy.savez.
std::string array_name(const zip_member& m, const std::string& path) {
  constexpr std::string_view k_suffix = ".npy";
  if (!m.name.ends_with(k_suffix))
    throw usage_error(fmt::format("{}: '{}' is no .npy file; an archive of numpy.savez has no other", path, m.name));
  return m.name.substr(0, m.name.size() - k_suffix.size());
}

std::string hash_of(std::span<const std::byte> file) {
  sha256_hash hash;
  hash.update(file);
  return hash.hex_digest();
}

npy_array array_of(const pt_tensor& t, const std::string& path, std::span<const dtype> allowed) {
  if (!contains(allowed, t.type)) {
    std::vector<std::string_view> names;
    for (const dtype type : allowed) names.push_back(name_of(type));
    throw usage_error(
        fmt::format("{}: its elements are {}; {} is allowed here", path, name_of(t.type), fmt::join(names, ", ")));
  }
  npy_array array{t.type, t.shape, 1, t.shape.back(), dense_bytes(t), ""};
  for (size_t d = 0; d + 1 < t.shape.size(); ++d) array.rows *= t.shape[d];
  return array;
}

// An array of an archive, or the one tensor of a .pt file.
npy_array read_member(const archive_path& member, const std::string& path, std::span<const dtype> allowed) {
  const std::vector<std::byte> file = read_archive(member.file);
  std::vector<std::string> names;
  if (is_pt(member.file)) {
    for (const pt_tensor& t : parse_pt(file, member.file)) {
      names.push_back(t.name);
      if (t.name != member.name) continue;
      npy_array array = array_of(t, path, allowed);
      array.sha256 = hash_of(file);
      return array;
    }
  } else {
    for (const zip_member& m : parse_zip(file, member.file)) {
      names.push_back(array_name(m, member.file));
      if (names.back() == member.name) return parse_npy(m.bytes, path, allowed);
    }
  }
  throw usage_error(
      fmt::format("{}: it has no array '{}'; it has {}", member.file, member.name, fmt::join(names, ", ")));
}

}  // namespace

npy_array parse_npy(std::span<const std::byte> file, const std::string& name, std::span<const dtype> allowed) {
  npy_array array;
  const size_t start = parse_preamble(file, file.size(), name, allowed, array);
  array.bytes.assign(file.begin() + static_cast<ptrdiff_t>(start), file.end());
  array.sha256 = hash_of(file);
  return array;
}

std::vector<std::string> array_names(const std::string& path) {
  std::vector<std::string> names;
  if (is_pt(path)) {
    const std::vector<std::byte> file = read_archive(path);
    for (const pt_tensor& t : parse_pt(file, path)) names.push_back(t.name);
  } else if (path.ends_with(".npz")) {
    const std::vector<std::byte> file = read_archive(path);
    for (const zip_member& m : parse_zip(file, path)) names.push_back(array_name(m, path));
  } else {
    names = {""};
  }
  return names;
}

npy_array read_npy(const std::string& path, std::span<const dtype> allowed) {
  if (const archive_path member = split_archive_path(path); !member.name.empty() || is_pt(path))
    return read_member(member, path, allowed);
  // A pipe or a device would block or never end, so only regular files are opened.
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code))
    throw usage_error(fmt::format("{}: it is not a file that can be read; a .npy file is needed", path));
  const uint64_t total = std::filesystem::file_size(path, code);
  std::ifstream in(path, std::ios::binary);
  if (code || !in) throw usage_error(fmt::format("{}: it cannot be opened for reading", path));
  if (total > static_cast<uint64_t>(k_npy_max_bytes) + k_max_header + 12)
    throw usage_error(
        fmt::format("{}: it has {} bytes; at most {} bytes of data are allowed", path, total, k_npy_max_bytes));
  const auto read = [&](std::span<std::byte> into) {
    in.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    if (in.gcount() != static_cast<std::streamsize>(into.size()))
      throw usage_error(fmt::format("{}: it became shorter while it was read", path));
  };
  std::vector<std::byte> front(std::min<uint64_t>(total, k_max_header + 12));
  read(front);
  npy_array array;
  const size_t start = parse_preamble(front, total, path, allowed, array);
  array.bytes.resize(total - start);
  const size_t peeked = front.size() - start;
  std::memcpy(array.bytes.data(), front.data() + start, peeked);
  read(std::span(array.bytes).subspan(peeked));
  sha256_hash hash;
  hash.update(std::span(front).first(start));
  hash.update(array.bytes);
  array.sha256 = hash.hex_digest();
  return array;
}

void write_npy(const std::string& path, const npy_array& array) {
  const char* const descr = array.type == dtype::f16    ? "<f2"
                            : array.type == dtype::f32  ? "<f4"
                            : array.type == dtype::f64  ? "<f8"
                            : array.type == dtype::bf16 ? "|V2"
                            : array.type == dtype::i64  ? "<i8"
                            : array.type == dtype::i32  ? "<i4"
                            : array.type == dtype::i8   ? "|i1"
                            : array.type == dtype::u8   ? "|u1"
                            : is_float(array.type)      ? "|V1"
                            : array.type == dtype::u16  ? "<u2"
                            : array.type == dtype::u32  ? "<u4"
                                                        : nullptr;
  if (!descr) throw usage_error(fmt::format("{}: {} is not written as .npy", path, name_of(array.type)));
  // Python's tuple of one element has a comma.
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  // The data begin at a multiple of 64 bytes, as in NumPy's own files.
  constexpr size_t k_before = k_magic.size() + 4;
  header.append(63 - (k_before + header.size()) % 64, ' ');
  header += '\n';
  std::string text(k_magic);
  text += {'\x01', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  text += header;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.write(reinterpret_cast<const char*>(array.bytes.data()), static_cast<std::streamsize>(array.bytes.size()));
  out.close();
  if (!out) throw environment_error(fmt::format("{}: it cannot be written", path));
}

}  // namespace warpcheck::engine

#include "properties/engine/files/zip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "properties/engine/error.hpp"

namespace warpcheck::engine {
namespace {

constexpr std::string_view k_end_of_directory = "PK\x05\x06", k_entry = "PK\x01\x02", k_local = "PK\x03\x04";
constexpr size_t k_end_bytes = 22, k_entry_bytes = 46, k_local_bytes = 30;
constexpr size_t k_most_comment = 65535;
constexpr uint32_t k_in_zip64 = 0xffffffff;  // the size or offset is in the zip64 record
constexpr uint64_t k_most_archive_bytes = uint64_t{4} << 30;
constexpr uint32_t k_stored = 0, k_deflated = 8;
constexpr size_t k_most_ratio = 1032;  // of deflate: 258 bytes for two bits

// The `bytes` bytes that are deflated (RFC 1951), or nothing if they are others.
std::shared_ptr<const std::vector<std::byte>> inflate(std::span<const std::byte> deflated, size_t bytes, uint32_t crc) {
  namespace zlib = boost::beast::zlib;
  if (bytes / k_most_ratio > deflated.size()) return nullptr;
  auto all = std::make_shared<std::vector<std::byte>>(bytes);
  zlib::inflate_stream stream;
  stream.reset(15);
  zlib::z_params p;
  p.next_in = deflated.data();
  p.avail_in = deflated.size();
  p.next_out = all->data();
  p.avail_out = bytes;
  boost::beast::error_code code;  // of whole data either end_of_stream or need_buffers: the checksum decides
  stream.write(p, zlib::Flush::finish, code);
  boost::crc_32_type actual;
  actual.process_bytes(all->data(), bytes);
  const bool is_whole = p.total_out == bytes && actual.checksum() == crc;
  return is_whole ? all : nullptr;
}

// Reads parts of the file by offset; every function throws if the file ends before them.
class zip_reader {
 public:
  zip_reader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const { throw usage_error(fmt::format("{}: {}", name_, what)); }

  std::span<const std::byte> part(size_t at, size_t bytes) const {
    if (at > file_.size() || bytes > file_.size() - at)
      fail(fmt::format("the archive has {} bytes, but names bytes {} to {} of it", file_.size(), at, at + bytes));
    return file_.subspan(at, bytes);
  }
  std::string_view text(size_t at, size_t bytes) const {
    const auto p = part(at, bytes);
    return {reinterpret_cast<const char*>(p.data()), p.size()};
  }
  uint32_t number(size_t at, size_t bytes) const {
    uint32_t value = 0;
    for (size_t i = 0; const std::byte b : part(at, bytes)) value |= std::to_integer<uint32_t>(b) << (8 * i++);
    return value;
  }

  // The offset of the record that locates the directory.
  size_t end_of_directory() const {
    if (file_.size() >= k_end_bytes)
      for (size_t back = k_end_bytes; back <= std::min(file_.size(), k_end_bytes + k_most_comment); ++back)
        if (text(file_.size() - back, 4) == k_end_of_directory) return file_.size() - back;
    fail("it is no ZIP archive, which has a directory at its end");
  }

  zip_member member(size_t entry) const {
    if (text(entry, 4) != k_entry) fail(fmt::format("byte {} of the archive begins no entry of its directory", entry));
    std::string name(text(entry + k_entry_bytes, number(entry + 28, 2)));
    const uint32_t method = number(entry + 10, 2), bytes = number(entry + 24, 4), local = number(entry + 42, 4);
    if (number(entry + 8, 2) & 1) fail(fmt::format("'{}' is encrypted", name));
    if (method != k_stored && method != k_deflated)
      fail(fmt::format("'{}' is compressed by method {}; {} (stored) and {} (deflated) are allowed", name, method,
                       k_stored, k_deflated));
    if (bytes == k_in_zip64 || local == k_in_zip64)
      fail(fmt::format("'{}' lies beyond 4 GiB; give the array as a .npy file", name));
    if (text(local, 4) != k_local) fail(fmt::format("byte {} of the archive begins no file", local));
    const size_t begin = local + k_local_bytes + number(local + 26, 2) + number(local + 28, 2);
    if (method == k_stored) return {std::move(name), part(begin, bytes), nullptr};
    const auto inflated = inflate(part(begin, number(entry + 20, 4)), bytes, number(entry + 16, 4));
    if (!inflated) fail(fmt::format("'{}' is damaged: it does not inflate to {} bytes of its checksum", name, bytes));
    return {std::move(name), *inflated, inflated};
  }
  size_t entry_bytes(size_t entry) const {
    return k_entry_bytes + number(entry + 28, 2) + number(entry + 30, 2) + number(entry + 32, 2);
  }

 private:
  std::span<const std::byte> file_;
  const std::string& name_;
};

}  // namespace

std::vector<zip_member> parse_zip(std::span<const std::byte> file, const std::string& name) {
  const zip_reader zip(file, name);
  const size_t end = zip.end_of_directory();
  std::vector<zip_member> members;
  size_t entry = zip.number(end + 16, 4);
  for (uint32_t left = zip.number(end + 10, 2); left > 0; --left) {
    members.push_back(zip.member(entry));
    entry += zip.entry_bytes(entry);
  }
  return members;
}

std::vector<std::byte> read_archive(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code))
    throw usage_error(fmt::format("{}: it is not a file that can be read; an archive is needed", path));
  const uint64_t bytes = std::filesystem::file_size(path, code);
  if (code || bytes > k_most_archive_bytes)
    throw usage_error(fmt::format("{}: it has {} bytes; at most {} are allowed; give its arrays as .npy files", path,
                                  bytes, k_most_archive_bytes));
  std::vector<std::byte> all(bytes);
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(bytes));
  if (!in) throw usage_error(fmt::format("{}: it cannot be read", path));
  return all;
}

archive_path split_archive_path(const std::string& path) {
  for (const std::string_view between : {".npz:", ".pt:", ".pth:"})
    if (const size_t at = path.rfind(between); at != std::string::npos)
      return {path.substr(0, at + between.size() - 1), path.substr(at + between.size())};
  return {path, ""};
}

}  // namespace warpcheck::engine

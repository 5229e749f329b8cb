// The .npy reader: what NumPy writes is read, and nothing else is.
#include "properties/engine/files/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>

#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "tests/scratch_folder.hpp"

namespace warpcheck::engine {
namespace {

using self::message_of;
using self::scratch_folder;
using testing::HasSubstr;

// A file of format `major`.0 around a header text, padded as NumPy pads: the data starts at a multiple of 64.
std::string npy(std::string header, std::string_view data, int major = 1) {
  const size_t preamble = major == 1 ? 10 : 12;
  while ((preamble + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (size_t i = 0; i < preamble - 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + std::string(data);
}

std::string dict(std::string_view descr, std::string_view shape, std::string_view order = "False") {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

npy_array parse(std::string_view file, std::span<const dtype> allowed = k_npy_default_types) {
  return parse_npy(std::as_bytes(std::span(file)), "a.npy", allowed);
}

std::string text_of(const npy_array& a) { return {reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()}; }

TEST(npy, reads_every_version_with_the_same_result) {
  const std::string data = raw<float>({1.5f, -0.0f, 3e-45f, 4.0f, 5.0f, 6.0f});
  for (const int major : {1, 2, 3}) {
    const npy_array a = parse(npy(dict("<f4", "(2, 3)"), data, major));
    EXPECT_EQ(a.type, dtype::f32);
    EXPECT_EQ(a.rows, 2);
    EXPECT_EQ(a.cols, 3);
    EXPECT_EQ(text_of(a), data);
  }
}

TEST(npy, reads_the_types_it_documents) {
  const std::string data = raw<uint16_t>({0x3f80, 0x7fc1, 0x8000});
  EXPECT_EQ(parse(npy(dict("<f2", "(3,)"), data)).type, dtype::f16);
  for (const char* descr : {"|V2", "<V2", "<u2"})
    EXPECT_EQ(parse(npy(dict(descr, "(3,)"), data)).type, dtype::bf16) << descr;
  constexpr dtype integers[] = {dtype::u16};
  EXPECT_EQ(parse(npy(dict("<u2", "(3,)"), data), integers).type, dtype::u16);
  constexpr dtype doubles[] = {dtype::f64};
  EXPECT_EQ(parse(npy(dict("<f8", "(1,)"), raw<double>({2.0})), doubles).type, dtype::f64);
  EXPECT_EQ(text_of(parse(npy(dict("<u2", "(3,)"), data))), data);
}

TEST(npy, reads_one_dimension_as_one_row_and_keeps_empty_shapes) {
  const npy_array vector = parse(npy(dict("<f4", "(2,)"), raw<float>({1, 2})));
  EXPECT_EQ(vector.rows, 1);
  EXPECT_EQ(vector.cols, 2);
  const npy_array none = parse(npy(dict("<f4", "(0, 7)"), ""));
  EXPECT_EQ(none.rows, 0);
  EXPECT_EQ(none.cols, 7);
  EXPECT_TRUE(none.bytes.empty());
}

TEST(npy, keeps_three_and_four_dimensions) {
  const scratch_folder folder;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 1, 3}, std::vector<int64_t>{1, 2, 1, 3}}) {
    npy_array array = {dtype::f32, shape, 2, 3, {}, ""};
    for (const char c : raw<float>({1, 2, 3, 4, 5, 6})) array.bytes.push_back(static_cast<std::byte>(c));
    const std::string path = folder.path("x.npy");
    write_npy(path, array);
    const npy_array read = read_npy(path);
    EXPECT_EQ(read.shape, shape);
    EXPECT_EQ(read.rows, 2);
    EXPECT_EQ(read.cols, 3);
    EXPECT_EQ(read.bytes, array.bytes);
  }
}

TEST(npy, takes_keys_in_any_order_and_either_quote) {
  const npy_array a = parse(npy(R"({"shape":(1,1),"fortran_order":False,"descr":"<f4"})", raw<float>({1})));
  EXPECT_EQ(a.cols, 1);
}

// The path that reads a file in two parts against the one that has all bytes, across the border of the first read.
TEST(npy, file_and_bytes_give_the_same_array) {
  const scratch_folder folder;
  for (const size_t cols : {size_t{1}, size_t{16'000}, size_t{40'000}}) {
    std::string data(4 * cols, '\0');
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 37 % 127);
    const std::string bytes = npy(dict("<f4", "(" + std::to_string(cols) + ",)"), data);
    const npy_array from_file = read_npy(folder.write("x.npy", bytes));
    EXPECT_EQ(text_of(from_file), data);
    EXPECT_EQ(from_file.sha256, sha256_hex(bytes));
    EXPECT_EQ(parse(bytes).sha256, from_file.sha256);
  }
}

struct hostile {
  const char* what;
  std::string bytes;
  const char* message;
};

std::vector<hostile> hostile_files() {
  const std::string one = raw<float>({1});
  const std::string good = npy(dict("<f4", "(1, 1)"), one);
  std::string version4 = good, minor1 = good, long_header = good;
  version4[6] = 4;
  minor1[7] = 1;
  long_header[8] = static_cast<char>(0xff), long_header[9] = static_cast<char>(0xff);
  std::string huge_header = npy(dict("<f4", "(1, 1)"), one, 2);
  for (size_t i = 8; i < 12; ++i) huge_header[i] = static_cast<char>(0xff);
  return {
      {"empty", "", "does not start with the bytes"},
      {"not an array", "PK\x03\x04 a zip archive (.npz)", "does not start with the bytes"},
      {"magic only", std::string("\x93NUMPY", 6), "ends after 6 bytes"},
      {"ends in the length of version 2", huge_header.substr(0, 11), "ends after 11 bytes"},
      {"version 4", version4, "format version is 4.0; 1.0, 2.0 and 3.0 are allowed"},
      {"version 1.1", minor1, "format version is 1.1"},
      {"header longer than the file", long_header, "has 65535 bytes, but the file ends after"},
      {"header of 4 GiB", huge_header, "has 4294967295 bytes; at most 65535 are allowed"},
      {"data truncated", good.substr(0, good.size() - 1), "needs 4 bytes of data, but the file holds 3"},
      {"data too long", good + "x", "needs 4 bytes of data, but the file holds 5"},
      {"fortran order", npy(dict("<f4", "(1, 1)", "True"), one), "Fortran order; C order is allowed"},
      {"big endian", npy(dict(">f4", "(1, 1)"), one),
       "dtype is '>f4'; <f4 (f32), <f2 (f16), |V2 or <u2 (bf16) is allowed"},
      {"double", npy(dict("<f8", "(1, 1)"), raw<double>({1})), "dtype is '<f8'"},
      {"integers", npy(dict("<i4", "(1, 1)"), one), "dtype is '<i4'"},
      {"objects", npy(dict("|O", "(1, 1)"), one), "dtype is '|O'"},
      {"records", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", one),
       "records with fields"},
      {"no dimension", npy(dict("<f4", "()"), one), "0 dimensions; 1 to 8 are allowed"},
      {"nine dimensions", npy(dict("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), one), "9 dimensions"},
      {"negative extent", npy(dict("<f4", "(-1, 1)"), one), "extent '-1"},
      {"extent 2^63", npy(dict("<f4", "(9223372036854775808, 1)"), one), "extent '9223372036854775808"},
      {"extent 2^63-1", npy(dict("<f4", "(9223372036854775807, 1)"), one), "more than 4294967296 rows"},
      {"product 2^64", npy(dict("<f4", "(4294967296, 4294967296)"), one), "at most 4294967296 bytes are allowed"},
      {"product just above the limit", npy(dict("<f4", "(32768, 32769)"), one), "at most 4294967296 bytes are allowed"},
      {"2^62 columns of no row", npy(dict("<f4", "(0, 4611686018427387904)"), ""),
       "at most 4294967296 bytes are allowed"},
      {"extent with a fraction", npy(dict("<f4", "(1.5, 1)"), one), "where ')' is expected"},
      {"key twice", npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", one),
       "key 'descr' twice"},
      {"key unknown", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", one), "key 'x'"},
      {"key missing", npy("{'descr': '<f4', 'shape': (1,)}", one), "lacks one of the keys"},
      {"no dict", npy("['<f4', False, (1,)]", one), "where '{' is expected"},
      {"string without end", npy("{'descr", one), "where a quoted string is expected"},
      {"order is a number", npy(dict("<f4", "(1,)", "0"), one), "True or False is allowed"},
      {"code after the dict", npy(dict("<f4", "(1,)") + ".clear()", one), "after its closing brace"},
      {"nothing but brackets", npy(std::string(5000, '{'), one), "quoted string is expected"},
      {"deep shape", npy(dict("<f4", std::string(5000, '(')), one), "extent '((("},
      {"control bytes in the type", npy(dict("\x1b[2J\xff", "(1,)"), one), "dtype is '?[2J?'"},
  };
}

TEST(npy, refuses_every_hostile_file_with_one_sentence) {
  const scratch_folder folder;
  const std::vector<hostile> files = hostile_files();
  EXPECT_GE(files.size(), 15u);
  for (const hostile& h : files) {
    SCOPED_TRACE(h.what);
    const std::string path = folder.write("bad.npy", h.bytes);
    const std::string from_file = message_of<usage_error>([&] { read_npy(path); });
    EXPECT_THAT(from_file, HasSubstr(h.message));
    EXPECT_TRUE(from_file.starts_with(path + ": ")) << from_file;
    EXPECT_EQ(from_file.find('\n'), std::string::npos);
    EXPECT_EQ(message_of<usage_error>([&] { parse(h.bytes); }), "a.npy" + from_file.substr(path.size()));
  }
}

TEST(npy, refuses_what_is_not_a_file) {
  const scratch_folder folder;
  EXPECT_THAT(message_of<usage_error>([&] { read_npy(folder.path("absent.npy")); }),
              HasSubstr("not a file that can be read"));
  EXPECT_THAT(message_of<usage_error>([&] { read_npy(folder.path()); }), HasSubstr("not a file that can be read"));
  EXPECT_THAT(message_of<usage_error>([&] { read_npy("/dev/zero"); }), HasSubstr("not a file that can be read"));
  // A sparse file: five GiB by its size, nothing on the disk, and nothing may be allocated for it.
  const std::string sparse = folder.write("sparse.npy", npy(dict("<f4", "(1342177280,)"), ""));
  std::filesystem::resize_file(sparse, uint64_t{5} << 30);
  EXPECT_THAT(message_of<usage_error>([&] { read_npy(sparse); }),
              HasSubstr("at most 4294967296 bytes of data are allowed"));
}

// Every prefix of a good file, and every single byte of its front changed: an answer or a usage_error, never anything
// else.
TEST(npy, survives_truncation_and_corruption_everywhere) {
  const std::string good = npy(dict("<f4", "(2, 1)"), raw<float>({1, 2}));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(parse(std::string_view(good).substr(0, length)), usage_error) << length;
  size_t accepted = 0;
  for (size_t at = 0; at < good.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[at] = static_cast<char>(value);
      try {
        const npy_array a = parse(bad);
        ++accepted;
        EXPECT_EQ(a.bytes.size(), static_cast<size_t>(a.rows * a.cols) * size_of(a.type));
      } catch (const usage_error&) {
      }
    }
  // All values of the 8 data bytes, and what spaces may become: far from all, far from none.
  EXPECT_GT(accepted, 8u * 256);
  EXPECT_LT(accepted, good.size() * 256 / 2);
}

}  // namespace
}  // namespace warpcheck::engine

// A user's array: NumPy's .npy format, versions 1.0, 2.0 and 3.0 (NEP 1; numpy/lib/format.py), for arrays that a tensor
// of this suite can hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/numerics/dtype.hpp"

namespace warpcheck::engine {

struct npy_array {
  dtype type = dtype::f32;
  std::vector<int64_t> shape;
  int64_t rows = 0;  // of the last dimension: 1 for a one-dimensional array
  int64_t cols = 0;
  std::vector<std::byte> bytes;  // rows * cols elements, row after row, no gaps, little-endian
  std::string sha256;            // of the whole file, of an .npz archive the array's own
};

constexpr int64_t k_npy_max_bytes = int64_t{4} << 30;  // largest file that is read
constexpr dtype k_npy_default_types[] = {dtype::f32, dtype::f16, dtype::bf16};

// Accepts one to four dimensions, C order, little-endian f2, f4, f8, i1, i4, i8, u1 for f16, f32, f64, i8, i32, i64,
// u8 in `allowed`. NumPy has no bfloat16: two-byte void (as the ml_dtypes package saves it) is bf16, and so are the
// bit patterns in a u2 array, unless u16 itself is allowed. One-byte void and u1 are e4m3 or e5m2 if one is allowed.
// Throws usage_error that names the file, what was found and what is allowed. A path "FILE.npz:NAME" or
// "FILE.pt:NAME" is an array of an archive (zip.hpp, pt.hpp), "FILE.pt" the one tensor of such a file.
npy_array read_npy(const std::string& path, std::span<const dtype> allowed = k_npy_default_types);
// The same for the bytes of a file; `name` stands for it in messages.
npy_array parse_npy(std::span<const std::byte> file, const std::string& name,
                    std::span<const dtype> allowed = k_npy_default_types);

// The names of an archive's arrays, in its order; one empty name if the path is that of a single array.
std::vector<std::string> array_names(const std::string& path);

// Writes format version 1.0. Throws environment_error if the file cannot be written.
void write_npy(const std::string& path, const npy_array& array);

}  // namespace warpcheck::engine

// NumPy's archives of arrays: .npz files, as numpy.savez writes them: ZIP files (APPNOTE 6.3.3) of .npy files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::engine {

// An array of an archive: its name without ".npy", and the bytes of its .npy file.
struct npz_member {
  std::string name;
  std::span<const std::byte> npy;
};

// The arrays of an archive that is held in memory, which outlives them. Compressed ones are refused. Throws usage_error
// that names the file; `name` stands for it in messages.
std::vector<npz_member> parse_npz(std::span<const std::byte> file, const std::string& name);

// The names of the arrays of a file, in its order.
std::vector<std::string> npz_names(const std::string& path);

// "FILE.npz:NAME", the path of one array, in its parts; `name` is empty for any other path.
struct npz_path {
  std::string file, name;
};
npz_path split_npz_path(const std::string& path);

// The bytes of its .npy file.
std::vector<std::byte> read_npz_member(const npz_path& path);

}  // namespace warpcheck::engine

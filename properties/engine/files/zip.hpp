// ZIP files (APPNOTE 6.3.3) whose members are stored or deflated, as NumPy and PyTorch write them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace warpcheck::engine {

struct zip_member {
  std::string name;
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::vector<std::byte>> inflated;  // holds `bytes` if the member is deflated
};

// The members of an archive that is held in memory, which outlives them. Throws usage_error that names the file; `name`
// stands for it in messages.
std::vector<zip_member> parse_zip(std::span<const std::byte> file, const std::string& name);

// The bytes of a file of at most 4 GiB. Throws usage_error.
std::vector<std::byte> read_archive(const std::string& path);

// "FILE.npz:NAME" or "FILE.pt:NAME", the path of one array, in its parts; `name` is empty for any other path.
struct archive_path {
  std::string file, name;
};
archive_path split_archive_path(const std::string& path);

}  // namespace warpcheck::engine

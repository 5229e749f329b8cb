// The emulated device takes any address of the process. Almost all of an array is the same few pages over and over,
// which hold the background of an input and take what is written to an output; around the listed places lie pages of
// their own. So an array costs its page table, and an element nobody looks at can be written to the wrong place without
// being noticed.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "properties/engine/files/memory_file.hpp"
#include "simt/emulation.hpp"
#include "tests/long_rows/long_device.hpp"

namespace warpcheck::self {
namespace {

constexpr size_t k_block = size_t{16} << 20;  // bytes that lie everywhere
constexpr size_t k_around = size_t{1} << 16;  // bytes of their own on both sides of a place
constexpr size_t k_page = 4096;

size_t rounded_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

void fill(char* begin, size_t bytes, size_t size, uint64_t value) {
  for (size_t at = 0; at < bytes; at += size) std::memcpy(begin + at, &value, size);
}

class repeated_array : public long_array {
 public:
  repeated_array(size_t size, int64_t count, int64_t offset, uint64_t background, const std::vector<int64_t>& places)
      : size_(size), count_(count), first_(static_cast<size_t>(offset) * size) {
    const size_t bytes = rounded_up(first_ + static_cast<size_t>(count) * size, k_block);
    // Whoever leaves the array meets a page without access.
    bytes_ = bytes + 2 * k_page;
    base_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    require(base_ != MAP_FAILED, "addresses for a long array");
    begin_ = base_ + k_page;
    const engine::memory_file file("long_array");
    file.resize(k_block);
    for (size_t at = 0; at < bytes; at += k_block) map(begin_ + at, k_block, MAP_SHARED, file.descriptor());
    fill(begin_, k_block, size, background);

    const size_t end = first_ + static_cast<size_t>(count) * size;
    for (const int64_t place : places) {
      const size_t at = first_ + static_cast<size_t>(place) * size;
      const size_t from = (at - std::min(at, k_around)) / k_page * k_page;
      const size_t to = std::min(rounded_up(at + k_around, k_page), rounded_up(end, k_page));
      if (!windows_.empty() && from <= windows_.back().second)
        windows_.back().second = std::max(windows_.back().second, to);
      else
        windows_.emplace_back(from, to);
    }
    for (const auto& [from, to] : windows_) {
      map(begin_ + from, to - from, MAP_PRIVATE | MAP_ANONYMOUS, -1);
      fill(begin_ + from, to - from, size, background);
    }
  }
  ~repeated_array() override { munmap(base_, bytes_); }

  void* data() const override { return begin_ + first_; }
  void visit(const std::function<void(int64_t, int64_t, const char*)>& visit) const override {
    for (const auto& [from, to] : windows_) {
      const size_t begin = std::max(from, first_);
      const size_t end = std::min(to, first_ + static_cast<size_t>(count_) * size_);
      visit(static_cast<int64_t>((begin - first_) / size_), static_cast<int64_t>((end - begin) / size_),
            begin_ + begin);
    }
  }
  void put(int64_t i, uint64_t value) {
    std::memcpy(static_cast<char*>(data()) + static_cast<size_t>(i) * size_, &value, size_);
  }
  // An input is only read.
  void protect() { require(mprotect(begin_, bytes_ - 2 * k_page, PROT_READ) == 0, "protection of a long array"); }

 private:
  static void map(char* at, size_t bytes, int flags, int file) {
    require(mmap(at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) != MAP_FAILED, "a long array");
  }

  size_t size_;
  int64_t count_;
  size_t first_;  // bytes before the first element
  char* base_ = nullptr;
  size_t bytes_ = 0;
  char* begin_ = nullptr;
  std::vector<std::pair<size_t, size_t>> windows_;  // bytes from begin_ that have pages of their own, ascending
};

}  // namespace

std::unique_ptr<long_array> make_input(size_t size, int64_t count, int64_t offset, uint64_t background,
                                       const elements& listed) {
  std::vector<int64_t> places;
  for (const auto& [i, value] : listed) places.push_back(i);
  auto array = std::make_unique<repeated_array>(size, count, offset, background, places);
  for (const auto& [i, value] : listed) array->put(i, value);
  array->protect();
  return array;
}

std::unique_ptr<long_array> make_output(size_t size, int64_t count, const std::vector<int64_t>& places) {
  return std::make_unique<repeated_array>(size, count, 0, ~uint64_t{0}, places);
}

// One block at a time, whose threads' stacks stay in the cache. A loop without end among threads that wait for each
// other still ends, after a quarter of an hour.
void prepare(void* stream) {
  auto& emulation = *static_cast<simt::emulation*>(stream);
  emulation.resident_blocks = 1;
  emulation.step_limit = 20'000'000'000;
}

}  // namespace warpcheck::self

// Device memory for buffers of which only few places are used, such as rows that lie 2^31 elements apart: addresses for
// all of it, memory for what is touched. An access to the rest is a fault of the kernel that makes it.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace warpcheck {

// The driver's functions by name, so that nothing has to be linked with the driver.
template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess)
    throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

// One range of addresses.
class sparse_memory {
 public:
  explicit sparse_memory(size_t bytes) : bytes_((bytes + granule() - 1) / granule() * granule()) {
    static const auto reserve = driver_function<decltype(&cuMemAddressReserve)>("cuMemAddressReserve");
    require(reserve(&begin_, bytes_, 0, 0, 0), "cuMemAddressReserve");
  }
  ~sparse_memory() {
    forget_all();
    static const auto free = driver_function<decltype(&cuMemAddressFree)>("cuMemAddressFree");
    free(begin_, bytes_);
  }
  sparse_memory(const sparse_memory&) = delete;
  sparse_memory& operator=(const sparse_memory&) = delete;

  char* begin() const { return reinterpret_cast<char*>(begin_); }
  size_t bytes() const { return bytes_; }
  size_t mapped() const { return mapped_; }
  bool contains(const void* p) const { return p >= begin() && static_cast<const char*>(p) < begin() + bytes_; }

  // Gives the `count` bytes at p memory, where they have none: bytes of `fill`.
  void touch(const void* p, size_t count, int fill) {
    if (count == 0) return;
    const size_t from = static_cast<size_t>(static_cast<const char*>(p) - begin());
    const size_t last = (from + count - 1) / granule();
    for (size_t g = from / granule(); g <= last;) {
      const auto after = parts_.upper_bound(g);
      if (after != parts_.begin() && g < std::prev(after)->second.end) {
        g = std::prev(after)->second.end;
        continue;
      }
      const size_t end = after == parts_.end() ? last + 1 : std::min(after->first, last + 1);
      map(g, end, fill);
      g = end;
    }
  }

  // Takes all memory back.
  void forget_all() {
    static const auto unmap = driver_function<decltype(&cuMemUnmap)>("cuMemUnmap");
    static const auto release = driver_function<decltype(&cuMemRelease)>("cuMemRelease");
    for (const auto& [first, part] : parts_) {
      unmap(begin_ + first * granule(), (part.end - first) * granule());
      release(part.memory);
    }
    parts_.clear();
    mapped_ = 0;
  }

 private:
  struct part {
    size_t end;  // the granule behind it
    CUmemGenericAllocationHandle memory;
  };

  static void require(CUresult status, const char* what) {
    if (status == CUDA_SUCCESS) return;
    static const auto name_of = driver_function<decltype(&cuGetErrorName)>("cuGetErrorName");
    const char* name = nullptr;
    name_of(status, &name);
    throw std::runtime_error(std::string(what) + ": " + (name == nullptr ? "unknown error" : name));
  }
  static CUmemAllocationProp properties() {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) throw std::runtime_error("cudaGetDevice");
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    return p;
  }
  static size_t granule() {
    static const size_t bytes = [] {
      const CUmemAllocationProp p = properties();
      size_t found = 0;
      require(driver_function<decltype(&cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity")(
                  &found, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              "cuMemGetAllocationGranularity");
      return found;
    }();
    return bytes;
  }

  void map(size_t first, size_t end, int fill) {
    static const auto create = driver_function<decltype(&cuMemCreate)>("cuMemCreate");
    static const auto map_at = driver_function<decltype(&cuMemMap)>("cuMemMap");
    static const auto allow = driver_function<decltype(&cuMemSetAccess)>("cuMemSetAccess");
    static const auto release = driver_function<decltype(&cuMemRelease)>("cuMemRelease");
    const size_t count = (end - first) * granule();
    const CUmemAllocationProp p = properties();
    CUmemGenericAllocationHandle memory = 0;
    require(create(&memory, count, &p, 0), "cuMemCreate");
    if (const CUresult status = map_at(begin_ + first * granule(), count, 0, memory, 0); status != CUDA_SUCCESS) {
      release(memory);
      require(status, "cuMemMap");
    }
    parts_[first] = {end, memory};
    mapped_ += count;
    const CUmemAccessDesc access = {p.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    require(allow(begin_ + first * granule(), count, &access, 1), "cuMemSetAccess");
    if (const cudaError_t status = cudaMemset(begin() + first * granule(), fill, count); status != cudaSuccess)
      throw std::runtime_error(std::string("cudaMemset: ") + cudaGetErrorString(status));
  }

  CUdeviceptr begin_ = 0;
  size_t bytes_;
  size_t mapped_ = 0;
  std::map<size_t, part> parts_;  // by its first granule
};

// Ranges that are in use, and those that wait for the next buffer of their size, with the memory of the last one's
// rows: cases of rows far apart follow each other with rows at the same places.
class sparse_pool {
 public:
  // A range of at least `bytes` bytes.
  sparse_memory& take(size_t bytes) {
    const auto fits = [&](const auto& one) { return one->bytes() >= bytes && one->bytes() / 2 <= bytes; };
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), fits);
    if (found == waiting_.end()) {
      used_.push_back(std::make_unique<sparse_memory>(bytes));
    } else {
      used_.push_back(std::move(*found));
      waiting_.erase(found);
    }
    return *used_.back();
  }
  // The range in use that holds p, or null.
  sparse_memory* find(const void* p) const {
    for (const auto& one : used_)
      if (one->contains(p)) return one.get();
    return nullptr;
  }
  void give_back(const void* p) {
    const auto found = std::find_if(used_.begin(), used_.end(), [&](const auto& one) { return one->contains(p); });
    if ((*found)->mapped() > k_most_kept) (*found)->forget_all();
    if (waiting_.size() == k_most_waiting) waiting_.erase(waiting_.begin());
    waiting_.push_back(std::move(*found));
    used_.erase(found);
  }

 private:
  static constexpr size_t k_most_kept = size_t{64} << 20;  // bytes of a range that waits
  static constexpr size_t k_most_waiting = 8;
  std::vector<std::unique_ptr<sparse_memory>> used_, waiting_;
};

}  // namespace warpcheck

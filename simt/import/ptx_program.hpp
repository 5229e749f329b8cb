// The parts of a whole PTX module beside its instructions (command/translator/ptx_module.hpp): parameters, the
// functions of CUDA's device library, and main().
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simt/import/modules.hpp"
#include "simt/import/ptx.hpp"

namespace simt::import::ptx {

// All parameters of a kernel, at PTX's offsets. 64: the alignment of a tensor map.
template <size_t Bytes>
struct alignas(64) parameters {
  unsigned char bytes[Bytes];
};

template <class T>
T value_at(uintptr_t place) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(place), sizeof value);
  return value;
}

// Prints as printf does, with arguments that lie one behind another, each at a multiple of its size. Returns how many
// characters. Nothing here allocates: it runs in a kernel.
inline int print(const char* format, uintptr_t arguments) {
  int printed = 0;
  const auto next = [&](auto kind) {
    using T = decltype(kind);
    arguments = (arguments + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T);
    return value_at<T>(arguments - sizeof(T));
  };
  while (*format != '\0') {
    char one[32] = "";
    size_t length = 0;
    do {
      one[length++] = *format++;
    } while (one[0] == '%' && length + 1 < sizeof one && *format != '\0' &&
             (length == 1 || strchr("-+ #0123456789.lhzjt", one[length - 1]) != nullptr));
    const char kind = one[length - 1];
    if (one[0] != '%' || length == 1 || kind == '%')
      printed += printf("%c", kind);
    else if (strchr("eEfFgGaA", kind) != nullptr)
      printed += printf(one, next(double{}));
    else if (kind == 's' || kind == 'p')
      printed += printf(one, reinterpret_cast<const char*>(next(uintptr_t{})));
    else if (strpbrk(one, "lzjt") != nullptr)
      printed += printf(one, next(uint64_t{}));
    else
      printed += printf(one, next(uint32_t{}));
  }
  return printed;
}

// Functions of the device library: where the bytes of each result and parameter lie.
namespace library {

inline void vprintf(const uintptr_t* results, const uintptr_t* arguments) {
  const int count =
      print(reinterpret_cast<const char*>(value_at<uintptr_t>(arguments[0])), value_at<uintptr_t>(arguments[1]));
  __builtin_memcpy(reinterpret_cast<void*>(results[0]), &count, sizeof count);
}
inline void __assertfail(const uintptr_t*, const uintptr_t* arguments) {
  const auto text = [&](int k) { return reinterpret_cast<const char*>(value_at<uintptr_t>(arguments[k])); };
  fprintf(stderr, "%s:%u: %s: assertion '%s' failed\n", text(1), value_at<unsigned>(arguments[2]), text(3), text(0));
  __trap();
}

}  // namespace library

// ---- a module that a program loads

template <size_t Bytes>
module_kernel module_kernel_of(const char* name, void (*kernel)(ptx::parameters<Bytes>),
                               const std::vector<module_parameter>& list, const std::array<unsigned, 3>& required_block,
                               const std::array<unsigned, 3>& largest_block) {
  const auto work = [=](const launch_config& c, void** arguments, const site& where) {
    ptx::parameters<Bytes> all = {};
    for (size_t k = 0; k < list.size(); ++k) memcpy(all.bytes + list[k].offset, arguments[k], list[k].bytes);
    void* one[] = {&all};
    return work_of(kernel, c, one, where);
  };
  return {name, reinterpret_cast<const void*>(kernel), work, list, required_block, largest_block};
}

// ---- the launches of a command line (command/ptx_launches.hpp), after it was checked

struct kernel {
  const char* name;
  void (*launch)(dim3 grid, dim3 block, int shared, const void* parameters);
};

class launches {
 public:
  launches(const kernel* kernels, char** words) : kernels_(kernels), words_(words) {}

  void run() {
    while (*words_ != nullptr) {
      const std::string what = next();
      if (what == "array") array();
      if (what == "launch") launch();
      if (what == "write") write();
    }
    for (const auto& [name, b] : arrays_) cudaFree(b.data);
  }

 private:
  std::string next() { return *words_++; }
  unsigned number() { return static_cast<unsigned>(std::stoul(next())); }
  dim3 shape() {
    const unsigned x = number(), y = number(), z = number();
    return dim3(x, y, z);
  }

  // array NAME BYTES FILE; without a file, and where the file has holes, nobody has written it
  void array() {
    buffer& b = arrays_[next()];
    b.bytes = std::stoull(next());
    const std::string path = next();
    // A report names the array by its place among these options.
    cudaMalloc(&b.data, b.bytes, {"--array", static_cast<unsigned>(arrays_.size())});
    b.written = {{0, b.bytes}};
    if (path.empty()) return;
    b.written.clear();
    const int file = open(path.c_str(), O_RDONLY);
    if (file < 0) std::abort();
    std::vector<char> content;
    for (off_t begin = 0, end = 0; (begin = lseek(file, end, SEEK_DATA)) >= 0;) {
      end = lseek(file, begin, SEEK_HOLE);
      content.resize(static_cast<size_t>(end - begin));
      all_of(content, begin, [&](char* to, size_t bytes, off_t at) { return pread(file, to, bytes, at); });
      cudaMemcpy(static_cast<char*>(b.data) + begin, content.data(), content.size(), cudaMemcpyHostToDevice);
      b.written.push_back({static_cast<size_t>(begin), content.size()});
    }
    close(file);
  }

  template <class Move>
  static void all_of(std::vector<char>& content, off_t at, Move move) {
    for (size_t done = 0; done < content.size();) {
      const ssize_t moved = move(content.data() + done, content.size() - done, at + static_cast<off_t>(done));
      if (moved <= 0) std::abort();
      done += static_cast<size_t>(moved);
    }
  }

  // launch KERNEL GRID BLOCK SHARED BYTES then pairs of an offset and @NAME+BYTES or hexadecimal bytes, then "end"
  void launch() {
    const std::string name = next();
    const dim3 grid = shape(), block = shape();
    const auto shared = static_cast<int>(number());
    std::vector<unsigned char> bytes(number() + 1);
    for (std::string offset = next(); offset != "end"; offset = next()) {
      unsigned char* const to = bytes.data() + std::stoul(offset);
      const std::string value = next();
      if (value[0] == '@') {
        const size_t plus = value.find('+');
        const char* const address =
            static_cast<const char*>(arrays_[value.substr(1, plus - 1)].data) + std::stoull(value.substr(plus + 1));
        memcpy(to, &address, sizeof address);
        continue;
      }
      for (size_t k = 0; 2 * k < value.size(); ++k)
        to[k] = static_cast<unsigned char>(std::stoul(value.substr(2 * k, 2), nullptr, 16));
    }
    for (const kernel* k = kernels_; k->name != nullptr; ++k)
      if (name == k->name) k->launch(grid, block, shared, bytes.data());
    cudaDeviceSynchronize();
  }

  // write NAME FILE; a file with contents is that of an earlier run
  void write() {
    const buffer& b = arrays_[next()];
    const int file = open(next().c_str(), O_RDWR | O_CREAT, 0666);
    if (file < 0) std::abort();
    std::vector<char> content;
    if (lseek(file, 0, SEEK_END) == 0)
      for (const auto& [begin, bytes] : b.written) {
        content.resize(bytes);
        cudaMemcpy(content.data(), static_cast<const char*>(b.data) + begin, bytes, cudaMemcpyDeviceToHost);
        all_of(content, static_cast<off_t>(begin),
               [&](const char* from, size_t count, off_t at) { return pwrite(file, from, count, at); });
      }
    close(file);
  }

  struct buffer {
    void* data = nullptr;
    size_t bytes = 0;
    std::vector<std::pair<size_t, size_t>> written;  // by the host: from which byte on, how many
  };
  const kernel* kernels_;
  char** words_;
  std::map<std::string, buffer> arrays_;
};

inline int run_launches(const kernel* kernels, int, char** argv) {
  launches(kernels, argv + 1).run();
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

}  // namespace simt::import::ptx

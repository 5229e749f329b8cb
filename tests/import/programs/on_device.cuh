// What programs that judge their results on the host share.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

// Elements on the device: the host's, or as many as are asked for, all of them 0 bits.
template <class T>
class on_device {
 public:
  explicit on_device(const std::vector<T>& host) : on_device(host.size()) {
    cudaMemcpy(p, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  explicit on_device(size_t size) : size_(size) {
    cudaMalloc(&p, size * sizeof(T));
    cudaMemset(p, 0, size * sizeof(T));
  }
  ~on_device() { cudaFree(p); }
  on_device(const on_device&) = delete;
  std::vector<T> host() const {
    std::vector<T> h(size_);
    cudaMemcpy(h.data(), p, size_ * sizeof(T), cudaMemcpyDeviceToHost);
    return h;
  }

  T* p = nullptr;

 private:
  size_t size_;
};

// As many elements, all bytes alike, which nobody frees.
template <class T>
T* device_array(size_t size, int byte = 0) {
  T* p = nullptr;
  cudaMalloc(&p, size * sizeof(T));
  cudaMemset(p, byte, size * sizeof(T));
  return p;
}

// A case of a program; of all of them the first argument names one.
struct mode {
  const char* name;
  bool (*is_right)();
};
// Judges the mode that the first argument names, or all of them, and returns how many are wrong; 3 if there is none.
template <class Modes, class IsRight>
int run_modes(int argc, char** argv, const Modes& modes, IsRight is_right) {
  int wrong = 0, judged = 0;
  for (const auto& m : modes) {
    if (argc > 1 && std::strcmp(argv[1], m.name) != 0) continue;
    ++judged;
    if (!is_right(m)) std::printf("%s is wrong\n", m.name), ++wrong;
  }
  return judged == 0 ? 3 : wrong;
}
template <class Modes>
int run_modes(int argc, char** argv, const Modes& modes) {
  return run_modes(argc, argv, modes, [](const mode& m) { return m.is_right(); });
}

struct kernel_mode {
  const char* name;
  void (*kernel)(const float*, float*);
  float behind = 0;  // of all results
};
// The same of kernels that take 0, 1, 2, ... and whose threads give 1 where they are right.
template <class Modes>
int run_kernels(int argc, char** argv, const Modes& modes, int threads, int values) {
  return run_modes(argc, argv, modes, [&](const kernel_mode& m) {
    std::vector<float> numbers(values), right(threads, 1);
    for (int i = 0; i < values; ++i) numbers[i] = static_cast<float>(i);
    right.push_back(m.behind);
    const on_device<float> x(numbers), y(values);
    m.kernel<<<1, threads>>>(x.p, y.p);
    const std::vector<float> got = y.host();
    return std::equal(right.begin(), right.end(), got.begin());
  });
}

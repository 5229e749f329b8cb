// Host side of certificate_kernels.cu on the emulated device.
#pragma once

#include <vector>

#include "simt/emulation.hpp"

namespace warpcheck::self {

struct certificate_trial {
  const char* name;
  // A part of the choice that denies the certificate, or "": the launch has one.
  const char* choice;
  // Launches the kernel over zeroed `out`, k_certificate_words of device memory.
  void (*run)(int* out, simt::emulation* stream);
};

inline constexpr int k_certificate_words = 1024;

std::vector<certificate_trial> certificate_trials();
std::vector<certificate_trial> asking_trials();  // kernels that ask for a phase

}  // namespace warpcheck::self

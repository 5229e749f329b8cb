// Runs of trials that are one launch, whose outputs are known one by one.
#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include "tests/simt/device_array.hpp"
#include "tests/simt/trial.hpp"

namespace warpcheck::self {

using stream = simt::emulation*;

inline int identity(int i) { return i; }

// f(0), f(1), ...
template <class T, class F>
std::vector<T> made(int n, F f) {
  std::vector<T> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<T>(f(i)));
  return values;
}

// What a kernel gets for an input: a vector's place in device memory, anything else as it is.
template <class T>
device_array<T> on_device(const std::vector<T>& values) {
  return device_array<T>(values);
}
template <class T>
T on_device(T value) {
  return value;
}

// Launches kernel(inputs..., out), where `out` has so many zeros, and expects out[i] == expected(i), or == expected.
template <class... Parameters, class Expected, class... Inputs>
auto launched(simt::launch_config config, void (*kernel)(Parameters...), int outputs, Expected expected,
              Inputs... inputs) {
  return [=](stream s) mutable {
    using output = std::remove_pointer_t<std::tuple_element_t<sizeof...(Inputs), std::tuple<Parameters...>>>;
    device_array<output> out(static_cast<size_t>(outputs));
    config.stream = s;
    simt::launch(config, kernel, on_device(inputs)..., out.data());
    for (int i = 0; i < outputs; ++i) {
      if constexpr (std::is_invocable_v<Expected, int>) {
        if (out[static_cast<size_t>(i)] != static_cast<output>(expected(i))) return false;
      } else {
        if (out[static_cast<size_t>(i)] != static_cast<output>(expected)) return false;
      }
    }
    return true;
  };
}

// A kernel with its bug, and without.
template <class Kernel, class... Rest>
trial twins(const char* name, const char* verdict, simt::launch_config config, Kernel* bug, Kernel* correct,
            int outputs, Rest... rest) {
  return {name, verdict, launched(config, bug, outputs, rest...), launched(config, correct, outputs, rest...)};
}

}  // namespace warpcheck::self

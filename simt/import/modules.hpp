// Kernels and variables of modules that a program loads at run time, by the driver API from PTX or from a source that
// NVRTC compiles. The modules are part of the program's library: a run that needs others records their texts and ends,
// and the command compiles the program with them (command/run_emulated.cpp).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "simt/import/launch_functions.hpp"

namespace simt::import {

struct module_parameter {
  size_t offset, bytes;
};
struct module_kernel {
  std::string name;     // as in the source, with its namespaces and template arguments
  const void* address;  // of its function
  kernel_by_address work;
  std::vector<module_parameter> parameters;
  std::array<unsigned, 3> required_block = {}, largest_block = {};  // zeros: not given
};
struct module_variable {
  std::string name;
  void* address;
  const void* initial;
  size_t bytes;
};
struct device_module {
  std::string key;  // of its text
  std::vector<module_kernel> kernels;
  std::vector<module_variable> variables;
  int loads = 0, live = 0;
};

// The source of a module has one of these.
struct module_registration {
  explicit module_registration(device_module m);
};

template <class... Parameters>
module_kernel kernel_of_module(const char* name, void (*kernel)(Parameters...)) {
  std::vector<module_parameter> list;
  size_t offset = 0;
  [[maybe_unused]] const auto add = [&](size_t bytes, size_t align) {
    offset = (offset + align - 1) / align * align;
    list.push_back({offset, bytes});
    offset += bytes;
  };
  (add(sizeof(std::decay_t<Parameters>), alignof(std::decay_t<Parameters>)), ...);
  return {
      name, reinterpret_cast<const void*>(kernel),
      [=](const launch_config& c, void** arguments, const site& where) { return work_of(kernel, c, arguments, where); },
      list};
}
template <class T>
module_variable variable_of_module(const char* name, T& variable, const std::remove_cv_t<T>& initial) {
  return {name, const_cast<void*>(address_of(&variable)), &initial, sizeof(T)};
}

// A text that a module is made of. The fields of a PTX text are its key, its name in reports and itself.
class module_text {
 public:
  module_text(char kind, const std::string& name, const std::string& text);
  // o: option, h and i: name and text of a header, e: expression that names a kernel
  void add(char kind, const std::string& value);
  const std::string& key() const { return key_; }
  // Reports the text to the command, unless the program's library contains its module.
  void record() const;

 private:
  std::string fields_, key_;
};

// Returns the module of this key, or nullptr if the program's library does not contain it.
device_module* find_module(const std::string& key);
// Returns the module. If the program's library does not contain it, the run ends here; the command starts a new one.
device_module& needed_module(const std::string& key);

// "saxpy.cu.33.ptx": the text of a module that a call at line 33 of saxpy.cu loads.
std::string name_of_text(const site& where, const char* ending);

}  // namespace simt::import

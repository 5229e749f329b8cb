#include "simt/import/modules.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>

namespace simt::import {
namespace {

// Filled by static objects of the modules' sources. A deque: pointers into it stay valid.
std::deque<device_module>& built_modules() {
  static auto& all = *new std::deque<device_module>;
  return all;
}

// FNV-1a, 64 bits.
std::string hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

constexpr char k_separator = '\x1f';  // "unit separator" of ASCII

}  // namespace

module_registration::module_registration(device_module m) { built_modules().push_back(std::move(m)); }

module_text::module_text(char kind, const std::string& name, const std::string& text) {
  add(kind, text);
  add('n', name);
}

void module_text::add(char kind, const std::string& value) {
  fields_ += k_separator;
  fields_ += kind;
  fields_ += value;
  key_ = hash_of(fields_);
}

void module_text::record() const {
  if (find_module(key_) == nullptr) report("module", (fields_ + k_separator + 'k' + key_).c_str(), false);
}

device_module* find_module(const std::string& key) {
  for (device_module& m : built_modules())
    if (m.key == key) return &m;
  return nullptr;
}

device_module& needed_module(const std::string& key) {
  if (device_module* const m = find_module(key)) return *m;
  report("module needed", key, true);
  std::abort();
}

std::string name_of_text(const site& where, const char* ending) {
  const std::string file = where.file;
  return file.substr(file.rfind('/') + 1) + "." + std::to_string(where.line) + ending;
}

}  // namespace simt::import

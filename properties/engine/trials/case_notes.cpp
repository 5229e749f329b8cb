#include "properties/engine/trials/case_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace warpcheck::engine {
namespace {

constexpr std::string_view k_note_prefix = "note:";
thread_local case_notes* collecting = nullptr;

}  // namespace

case_notes::case_notes() : before_(std::exchange(collecting, this)) {}
case_notes::~case_notes() { collecting = before_; }

void case_notes::add(const std::string& name, double number) {
  if (!collecting) return;
  double& noted = collecting->notes_.emplace(name, number).first->second;
  noted = std::max(noted, number);
}

std::vector<std::string> case_notes::as_classes() const {
  std::vector<std::string> classes;
  for (const auto& [name, number] : notes_) classes.push_back(fmt::format("{}{}={}", k_note_prefix, name, number));
  return classes;
}

std::optional<std::pair<std::string, double>> note_of_class(std::string_view name) {
  const size_t equals = name.rfind('=');
  if (!name.starts_with(k_note_prefix) || equals == std::string_view::npos) return std::nullopt;
  const std::string number(name.substr(equals + 1));
  return std::pair(std::string(name.substr(k_note_prefix.size(), equals - k_note_prefix.size())),
                   std::strtod(number.c_str(), nullptr));
}

}  // namespace warpcheck::engine

// Named numbers that a property notes about the case that this thread runs. A report contains them among its classes;
// the totals of a job contain their sums and maxima.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpcheck::engine {

// Collects the notes of this thread while it lives.
class case_notes {
 public:
  case_notes();
  ~case_notes();
  case_notes(const case_notes&) = delete;
  case_notes& operator=(const case_notes&) = delete;

  // Adds a note if this thread collects notes. If a name is noted twice, the larger number counts.
  static void add(const std::string& name, double number);
  // As classes of a report: "note:NAME=NUMBER".
  std::vector<std::string> as_classes() const;

 private:
  std::map<std::string, double> notes_;
  case_notes* before_;
};

// Returns the note that a class of a report represents, if it represents one.
std::optional<std::pair<std::string, double>> note_of_class(std::string_view name);

}  // namespace warpcheck::engine

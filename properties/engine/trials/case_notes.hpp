// Numbers that a property notes of the case that this thread runs, by name. The report carries them among its classes,
// and the sum of a job's reports has their sums and greatest values.
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

  // Adds to the notes that this thread collects, if it does. Of a name that is noted twice the greater number counts.
  static void add(const std::string& name, double number);
  // As classes of a report: "note:NAME=NUMBER".
  std::vector<std::string> as_classes() const;

 private:
  std::map<std::string, double> notes_;
  case_notes* before_;
};

// The note that a class of a report is, if it is one.
std::optional<std::pair<std::string, double>> note_of_class(std::string_view name);

}  // namespace warpcheck::engine

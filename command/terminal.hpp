// Additions to the output for a terminal: colours, and a line of progress.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace warpcheck::cli {

// --color: `always`, `never`, or `auto`: colours if standard output is a terminal that is not dumb, and the variable
// NO_COLOR is unset or empty. A null pointer stands for an unset variable.
bool wants_color(std::string_view when, bool is_terminal, const char* term, const char* no_color);
// Decides for the rest of this process.
void use_color(std::string_view when);

// The text in green, or in bold red; the text itself without colours.
std::string in_green(std::string_view text);
std::string in_red(std::string_view text);
// A verdict in colour: green for pass, red for a failure, plain for a case that did not run.
std::string colored_verdict(std::string_view verdict);
// A report of a failure with its first words, up to the verdict, in red.
std::string colored_failure(std::string_view report);

// A line on standard error that names what the command waits for. It appears after two seconds, counts the seconds, and
// is removed with the object. If standard error is no terminal, nothing is printed, or lines after log_progress(). Only
// one object is shown at a time; another one that is made meanwhile stays hidden.
class progress_line {
 public:
  explicit progress_line(std::string text);
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  // Shows another text from now on.
  void say(std::string text);

 private:
  void show();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool is_over_ = false;
  std::thread thread_;
};

// For the rest of this process: where standard error is no terminal, a progress_line prints a line after 10 seconds and
// after each minute.
void log_progress();

// Erases the line of a progress_line before other text is printed; it appears again within a second.
void erase_progress_line();

}  // namespace warpcheck::cli

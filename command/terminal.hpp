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
// A verdict in the colour of its worth: green for pass, red for what is a failure, plain for what was not run.
std::string colored_verdict(std::string_view verdict);
// A report of a failure whose first words, up to the verdict, are red.
std::string colored_failure(std::string_view report);

// A line on standard error that names what the command waits for. It appears after two seconds, counts the seconds, and
// is gone with the object. If standard error is no terminal, nothing is printed. One object is shown at a time: another
// that is made meanwhile waits in silence.
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

// Erases the line that a progress_line shows, before other text; it comes back within a second.
void erase_progress_line();

}  // namespace warpcheck::cli

// The journal of a run: a record before and after each case, so that a killed run loses only the cases in flight.
//
// One text file per worker, append-only, one record per line, each written by one write(2) without fsync: it survives
// the death of every process, not a power loss. First line: `warpcheck-journal 1 FINGERPRINT`. Then
//   S JOB INDEX CASE-LINE            before the case is launched
//   F JOB INDEX MICROSECONDS REPORT  after it; REPORT is to_json with an empty "case" where it is that of the S record
//   D JOB INDEX MICROSECONDS REPORT  it ended with its device, which others used too: it is to be run again, alone
// JOB and INDEX are decimal positions in the run's list of jobs. A last line without its newline was torn by a kill and
// is ignored; any other line that is not of this form is a usage_error with file and line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "properties/engine/error.hpp"
#include "properties/engine/trials/verdict.hpp"

namespace warpcheck::engine {

// The journal cannot be written or read: disk full, permissions.
struct journal_error : environment_error {
  using environment_error::environment_error;
};

struct journal_record {
  enum kind_type { started, finished, suspected };
  kind_type kind = started;
  int64_t job = 0;
  int64_t index = 0;
  std::string text;    // started: the case line
  case_report report;  // finished, suspected
  double seconds = 0;  // finished, suspected: how long the case took
};

class journal_writer {
 public:
  journal_writer() = default;
  // Opens `path` for appending and creates it if it is missing. Removes a torn last line, and writes the first line if
  // there is none. Every function of this class throws journal_error if the file cannot be written.
  journal_writer(std::string path, std::string_view fingerprint);
  journal_writer(journal_writer&& other) noexcept { *this = std::move(other); }
  journal_writer& operator=(journal_writer&& other) noexcept;
  ~journal_writer();

  void start(int64_t job, int64_t index, std::string_view line);
  // `line`: the text given to start.
  void finish(int64_t job, int64_t index, double seconds, const case_report& report, std::string_view line);
  void suspect(int64_t job, int64_t index, double seconds, const case_report& report, std::string_view line);

  // False if the descriptor no longer refers to the file, because the candidate closed or replaced it. reopen() repairs
  // that.
  bool intact() const;
  void reopen();
  void close();
  const std::string& path() const { return path_; }

 private:
  void append(std::string record);
  void end(char kind, int64_t job, int64_t index, double seconds, const case_report& report, std::string_view line);

  std::string path_;
  int fd_ = -1;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

// Reads a journal while it grows.
class journal_reader {
 public:
  journal_reader() = default;
  // Throws usage_error if the file is no journal, or has another version or the fingerprint of another run.
  journal_reader(std::string path, std::string fingerprint);

  // Calls `take` with every complete record that was not read yet. Throws usage_error at a line that is no record;
  // offset() is then the start of that line.
  void read(const std::function<void(journal_record&&)>& take);
  int64_t offset() const { return offset_; }

 private:
  journal_record parse(std::string_view line);

  std::string path_;
  std::string fingerprint_;
  int64_t offset_ = 0;
  int64_t line_ = 0;     // lines read
  std::string started_;  // of the last S record: its text ...
  int64_t job_ = -1;     // ... and its case, -1 when it has finished
  int64_t index_ = -1;
};

// Cuts the file back to `size` bytes. Throws journal_error.
void truncate_journal(const std::string& path, int64_t size);

}  // namespace warpcheck::engine

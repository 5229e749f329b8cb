#include "properties/engine/processes/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace warpcheck::engine {
namespace {

constexpr std::string_view k_first_word = "warpcheck-journal";
constexpr std::string_view k_journal_version = "1";

[[noreturn]] void cannot(std::string_view what, const std::string& path, int error) {
  throw journal_error(fmt::format("journal: cannot {} {}: {}", what, path, std::strerror(error)));
}

// The size of the file without a last line that has no newline.
int64_t whole_lines(int fd, int64_t size) {
  char buffer[4096];
  while (size > 0) {
    const int64_t begin = std::max<int64_t>(0, size - static_cast<int64_t>(sizeof buffer));
    const ssize_t n = pread(fd, buffer, static_cast<size_t>(size - begin), begin);
    if (n <= 0) return size;
    const std::string_view text(buffer, static_cast<size_t>(n));
    if (const size_t end = text.rfind('\n'); end != std::string_view::npos)
      return begin + static_cast<int64_t>(end) + 1;
    size = begin;
  }
  return 0;
}

// Records are lines: whatever a case line or a message holds, it stays one line.
std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return line;
}

// The next word of a line, which is cut off it.
std::string_view next_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

journal_writer::journal_writer(std::string path, std::string_view fingerprint) : path_(std::move(path)) {
  reopen();
  struct stat info = {};
  fstat(fd_, &info);
  const int64_t size = whole_lines(fd_, info.st_size);
  if (size != info.st_size) truncate_journal(path_, size);
  if (size == 0) append(fmt::format("{} {} {}\n", k_first_word, k_journal_version, fingerprint));
}

journal_writer& journal_writer::operator=(journal_writer&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

journal_writer::~journal_writer() { close(); }

void journal_writer::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void journal_writer::reopen() {
  fd_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) cannot("open", path_, errno);
  struct stat info = {};
  fstat(fd_, &info);
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

bool journal_writer::intact() const {
  struct stat info = {};
  return fstat(fd_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

void journal_writer::append(std::string record) {
  ssize_t n = 0;
  do {
    n = write(fd_, record.data(), record.size());
  } while (n < 0 && errno == EINTR);
  // A short write leaves a torn line, which readers ignore and the next writer cuts off.
  if (n != static_cast<ssize_t>(record.size())) cannot("write to", path_, n < 0 ? errno : ENOSPC);
}

void journal_writer::start(int64_t job, int64_t index, std::string_view line) {
  append(fmt::format("S {} {} {}\n", job, index, one_line(line)));
}

void journal_writer::finish(int64_t job, int64_t index, double seconds, const case_report& report,
                            std::string_view line) {
  end('F', job, index, seconds, report, line);
}

void journal_writer::suspect(int64_t job, int64_t index, double seconds, const case_report& report,
                             std::string_view line) {
  end('D', job, index, seconds, report, line);
}

void journal_writer::end(char kind, int64_t job, int64_t index, double seconds, const case_report& report,
                         std::string_view line) {
  const auto microseconds = static_cast<int64_t>(seconds * 1e6);
  if (report.line == line) {
    case_report brief = report;
    brief.line.clear();
    append(fmt::format("{} {} {} {} {}\n", kind, job, index, microseconds, to_json(brief)));
  } else {
    append(fmt::format("{} {} {} {} {}\n", kind, job, index, microseconds, to_json(report)));
  }
}

journal_reader::journal_reader(std::string path, std::string fingerprint)
    : path_(std::move(path)), fingerprint_(std::move(fingerprint)) {}

void journal_reader::read(const std::function<void(journal_record&&)>& take) {
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) cannot("read", path_, errno);
  const struct closer {
    int fd;
    ~closer() { ::close(fd); }
  } closing{fd};
  std::string buffer(1 << 16, '\0');
  for (size_t kept = 0;;) {
    const ssize_t n = pread(fd, buffer.data() + kept, buffer.size() - kept, offset_ + static_cast<int64_t>(kept));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) cannot("read", path_, errno);
    if (n == 0) return;
    const std::string_view text(buffer.data(), kept + static_cast<size_t>(n));
    size_t begin = 0;
    for (size_t end = 0; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
      const std::string_view line = text.substr(begin, end - begin);
      const bool is_header = line_ == 0;
      ++line_;
      try {
        journal_record record = parse(line);
        if (!is_header) take(std::move(record));
      } catch (...) {
        --line_;
        throw;
      }
      offset_ += static_cast<int64_t>(line.size()) + 1;
    }
    kept = text.size() - begin;
    std::memmove(buffer.data(), buffer.data() + begin, kept);
    if (kept == buffer.size()) buffer.resize(2 * buffer.size());
  }
}

journal_record journal_reader::parse(std::string_view line) {
  const auto reject = [&](std::string_view why) {
    return usage_error(fmt::format("journal {}:{}: {}", path_, line_, why));
  };
  if (line_ == 1) {
    if (next_word(line) != k_first_word) throw reject("the file does not begin like a journal of warpcheck");
    const std::string_view version = next_word(line);
    if (version != k_journal_version)
      throw reject(fmt::format("the version '{}' of the journal is not '{}'", version, k_journal_version));
    if (line != fingerprint_)
      throw reject(
          fmt::format("the journal is of a run with other options or other jobs (fingerprint {}, this run has {}); "
                      "resume with the options of that run, or choose another folder",
                      line, fingerprint_));
    return {};
  }
  const auto integer = [&](std::string_view name) {
    const std::string_view word = next_word(line);
    int64_t value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size() || value < 0)
      throw reject(fmt::format("the {} '{}' is not a number", name, word));
    return value;
  };
  journal_record record;
  const std::string_view kind = next_word(line);
  if (kind != "S" && kind != "F" && kind != "D") throw reject(fmt::format("'{}' is not a record (S, F, D)", kind));
  record.job = integer("job");
  record.index = integer("index");
  if (kind == "S") {
    record.kind = journal_record::started;
    record.text = line;
    started_ = line;
    job_ = record.job;
    index_ = record.index;
    return record;
  }
  if (record.job != job_ || record.index != index_)
    throw reject(fmt::format("case {} of job {} ends, but it was not the last to start", record.index, record.job));
  record.kind = kind == "F" ? journal_record::finished : journal_record::suspected;
  record.seconds = static_cast<double>(integer("time")) * 1e-6;
  try {
    record.report = report_from_json(line);
  } catch (const usage_error& e) {
    throw reject(e.what());
  }
  if (record.report.line.empty()) record.report.line = started_;
  job_ = index_ = -1;
  return record;
}

void truncate_journal(const std::string& path, int64_t size) {
  if (truncate(path.c_str(), size) != 0) cannot("shorten", path, errno);
}

}  // namespace warpcheck::engine

#include "properties/engine/processes/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>

#include "properties/engine/cases/recipe.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/processes/claims.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/processes/job_summary.hpp"
#include "properties/engine/processes/journal.hpp"
#include "properties/engine/processes/run_folder.hpp"
#include "properties/engine/processes/run_plan.hpp"

namespace warpcheck::engine {
namespace {

using steady = std::chrono::steady_clock;

constexpr int64_t k_most_attempts = 9;  // after the first, to draw a case in which there is something to judge
constexpr int k_exit_journal = 113;     // a worker could not write its journal; it has printed why

volatile sig_atomic_t g_signalled = 0;

// Notes SIGINT and SIGTERM while it lives.
class signal_watch {
 public:
  signal_watch() {
    g_signalled = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { g_signalled = 1; };
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;
  ~signal_watch() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }

 private:
  struct sigaction interrupt_ = {}, terminate_ = {};
};

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

size_t worker_count(const run_plan& plan, const supervise_options& options) {
  const int workers = options.workers > 0 ? options.workers : usable_cores();
  return static_cast<size_t>(std::clamp<int64_t>(plan.positions(), 1, workers));
}

class supervisor {
 public:
  supervisor(const std::vector<job>& jobs, const supervise_options& options)
      : options_(options),
        plan_(jobs, options),
        control_(plan_.jobs().size()),
        folder_(options.journal_folder, options.resume),
        fingerprint_(plan_.fingerprint(options)),
        summaries_(plan_.jobs().size()),
        done_(static_cast<size_t>(plan_.positions())),
        workers_(worker_count(plan_, options)),
        claims_(workers_.size()) {
    total_ = plan_.positions();
    first_left_ = plan_.first_positions() > 0 ? plan_.first_positions() : -1;
  }

  run_result_set run() {
    resume();
    const int64_t resumed = finished_;
    for (size_t w = 0; w < workers_.size(); ++w) start(w);
    run_result_set results;
    auto last_progress = begin_;
    for (int tick = 1; alive_ > 0; tick = std::min(2 * tick, 20)) {
      wait(tick);
      for (size_t w = 0; w < workers_.size(); ++w) attend(w);
      if (options_.on_progress && seconds_since(last_progress) > 0.2) {
        last_progress = steady::now();
        options_.on_progress(how_far(resumed));
      }
      if (first_left_ == 0) report_first_cases();
      results.interrupted = g_signalled != 0;
      results.out_of_time = options_.time_budget_seconds > 0 && seconds_since(begin_) > options_.time_budget_seconds;
      results.failed_fast = options_.fail_fast && failures() > 0;
      if (alive_ > 0 && (results.interrupted || results.out_of_time || results.failed_fast)) {
        stop();
        break;
      }
    }
    if (results.interrupted) results.out_of_time = false;
    if (options_.on_progress) options_.on_progress(how_far(resumed));
    results.jobs = sum_up();
    results.seconds = seconds_since(begin_);
    return results;
  }

 private:
  struct worker {
    child_process process;
    journal_writer writer;  // used by the worker while it lives, then by the parent for the case that ended it
    journal_reader reader;
    size_t number = 0;
    int64_t in_flight = -1;   // position whose start is in the journal and whose end is not
    std::string line;         // of that case
    bool leaving = false;     // its last report is the last of the process, which exits by itself
    bool overdue = false;     // killed by the watchdog
    steady::time_point last;  // when the journal last grew
    double in_line = 0;       // seconds_in_line() then
  };

  // A case that ended together with a device that other workers used too.
  struct suspect {
    size_t worker;
    int64_t position;
    case_report report;  // the verdict if the case is to blame
  };

  // The failures that end a job; 0: no number does. With fail_fast the first failure ends the whole run, and a worker
  // that has more before it is stopped has not ended its job.
  int most_failures() const { return options_.fail_fast ? 0 : options_.max_failures_per_job; }

  // Reads what earlier processes of this run have finished.
  void resume() {
    for (const auto& [number, path] : folder_.journals()) {
      journal_reader reader(path, fingerprint_);
      reader.read([&, &file = path](journal_record&& r) {
        const int64_t position = plan_.position(r.job, r.index);
        if (position < 0)
          throw usage_error(fmt::format("journal {}: case {} of job {} is not of this run", file, r.index, r.job));
        if (r.kind != journal_record::finished) return;
        if (done_[static_cast<size_t>(position)])
          throw usage_error(fmt::format("journal {}: case {} of job {} occurs twice", file, r.index, r.job));
        take(position, r);
      });
      if (number < static_cast<int>(workers_.size())) workers_[static_cast<size_t>(number)].reader = std::move(reader);
    }
    for (size_t w = 0; w < workers_.size(); ++w) {
      workers_[w].number = w;
      if (workers_[w].reader.offset() == 0)
        workers_[w].reader = journal_reader(folder_.journal(static_cast<int>(w)), fingerprint_);
    }
  }

  bool wanted(int64_t position) const {
    const run_plan::item i = plan_.at(position);
    return !done_[static_cast<size_t>(position)] && i.index <= control_.last(i.job);
  }

  // Returns the first position from this one on that must run; plan_.positions() if there is none.
  int64_t wanted_from(int64_t position) const {
    while (position < plan_.positions() && !wanted(position)) ++position;
    return position;
  }

  // Returns the position that the worker has taken and not finished; -1: none.
  int64_t unfinished_of(const worker& w) const {
    const int64_t position = claims_.of(w.number);
    return position >= 0 && position < plan_.positions() && wanted(position) ? position : -1;
  }

  // Starts the worker if there is work left: a position that another worker left unfinished, or one that nobody has
  // taken.
  void start(size_t number) {
    while (!unfinished_.empty()) {
      const int64_t position = unfinished_.back();
      unfinished_.pop_back();
      if (wanted(position)) return launch(number, position);
    }
    if (wanted_from(claims_.next()) < plan_.positions()) return launch(number);
    if (alive_ > 0) return;
    // No worker is left, so a position that must still run was lost through the code on trial.
    const int64_t lost = wanted_from(0);
    if (lost == plan_.positions()) return;
    claims_.set_next(lost);
    launch(number);
  }

  // `position`: the first one for the worker; -1: one that it takes.
  void launch(size_t number, int64_t position = -1) {
    worker& w = workers_[number];
    claims_.give(number, position);
    w.writer = journal_writer(folder_.journal(static_cast<int>(number)), fingerprint_);
    w.in_flight = -1;
    w.leaving = w.overdue = false;
    w.last = steady::now();
    w.in_line = 0;
    w.process = child_process([&] { work(number); });
    ++alive_;
  }

  int64_t first_position(size_t number) {
    const int64_t given = claims_.of(number);
    return given >= 0 ? given : claims_.take(number);
  }

  // The life of a worker process.
  void work(size_t number) {
    control_.make_read_only();
    for (size_t other = 0; other < workers_.size(); ++other)
      if (other != number) workers_[other].writer.close();
    const pid_t self = getpid();
    worker& w = workers_[number];
    options_.at_start(w.number);
    try {
      for (int64_t position = first_position(number); position < plan_.positions(); position = claims_.take(number)) {
        if (!alone_ && control_.leave()) break;
        if (!wanted(position)) continue;
        const run_plan::item i = plan_.at(position);
        const auto begin = steady::now();
        std::string line;
        child_process::mark_output();
        case_report report = judge(w, i, line);
        if (getpid() != self) _exit(0);  // the code on trial has forked, and this is its child
        if (!w.writer.intact()) {
          report.result = verdict::crash;
          report.message = "it closed or replaced file descriptors that it did not open";
          w.writer.reopen();
        }
        if (alone_) {
          settle(report);
        } else if (options_.shared_device && may_be_the_device(report)) {
          w.writer.suspect(i.job, i.index, seconds_since(begin), report, line);
          _exit(0);
        }
        w.writer.finish(i.job, i.index, seconds_since(begin), report, line);
        if (alone_ || corrupts_process(report)) _exit(0);
      }
    } catch (const journal_error& e) {
      child_process::mark_output();
      std::fputs(e.what(), stderr);
      _exit(k_exit_journal);
    }
  }

  // Makes the case, whose line is then known, and runs it; draws another one if the property has nothing to judge in
  // it.
  case_report judge(worker& w, const run_plan::item& i, std::string& line) const {
    const job& j = plan_.jobs()[static_cast<size_t>(i.job)];
    const pid_t self = getpid();
    for (int64_t attempt = 0;; ++attempt) {
      trial_case c;
      line.clear();
      const auto make = [&](const trial_case&) {
        c = attempt == 0 ? j.make(i.index) : j.draw_again(i.index, attempt);
        line = format(c);
        return case_report{};
      };
      case_report report = run_judged(make, {}, "");
      w.writer.start(i.job, i.index, line);
      if (line.empty()) {
        if (report.result == verdict::crash) report.result = verdict::suite_error;
        report.message = "while the case was made: " + report.message;
        return report;
      }
      report = run_judged(options_.run, c, line);
      const bool is_over = !report.is_drawn_in_vain || !j.draw_again || attempt == k_most_attempts;
      if (is_over || getpid() != self || !w.writer.intact()) return report;
    }
  }

  // The report of a case that was judged alone. A failure that does not repeat is not dropped.
  void settle(case_report& report) const {
    if (!suspects_.empty() || explained_ || is_failure(report.result)) return;
    report = alone_->report;
    report.message += "; it did not fail alone, nor did what ran beside it";
  }

  // Waits until a worker ends, a signal comes or the time is over.
  void wait(int milliseconds) {
    std::vector<pollfd> ends;
    for (const worker& w : workers_)
      if (w.process.running()) ends.push_back({w.process.output(), 0, 0});
    // A worker that closed its output and lives on must not turn this into a busy loop.
    const auto begin = steady::now();
    const int ready = poll(ends.data(), ends.size(), milliseconds);
    if (ready > 0 && seconds_since(begin) < 0.0005) poll(nullptr, 0, 1);
  }

  void attend(size_t number) {
    worker& w = workers_[number];
    if (!w.process.running()) return;
    w.process.drain();
    const bool dead = w.process.reap();
    bool is_corrupt = !read_or_end(w);
    const auto last = w.last;
    if (!dead && !is_corrupt) {
      if (seconds_since(last) - (w.process.seconds_in_line() - w.in_line) <= limit(w)) return;
      w.overdue = true;
      w.process.kill_and_reap();
      is_corrupt = !read_or_end(w);
    }
    --alive_;
    // Otherwise the overdue case finished just before the end, and the next case of the worker was not overdue: that
    // case runs again.
    const bool to_blame = is_corrupt || w.last == last;
    if (to_blame)
      bury(w, is_corrupt);
    else if (alone_ && w.in_flight >= 0)
      suspects_.push_back(std::move(*alone_));
    alone_.reset();
    if (const int64_t position = unfinished_of(w); position >= 0) unfinished_.push_back(position);
    if (suspects_.empty() && !control_.leave())
      start(number);
    else if (alive_ == 0)
      judge_suspects();
  }

  // The time limit of the worker's current case; a case that is still being made has no elements yet.
  double limit(const worker& w) const {
    return time_limit(options_.timeout_seconds, w.in_flight < 0 ? "" : std::string_view(w.line));
  }

  void suspect_case(const worker& w, int64_t position, case_report report) {
    suspects_.push_back({w.number, position, std::move(report)});
    control_.set_leave(true);
  }

  // Runs the next suspect with no other worker; after the last one all workers continue.
  void judge_suspects() {
    while (!suspects_.empty()) {
      // The first one comes last, when it is known if another one explains the failure.
      alone_ = std::move(suspects_.back());
      suspects_.pop_back();
      if (wanted(alone_->position)) return launch(alone_->worker, alone_->position);
    }
    alone_.reset();
    explained_ = false;
    control_.set_leave(false);
    for (size_t w = 0; w < workers_.size(); ++w) start(w);
  }

  // Determines the verdict of a case from the end of its worker.
  void bury(worker& w, bool is_corrupt) {
    const std::string& output = w.process.last_output();
    if (!is_corrupt && WIFEXITED(w.process.status()) && WEXITSTATUS(w.process.status()) == k_exit_journal &&
        output.starts_with("journal: "))
      throw journal_error(output);
    const bool making = w.in_flight < 0;
    // Between two cases the worker may have been ordered to leave.
    const bool left = control_.leave() && WIFEXITED(w.process.status()) && WEXITSTATUS(w.process.status()) == 0;
    const int64_t taken = unfinished_of(w);
    if (making && (w.leaving || left || taken < 0)) return;
    const int64_t position = making ? taken : w.in_flight;
    const run_plan::item i = plan_.at(position);
    case_report r;
    r.line = w.line;
    r.result = verdict::crash;
    if (is_corrupt) {
      r.message = "it wrote into a file descriptor that it did not open";
    } else if (w.overdue) {
      r.result = verdict::timeout;
      r.message = fmt::format("no result after {:g} s; the process was killed", limit(w));
    } else {
      r.message = "the process died: " + w.process.death();
    }
    if (making) {
      r.line.clear();
      r.message = fmt::format("while case {} of {} was made: {}", i.index, plan_.jobs()[static_cast<size_t>(i.job)].id,
                              r.message);
    }
    if (options_.shared_device && !alone_ && !is_corrupt) return suspect_case(w, position, std::move(r));
    w.writer = journal_writer(w.writer.path(), fingerprint_);  // cuts off a torn record
    if (making) w.writer.start(i.job, i.index, r.line);
    w.writer.finish(i.job, i.index, seconds_since(w.last), r, r.line);
    read(w);
  }

  // Reads what the worker has written. Returns false if a part of it is no record, which only the code on trial can
  // have written: that part is cut off, and the worker is ended.
  bool read_or_end(worker& w) {
    try {
      read(w);
      return true;
    } catch (const usage_error&) {
      w.process.kill_and_reap();
      truncate_journal(w.writer.path(), w.reader.offset());
      return false;
    }
  }

  void read(worker& w) {
    const auto before = w.last;
    w.reader.read([&](journal_record&& r) {
      w.last = steady::now();
      const int64_t position = plan_.position(r.job, r.index);
      if (position < 0) throw usage_error("a record of a case that is not of this run");
      if (r.kind == journal_record::started) {
        w.in_flight = position;
        w.line = std::move(r.text);
        return;
      }
      w.in_flight = -1;
      if (r.kind == journal_record::suspected) {
        w.leaving = true;
        return suspect_case(w, position, std::move(r.report));
      }
      w.leaving = alone_.has_value() || corrupts_process(r.report);
      explained_ = explained_ || (alone_.has_value() && may_be_the_device(r.report));
      if (!done_[static_cast<size_t>(position)]) take(position, r);
    });
    if (w.last != before) w.in_line = w.process.seconds_in_line();
  }

  void take(int64_t position, const journal_record& r) {
    done_[static_cast<size_t>(position)] = true;
    ++finished_;
    if (position < plan_.first_positions()) --first_left_;
    job_summary& t = summaries_[static_cast<size_t>(r.job)];
    t.add(r.index, r.report, r.seconds, most_failures());
    if (r.report.compared > 0) worst_error_ratio_ = std::max(worst_error_ratio_, t.result.max_error_ratio);
    if (!is_failure(r.report.result)) return;
    const int64_t last = t.last(most_failures());
    if (last >= control_.last(r.job)) return;
    const auto job = static_cast<size_t>(r.job);
    total_ += plan_.cases(job, last) - plan_.cases(job, control_.last(r.job));
    control_.set_last(r.job, last);
  }

  void stop() {
    for (worker& w : workers_) {
      if (!w.process.running()) continue;
      w.process.kill_and_reap();
      read_or_end(w);
    }
  }

  // A job summary forgets the failures beyond the one that ends its job, as the results do.
  int64_t failures() const {
    int64_t sum = 0;
    for (const job_summary& t : summaries_) sum += static_cast<int64_t>(t.failures.size());
    return sum;
  }

  void report_first_cases() {
    first_left_ = -1;
    if (!options_.on_first_cases || finished_ >= total_) return;
    std::vector<job_result> results;
    for (size_t j = 0; j < summaries_.size(); ++j) {
      results.push_back(summaries_[j].result);
      results.back().id = plan_.jobs()[j].id;
      for (const auto& [index, report] : summaries_[j].failures) results.back().failures.push_back(report);
    }
    options_.on_first_cases(results, seconds_since(begin_));
  }

  progress how_far(int64_t resumed) const {
    progress p;
    for (const worker& w : workers_) {
      if (!w.process.running() || w.in_flight < 0 || seconds_since(w.last) <= p.running_seconds) continue;
      p.running = w.line;
      p.running_seconds = seconds_since(w.last);
    }
    p.total = total_;
    p.done = std::min(finished_, total_);  // cases beyond a job's end may have finished before it was known
    p.failures = failures();
    p.worst_error_ratio = worst_error_ratio_;
    p.cases_per_second = static_cast<double>(finished_ - resumed) / std::max(1e-9, seconds_since(begin_));
    p.eta_seconds = p.cases_per_second > 0 ? static_cast<double>(p.total - p.done) / p.cases_per_second : HUGE_VAL;
    if (p.done == p.total) p.eta_seconds = 0;
    return p;
  }

  std::vector<job_result> sum_up() {
    bool any_stopped = false;
    for (size_t j = 0; j < summaries_.size(); ++j) any_stopped |= control_.last(static_cast<int64_t>(j)) != k_no_limit;
    if (any_stopped) {
      // Workers may have gone beyond the case that ended a job: sum up again without those cases.
      summaries_.assign(summaries_.size(), {});
      for (const auto& [number, path] : folder_.journals()) {
        journal_reader(path, fingerprint_).read([&](journal_record&& r) {
          if (r.kind == journal_record::finished && r.index <= control_.last(r.job))
            summaries_[static_cast<size_t>(r.job)].add(r.index, r.report, r.seconds, most_failures());
        });
      }
    }
    std::vector<job_result> results;
    for (size_t j = 0; j < summaries_.size(); ++j) {
      job_result r = std::move(summaries_[j].result);
      r.id = plan_.jobs()[j].id;
      r.stopped = control_.last(static_cast<int64_t>(j)) != k_no_limit;
      for (auto& [index, report] : summaries_[j].failures) r.failures.push_back(std::move(report));
      results.push_back(std::move(r));
    }
    return results;
  }

  const supervise_options& options_;
  const steady::time_point begin_ = steady::now();
  const orphan_collector orphans_;
  run_plan plan_;
  worker_control control_;
  run_folder folder_;
  std::string fingerprint_;
  std::vector<job_summary> summaries_;
  std::vector<bool> done_;  // by position
  std::vector<worker> workers_;
  claims claims_;
  std::vector<int64_t> unfinished_;  // positions that a worker had when it ended, through no fault of theirs
  int alive_ = 0;
  std::deque<suspect> suspects_;  // of one failure, in the order seen; while there are any, workers leave
  std::optional<suspect> alone_;  // the one that runs with no other worker
  bool explained_ = false;        // one of this failure's suspects fails alone, too
  int64_t finished_ = 0, total_ = 0;
  int64_t first_left_ = 0;  // unfinished positions of first cases; -1 once on_first_cases was called
  double worst_error_ratio_ = 0;
  const signal_watch signals_;
};

void check(const std::vector<job>& jobs, const supervise_options& options) {
  if (options.shard_count < 1 || options.shard_index < 0 || options.shard_index >= options.shard_count)
    throw usage_error(
        fmt::format("shard: {}/{} is not of the form i/n with 0 <= i < n", options.shard_index, options.shard_count));
  if (!(options.timeout_seconds > 0))
    throw usage_error(fmt::format("timeout: {} s is not more than 0", options.timeout_seconds));
  if (options.workers < 0) throw usage_error(fmt::format("workers: {} is less than 0", options.workers));
  for (const job& j : jobs)
    if (j.count < 0) throw usage_error(fmt::format("job {}: the count {} is less than 0", j.id, j.count));
}

}  // namespace

run_result_set supervise(const std::vector<job>& jobs, const supervise_options& options) {
  check(jobs, options);
  return supervisor(jobs, options).run();
}

}  // namespace warpcheck::engine

#include "bench/judged_turns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpcheck::bench {

template <class Step>
void judged_turns::unless_failed(const Step& step) {
  if (!problem_.empty()) return;
  try {
    step();
  } catch (const std::exception& e) {
    problem_ = e.what();
  }
}

timed_run judged_turns::as_run() {
  timed_run run;
  run.clock = device_.timing.clock;
  run.run = [this](int i) {
    unless_failed([&] {
      variant_ = call_.run(callee_, i);
      used_.insert(i % call_.memory().count);
    });
  };
  run.wait = [this] { unless_failed([&] { device_.wait(); }); };
  run.begin = [this](int first, int count) {
    unless_failed([&] {
      used_.clear();
      device_.timing.reset();
      call_.poison_outputs();
      call_.draw_inputs(draw());
      for (int i = 0; i < std::min(count, call_.memory().count); ++i) call_.give_inputs(first + i, draw());
      device_.wait();
    });
  };
  run.prepare = [this](int i) {
    unless_failed([&] {
      call_.give_inputs(i, draw());
      call_.poison_outputs(i);
    });
  };
  run.keep = [this](int i) { unless_failed([&] { call_.keep(i); }); };
  run.end = [this](const turn_times& us) {
    unless_failed([&] {
      device_.wait();
      call_.judge_kept(used_, random_());
      hidden_.add(us);
    });
  };
  return run;
}

std::string judged_turns::problem(double median_us, const traffic& moved, double usually_hidden_us) const {
  if (!problem_.empty()) return problem_;
  if (const std::string unseen = hidden_.problem(median_us, usually_hidden_us); !unseen.empty()) return unseen;
  const double floor_us = device_.timing.floor_us(moved);
  if (median_us < floor_us)
    return fmt::format(
        "{:.2f} us is less than the {:.2f} us in which the memory can move inputs and outputs at the rate of its clock",
        median_us, floor_us);
  return "";
}

}  // namespace warpcheck::bench

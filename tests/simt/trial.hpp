// A kernel on trial on the emulated device: what it must be found guilty of, and on which lines.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simt/emulation.hpp"

namespace warpcheck::self {

struct trial {
  std::string name;
  const char* verdict;  // the finding's kind (or kinds that depend on the order: "a|b"), or "" for a correct kernel
  // Launches the kernel; true if its output is right (of no interest where a finding ended the launch). Lines that the
  // finding must name are tagged `@NAME` in the kernel's source.
  std::function<bool(simt::emulation* stream)> run;
  std::function<bool(simt::emulation* stream)> correct = nullptr;  // the same without its flaw, on trial as NAME_ok
};

std::vector<trial> race_trials();    // the seeded races and their correct counterparts
std::vector<trial> defect_trials();  // initialisation, bounds, alignment, collectives
std::vector<trial> order_trials();   // fences, flags, scopes
std::vector<trial> async_world_trials();  // products of warpgroups, proxies, bulk stores, named barriers
std::vector<trial> async_trials();   // clusters, grid barrier, asynchronous copies, mbarriers, launches that overlap

}  // namespace warpcheck::self

// Runs the trials: simt_trials_main [--seeds N] [--shard I/N] [--source FILE]... [--only NAME] [--show]
//                           [--spare-names N] [--async-world]
//
// A guilty kernel must be found in one run under each fixed order, with the stated verdict and (for races) on two of
// the lines tagged with its name; a correct one must stay clean, and compute the right values, under the fixed orders
// and N seeds of each seeded strategy. The lines are checked where the sources are given, which needs addr2line. Shard
// I of N (from 0) judges every N-th run. With --spare-names only the
// correct ones are tried, two blocks at a time, with N names for blocks beyond those two: the detector forgets often.
// --async-world tries those of async_world.cu alone.
// Exit code 0, or 1 after one line per wrong outcome.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "simt/emulated/vector_clock.hpp"
#include "tests/simt/trial.hpp"

namespace {

using warpcheck::self::trial;

struct tagged_line {
  std::string tag, place;
};

std::vector<tagged_line> read_tags(const std::string& path) {
  std::vector<tagged_line> tags;
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string line;
  unsigned tagged = 0;
  for (unsigned number = 1; std::getline(file, line); ++number) {
    const size_t at = line.find('@');
    // A line of nothing but tags is about the one before.
    if (at == std::string::npos || line.find_first_not_of(" /") != at) tagged = number;
    if (at != std::string::npos) tags.push_back({line.substr(at), name + ":" + std::to_string(tagged)});
  }
  return tags;
}

bool has_tag(const std::string& line, const std::string& tag) {
  for (size_t at = line.find('@'); at != std::string::npos; at = line.find('@', at + 1)) {
    if (line.compare(at + 1, tag.size(), tag) != 0) continue;
    const size_t end = at + 1 + tag.size();
    if (end == line.size() || line[end] == ' ' || line[end] == ')') return true;
  }
  return false;
}

// How often the text names a line with this tag.
int tagged_places(const std::string& text, const std::string& tag, const std::vector<tagged_line>& tags) {
  int found = 0;
  for (const tagged_line& t : tags) {
    if (!has_tag(t.tag, tag)) continue;
    for (size_t at = text.find(t.place); at != std::string::npos; at = text.find(t.place, at + 1)) {
      const char after = text[at + t.place.size()];
      if (after < '0' || after > '9') ++found;
    }
  }
  return found;
}

// True if the verdicts ("a|b") contain the one that was found.
bool allows(std::string_view verdicts, std::string_view found) {
  while (true) {
    const size_t bar = verdicts.find('|');
    if (verdicts.substr(0, bar) == found) return true;
    if (bar == std::string_view::npos) return false;
    verdicts.remove_prefix(bar + 1);
  }
}

struct trial_set {
  std::vector<tagged_line> tags;
  int shard = 0, shards = 1, met = 0;  // runs met, of all shards
  unsigned spare_names = 0;
  int runs = 0, wrong = 0;

  void complain(const trial& t, const std::string& schedule, const std::string& what) {
    ++wrong;
    std::printf("WRONG %s under %s: %s\n", t.name.c_str(), schedule.c_str(), what.c_str());
  }

  void judge(const trial& t, const std::string& schedule) {
    if (met++ % shards != shard) return;
    simt::emulation stream;
    stream.schedule = simt::schedule::parse(schedule);
    if (spare_names > 0) stream.resident_blocks = 2;
    bool right = false;
    try {
      right = t.run(&stream);
    } catch (const simt::device_error&) {
    }
    ++runs;
    const std::string found = stream.ok() ? "" : stream.findings.front().kind;
    if (spare_names > 0 && found == "livelock") return;  // it needs more blocks at a time
    if (!allows(t.verdict, found))
      return complain(t, schedule,
                      "expected '" + std::string(t.verdict) + "', found '" + found + "' " +
                          (stream.ok() ? "" : stream.findings.front().text));
    if (found.empty() && !right) return complain(t, schedule, "the output is wrong");
    int tagged = 0;
    for (const tagged_line& line : tags) tagged += has_tag(line.tag, t.name);
    const int wanted = std::min(tagged, found == "race" ? 2 : 1);
    if (!found.empty() && tagged_places(stream.findings.front().text, t.name, tags) < wanted)
      complain(t, schedule, "the finding names other lines: " + stream.findings.front().text);
  }
};

}  // namespace

int main(int argc, char** argv) {
  int seeds = 3;
  const char* only = nullptr;
  bool show = false, async_world = false;
  trial_set c;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--show") == 0)
      show = true;
    else if (std::strcmp(argv[i], "--async-world") == 0)
      async_world = true;
    else if (std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
      seeds = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--spare-names") == 0 && i + 1 < argc)
      simt::limit_names(c.spare_names = static_cast<unsigned>(std::max(1, std::atoi(argv[++i]))));
    else if (std::strcmp(argv[i], "--shard") == 0 && i + 1 < argc) {
      if (std::sscanf(argv[++i], "%d/%d", &c.shard, &c.shards) != 2 || c.shard < 0 || c.shard >= c.shards) {
        std::fprintf(stderr, "--shard: '%s' is not I/N with 0 <= I < N\n", argv[i]);
        return 2;
      }
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else if (std::strcmp(argv[i], "--source") == 0 && i + 1 < argc) {
      for (const tagged_line& line : read_tags(argv[++i])) c.tags.push_back(line);
    } else {
      std::fprintf(stderr, "unknown argument '%s'\n", argv[i]);
      return 2;
    }
  }
  int trials = 0;
  using namespace warpcheck::self;
  const std::vector<std::vector<trial>> all = {race_trials(), defect_trials(), order_trials(), async_trials()};
  std::vector<std::vector<trial>> lists = {async_world_trials()};
  if (!async_world) lists.insert(lists.begin(), all.begin(), all.end());
  for (auto& list : lists) {
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].correct) list.push_back({list[i].name + "_ok", "", list[i].correct});
    for (const trial& t : list) {
      const bool guilty = *t.verdict != '\0';
      if ((only != nullptr && t.name != only) || (guilty && c.spare_names > 0)) continue;
      ++trials;
      if (show) {
        simt::emulation stream;
        try {
          t.run(&stream);
        } catch (const simt::device_error& e) {
          std::printf("%s: %s\n", t.name.c_str(), e.what());
        }
      }
      for (const char* fixed : {"fair", "greedy", "reverse"}) c.judge(t, fixed);
      for (int seed = 1; seed <= seeds; ++seed)
        for (const char* seeded : {"random:", "preempt:", "pct:", "pct_warp:"})
          if (!guilty) c.judge(t, seeded + std::to_string(seed));
    }
  }
  std::printf("%d trials, %d runs, %d wrong\n", trials, c.runs, c.wrong);
  return c.wrong == 0 && trials > 0 ? 0 : 1;
}

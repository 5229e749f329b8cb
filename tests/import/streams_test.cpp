// `warpcheck run-emulated` on streams and the host: each mode of streams.cu is clean. Without the call that orders it
// (-D UNORDERED) it is a race whose report names both calls.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/run_command.hpp"

namespace {

using warpcheck::self::environment;
using result = warpcheck::self::command_result;

result run(const std::string& arguments, const std::string& program = "streams.cu") {
  return warpcheck::self::run_command("cd " + environment("WARPCHECK_TEST_PROGRAMS") + " && '" +
                                      environment("WARPCHECK_TEST_COMMAND") + "' run-emulated " + program + " " +
                                      arguments);
}

// Returns the position of the comment `// marker`, as reports write it.
std::string place_of(const std::string& marker) {
  std::ifstream source(environment("WARPCHECK_TEST_PROGRAMS") + "/streams.cu");
  const std::string comment = "// " + marker;
  int number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    const size_t at = line.find(comment);
    if (at != std::string::npos && at + comment.size() == line.size()) return "streams.cu:" + std::to_string(number);
  }
  return "no such marker";
}

struct order {
  const char* mode;
  const char* call;    // what the report names beside the access at the mode's marker
  const char* reason;  // how it ends
};
void PrintTo(const order& o, std::ostream* out) { *out << o.mode; }

class Order : public testing::TestWithParam<order> {};

TEST_P(Order, OfStreamsAndTheHostIsSeen) {
  const order& o = GetParam();
  const result right = run(std::string("--schedule fair -- ") + o.mode);
  EXPECT_EQ(right.status, 0) << right.output;
  const result wrong = run(std::string("-D UNORDERED --schedule fair --no-trace -- ") + o.mode);
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_TRUE(wrong.has("streams.cu: race under 1 schedules")) << wrong.output;
  EXPECT_TRUE(wrong.has(place_of(o.mode))) << wrong.output;
  EXPECT_TRUE(wrong.has(o.call)) << wrong.output;
  EXPECT_TRUE(wrong.has(place_of(std::string(o.mode) + "-launch")) ||
              wrong.has(place_of(std::string(o.mode) + "-copy")))
      << wrong.output;
  EXPECT_TRUE(wrong.has(o.reason)) << wrong.output;
}

constexpr const char* k_host = "; the host does not wait for that stream";
constexpr const char* k_streams = "; neither stream waits for the other";
INSTANTIATE_TEST_SUITE_P(
    Streams, Order,
    testing::Values(order{"managed-read", "in the legacy default stream", k_host},
                    order{"managed-write", "of the launch at streams.cu:", k_host},
                    order{"pinned-result", "write by cudaMemcpyAsync at streams.cu:", k_host},
                    order{"pinned-source", "read by cudaMemcpyAsync at streams.cu:", k_host},
                    order{"pageable-result", "write by cudaMemcpyAsync at streams.cu:", k_host},
                    order{"pageable-source", "read by cudaMemcpyAsync at streams.cu:", k_host},
                    order{"stream-and-default", "read by cudaMemcpy at streams.cu:", k_streams},
                    order{"event", "the non-blocking stream that was created at streams.cu:", k_streams},
                    order{"blocking-streams", "the stream that was created at streams.cu:", k_streams},
                    order{"late-event", "of the launch at streams.cu:", k_streams},
                    order{"legacy-joins", "of the launch at streams.cu:", k_streams},
                    order{"pageable-upload", "write by cudaMemcpy at streams.cu:", k_streams},
                    order{"graph-branches", " in a graph", k_streams},
                    order{"freed-in-a-stream", "write by cudaFreeAsync at streams.cu:", k_streams}));

TEST(Streams, WithoutAConflictAreClean) {
  for (const char* mode : {"disjoint-bytes", "common-atomics", "polled-flag", "free-waits", "query-knows",
                           "stack-source", "host-function"}) {
    const result r = run(std::string("--schedule fair --no-trace -- ") + mode);
    EXPECT_EQ(r.status, 0) << mode << "\n" << r.output;
  }
}

// `reverse` runs the operation as late as possible: the host gets ahead of it and reads the old value.
TEST(Streams, MayBeBehindTheHost) {
  const result wrong = run("-D UNORDERED --schedule reverse --no-trace -- managed-read");
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_TRUE(wrong.has("streams.cu: race under 1 schedules")) << wrong.output;
  EXPECT_TRUE(wrong.has("note: the program returned 3")) << wrong.output;
  const result right = run("--seeds 1 --no-trace -- managed-read");
  EXPECT_TRUE(right.has("streams.cu: clean under 6 schedules")) << right.output;
}

TEST(Streams, DoNotWaitWhereThrustRunsOnTheHost) {
  const result r = run("-I . --schedule reverse --no-trace", "thrust_reduces.cu");
  EXPECT_EQ(r.status, 0) << r.output;
}

TEST(Streams, HostFunctionsAreWorkOfTheirStream) {
  const result r = run("-D UNORDERED --schedule fair --no-trace -- host-function");
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(r.has(place_of("host-function") + ", in cudaLaunchHostFunc at ")) << r.output;
  EXPECT_TRUE(r.has(place_of("host-function-call"))) << r.output;
  EXPECT_TRUE(r.has(place_of("host-function-read"))) << r.output;
}

TEST(Streams, TheNullStreamIsThePerThreadOneWhereTheProgramIsCompiledSo) {
  const std::string stream = "-D UNORDERED --schedule fair --no-trace ";
  const result r = run(stream + "-D CUDA_API_PER_THREAD_DEFAULT_STREAM -- managed-read");
  EXPECT_EQ(r.status, 1) << r.output;
  EXPECT_TRUE(r.has("in the per-thread default stream")) << r.output;
}

}  // namespace

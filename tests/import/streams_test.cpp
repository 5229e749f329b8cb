// `warpcheck run-emulated` on streams and the host: each mode of streams.cu is clean. Without the call that orders it
// (-D UNORDERED) it is a race whose report names both calls.
#include <gtest/gtest.h>

#include <string>

#include "tests/import/program.hpp"

namespace {

using result = warpcheck::self::command_result;

result run(const std::string& arguments, const std::string& program = "streams.cu") {
  return warpcheck::self::run_program(program + " " + arguments);
}
std::string place_of(const std::string& marker) { return warpcheck::self::place_of("streams.cu", marker); }

struct order {
  const char* mode;
  const char* call;    // what the report names beside the access at the mode's marker
  const char* reason;  // how it ends
};
void PrintTo(const order& o, std::ostream* out) { *out << o.mode; }

class Order : public testing::TestWithParam<order> {};

TEST_P(Order, OfStreamsAndTheHostIsSeen) {
  const order& o = GetParam();
  EXPECT_TRUE(ended(run(std::string("--schedule fair -- ") + o.mode), 0));
  const result wrong = run(std::string("-D UNORDERED --schedule fair --no-trace -- ") + o.mode);
  EXPECT_TRUE(ended(wrong, 1, {"streams.cu: race under 1 schedule", place_of(o.mode), o.call}));
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
                    order{"waited-for-one", "of the launch at streams.cu:", k_host},
                    order{"unaligned-copy", "of the launch at streams.cu:", k_streams},
                    order{"graph-branches", " in a graph", k_streams},
                    order{"freed-in-a-stream", "write by cudaFreeAsync at streams.cu:", k_streams}));

TEST(Streams, WithoutAConflictAreClean) {
  for (const char* mode : {"disjoint-bytes", "common-atomics", "polled-flag", "free-waits", "query-knows",
                           "stack-source", "host-function"}) {
    EXPECT_TRUE(ended(run(std::string("--schedule fair --no-trace -- ") + mode), 0)) << mode;
  }
}

// `reverse` runs the operation as late as possible: the host gets ahead of it and reads the old value.
TEST(Streams, MayBeBehindTheHost) {
  const result wrong = run("-D UNORDERED --schedule reverse --no-trace -- managed-read");
  EXPECT_TRUE(ended(wrong, 1, {"streams.cu: race under 1 schedule", "note: the program returned 3"}));
  EXPECT_TRUE(says(run("--seeds 1 --no-trace -- managed-read"), {"streams.cu: clean under 6 schedules"}));
}

TEST(Streams, DoNotWaitWhereThrustRunsOnTheHost) {
  EXPECT_TRUE(ended(run("-I . --schedule reverse --no-trace", "thrust_reduces.cu"), 0));
}

TEST(Streams, HostFunctionsAreWorkOfTheirStream) {
  const result r = run("-D UNORDERED --schedule fair --no-trace -- host-function");
  EXPECT_TRUE(ended(r, 1,
                    {place_of("host-function") + ", in cudaLaunchHostFunc at ", place_of("host-function-call"),
                     place_of("host-function-read")}));
}

TEST(Streams, TheNullStreamIsThePerThreadOneWhereTheProgramIsCompiledSo) {
  const std::string stream = "-D UNORDERED --schedule fair --no-trace ";
  const result r = run(stream + "-D CUDA_API_PER_THREAD_DEFAULT_STREAM -- managed-read");
  EXPECT_TRUE(ended(r, 1, {"in the per-thread default stream"}));
}

}  // namespace

// `warpcheck run-emulated --explore`: every class of schedules of a program's launches.
#include <gtest/gtest.h>

#include <string>

#include "tests/run_command.hpp"
#include "tests/scratch_folder.hpp"

namespace {

using result = warpcheck::self::command_result;

// Every class of schedules: three tickets are drawn in six orders; a wrong memory order is found in one of them.
TEST(RunEmulated, ExploresEveryClassOfSchedules) {
  const auto explored = [](const std::string& kernel, const std::string& options) {
    const warpcheck::self::scratch_folder folder;
    folder.write("mine.cu", "__global__ void k(int* x) {\n" + kernel + "}\nint main() {\n  int* x;\n" +
                                "  cudaMalloc(&x, 512);\n  cudaMemset(x, 0, 512);\n  k<<<3, 1>>>(x);\n" +
                                "  cudaDeviceSynchronize();\n  cudaFree(x);\n}\n");
    return warpcheck::self::run_command("'" + warpcheck::self::environment("WARPCHECK_TEST_COMMAND") +
                                        "' run-emulated --no-trace " + options + " " + folder.path("mine.cu"));
  };
  const std::string tickets = "  x[1 + atomicAdd(x, 1)] = blockIdx.x;\n";
  EXPECT_TRUE(ended(explored(tickets, "--explore"), 0,
                    {"explored: 6 classes of schedules, all run; device memory ends in 6 ways\n"}, {"every schedule"}));
  const result some = explored(tickets, "--schedule explore:2");
  EXPECT_TRUE(says(some, {"explored: 2 of at least ", "every schedule: not proven"}));
  const result equal = explored("  x[blockIdx.x] = 1;\n", "--explore");
  EXPECT_TRUE(says(equal, {"explored: 1 class of schedules, which ran\n", "every schedule: proven for this input\n"}));
  const result clocked = explored("  if (clock64() < 0) x[0] = 1;\n", "--explore");
  EXPECT_TRUE(clocked.has("explored: 1 class of schedules; not explored: a clock;")) << clocked.output;
  const result unordered = explored(
      "  x[4] = 1;\n  __threadfence();\n  if (blockIdx.x == 0) atomicExch(x, 1);\n"
      "  if (blockIdx.x == 1 && atomicAdd(x, 0) == 1) x[1] = x[4];\n",
      "--explore");
  EXPECT_EQ(unordered.status, 1) << unordered.output;
  // The reader may give up, which the search takes it not to do.
  const result impatient = explored(
      "  volatile int* const flag = x;\n  if (blockIdx.x == 0) *flag = 1;\n  if (blockIdx.x != 1) return;\n"
      "  int n = 0;\n  while (n < 3 && *flag == 0) ++n;\n  if (n == 3) x[1] = 7;\n",
      "--explore");
  EXPECT_TRUE(ended(impatient, 0, {"all run; a thread that reads an unchanged word again is taken to wait in a loop\n"},
                    {"every schedule: proven"}));
  EXPECT_EQ(explored(tickets, "--explore --schedule fair").status, 2);
}

}  // namespace

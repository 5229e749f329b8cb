// Calls of one operator from several threads, on many streams and beside a graph do not meet in a workspace.
#include "tests/cuda/streams.hpp"

#include <gtest/gtest.h>

namespace warpcheck::self {
namespace {

TEST(Streams, ThreadsThatShareOneGetTheirOwnResults) { EXPECT_EQ(wrong_on_a_stream_of_threads(8, 2000), 0); }

TEST(Streams, MoreThanKeepAWorkspaceGetTheirOwnResults) { EXPECT_EQ(wrong_on_streams(100, 20), 0); }

TEST(Streams, AGraphRunsBesideCallsOnTheStreamOfItsCapture) { EXPECT_EQ(wrong_beside_a_graph(2000), 0); }

}  // namespace
}  // namespace warpcheck::self

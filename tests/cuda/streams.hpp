// Calls that share a stream, or a device, at the same time: of logsumexp on a row of 2^18 elements, whose two launches
// pass a workspace on (stream_workspace in simt/cuda.hpp). Each caller's row is of one value of its own, so that a
// result shows whose partials it was made of.
#pragma once

#include <cstdint>

namespace warpcheck::self {

// How many results are not those of the caller's own row.
int64_t wrong_on_a_stream_of_threads(int threads, int calls);  // all threads on one stream
int64_t wrong_on_streams(int streams, int calls);              // one thread, the streams in turn
int64_t wrong_beside_a_graph(int launches);  // captured on a stream, launched on another beside calls on the first

}  // namespace warpcheck::self

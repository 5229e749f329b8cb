#include "bench/own_runs.hpp"
#include "kernels/best_split/abi_adapter.hpp"

namespace warpcheck::bench {

std::vector<own_run> best_split_runs(const std::vector<const warpcheck_call*>& calls, cudaStream_t stream) {
  const auto run = [calls, stream](int i) {
    warpcheck_call call = *calls[static_cast<size_t>(i) % calls.size()];
    with_split_call(check_best_split(call), stream, split_path::automatic, [](const split_call&) {});
  };
  return {{"tables", run, true}};
}

}  // namespace warpcheck::bench

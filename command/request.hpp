// The request of a run after its checks: names are known, texts are values, and the device exists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/commands.hpp"
#include "reference/numerics/dtype.hpp"

namespace warpcheck::cli {

// A property that the user leaves out, and the reason.
struct unwanted_property {
  std::string name, reason;
};

struct run_request {
  verify_options given;                     // numbers, paths and switches hold as they are
  std::vector<std::string> operators;       // each once; all operators if none is named
  std::vector<dtype> dtypes;                // empty: all that the candidate offers
  std::vector<unwanted_property> unwanted;  // properties that the run leaves out
  std::string device, device_note;          // results of resolve_device()
  uint64_t seed = 1;
  int shard = 0, shards = 1;
  int size = 1;        // as target::size
  double timeout = 0;  // seconds of a case
  int workers = 0;     // 0: one for each core

  bool limits_shapes() const;  // true if the user does
};

// Throws usage_error for an unknown operator, property or type (before it looks for a device), and for a value out of
// range; environment_error if the device is missing.
run_request request_of(const verify_options& given);

// Returns the requested operators, each once, all of them by default. Throws usage_error for one that does not exist.
std::vector<std::string> chosen_operators(const std::vector<std::string>& named);

}  // namespace warpcheck::cli

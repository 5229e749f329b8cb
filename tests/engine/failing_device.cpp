// A candidate for device cpu that brings its own device, which fails where the environment says so:
// WARPCHECK_TEST_FAILS is the name of a function below; with WARPCHECK_TEST_LOST the failure is one that stays.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "abi/candidate_table.hpp"
#include "abi/host_memory.hpp"

namespace {

bool fails(std::string_view function) {
  const char* name = std::getenv("WARPCHECK_TEST_FAILS");
  return name && function == name;
}

const char* describe() { return "a failing device"; }
const char* last_error() { return "planted"; }
void* alloc(size_t bytes, size_t, size_t) { return fails("alloc") ? nullptr : std::calloc(1, bytes + 1); }
void release(void* p) { std::free(p); }
int64_t check_guards(const void*) { return INT64_MIN; }
int copy_in(void* destination, const void* source, size_t bytes) {
  std::memcpy(destination, source, bytes);
  return fails("copy_in");
}
int copy_out(void* destination, const void* source, size_t bytes) {
  std::memcpy(destination, source, bytes);
  return fails("copy_out");
}
void* stream_create(const warpcheck_stream_options*) {
  static int token;
  return fails("stream_create") ? nullptr : &token;
}
int stream_synchronize(void*, warpcheck_finding_fn, void*) { return fails("stream_synchronize"); }
int stream_renew(void*, const warpcheck_stream_options*) { return fails("stream_renew"); }
int usable() { return std::getenv("WARPCHECK_TEST_LOST") == nullptr; }

const warpcheck_device_api k_device = [] {
  warpcheck_device_api api =
      warpcheck::host_memory::api_of(WARPCHECK_DEVICE_CPU, describe, last_error, alloc, release, check_guards);
  api.copy_in = copy_in;
  api.copy_out = copy_out;
  api.stream_create = stream_create;
  api.stream_synchronize = stream_synchronize;
  api.stream_renew = stream_renew;
  api.usable = usable;
  return api;
}();

// The softmax of rows of one element.
warpcheck_status run(warpcheck_call* call) {
  const DLTensor& y = *call->outputs[0];
  for (int64_t r = 0; r < y.shape[0]; ++r) static_cast<float*>(y.data)[r * y.strides[0]] = 1;
  call->used_variant = "ones";
  return WARPCHECK_OK;
}

const warpcheck_variant k_ones = warpcheck::row_variant("ones", 0, -1, 0, -1, WARPCHECK_F32);
const warpcheck_operator k_softmax =
    warpcheck::operator_of_rows("softmax", WARPCHECK_DEVICE_CPU, WARPCHECK_F32, run, &k_ones, 1, {nullptr, 0},
                                [](const warpcheck_call*) { return "ones"; });
const warpcheck_operator* const k_operators[] = {&k_softmax};
const warpcheck_candidate k_candidate = {
    WARPCHECK_CANDIDATE_ABI, sizeof(warpcheck_candidate), "failing", "test", k_operators, 1, &k_device};

}  // namespace

extern "C" __attribute__((visibility("default"))) const warpcheck_candidate* warpcheck_candidate_get(
    uint32_t abi_version) {
  return abi_version == WARPCHECK_CANDIDATE_ABI ? &k_candidate : nullptr;
}

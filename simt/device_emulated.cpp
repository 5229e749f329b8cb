// Memory and streams of the emulated device by the device interface of candidate.h. Compiled once per flavour of simt.
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "abi/candidate.h"
#include "simt/emulated_counts.hpp"
#include "simt/emulated_memory.hpp"
#include "simt/emulation.hpp"

namespace {

std::string& error_text() {
  static std::string text;
  return text;
}

const char* describe() { return "emulated device (simt on the host)"; }
const char* last_error() { return error_text().c_str(); }

// At the end of a schedule's token: the stream also reports what is counted, by the kind "counts".
constexpr std::string_view k_counts = " counts";

std::string text_of(const simt::launch_counts& c) {
  std::string text = "barriers=" + std::to_string(c.barriers);
#ifdef SIMT_FLAVOUR_RACE
  text += " wavefronts=" + std::to_string(c.wavefronts) +
          " bank_conflicts=" + std::to_string(c.wavefronts - c.least_wavefronts);
#endif
  return text;
}

// Runs `body`; an exception becomes last_error() and `failed`.
template <class Result, class Body>
Result guarded(Result failed, Body&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    error_text() = e.what();
    return failed;
  }
}

void* alloc(size_t bytes, size_t misalign, size_t element) {
  return guarded(static_cast<void*>(nullptr), [&] { return simt::device_alloc(bytes, misalign, element); });
}
void release(void* p) {
  guarded(0, [&] {
    simt::device_free(p);
    return 0;
  });
}
int64_t check_guards(const void* p) { return simt::device_check(p); }
void forget(void* p, size_t bytes) { simt::mark_uninitialized(p, bytes); }

int copy_in(void* destination, const void* source, size_t bytes) {
  if (bytes) std::memcpy(destination, source, bytes);
  simt::mark_initialized(destination, bytes);
  return 0;
}
int copy_out(void* destination, const void* source, size_t bytes) {
  if (bytes) std::memcpy(destination, source, bytes);
  return 0;
}

void* stream_create(const warpcheck_stream_options* options) {
  return guarded(static_cast<void*>(nullptr), [&]() -> void* {
    auto stream = std::make_unique<simt::emulation>();
    std::string_view schedule = options->schedule ? options->schedule : "fair";
    const size_t end = schedule.rfind(k_counts);
    const bool counts = end != std::string_view::npos;
    schedule = schedule.substr(0, end);
    stream->schedule = simt::schedule::parse(schedule);
    if (counts) simt::count_launches(stream.get());
    if (options->resident_blocks > 0) stream->resident_blocks = static_cast<unsigned>(options->resident_blocks);
    if (options->sm_count > 0) stream->sm_count = static_cast<unsigned>(options->sm_count);
    if (options->shared_fill) stream->shared_pattern = options->shared_fill;
    return stream.release();
  });
}
void stream_destroy(void* stream) {
  const auto* const emulation = static_cast<simt::emulation*>(stream);
  if (simt::counts_launches(*emulation)) simt::count_launches(nullptr);
  delete emulation;
}

int stream_synchronize(void* stream, warpcheck_finding_fn report, void* user) {
  auto& emulation = *static_cast<simt::emulation*>(stream);
  for (const simt::finding& f : emulation.findings) report(user, f.kind.c_str(), f.text.c_str());
  if (emulation.has_one_outcome()) report(user, "every schedule", "");
  if (simt::counts_launches(emulation)) report(user, "counts", text_of(simt::take_launch_counts()).c_str());
  emulation.clear();
  return 0;
}

}  // namespace

extern "C" const warpcheck_device_api* warpcheck_device_emulated(void);
extern "C" const warpcheck_device_api* warpcheck_device_emulated(void) {
  static const warpcheck_device_api api = {sizeof(warpcheck_device_api),
                                           WARPCHECK_DEVICE_EMULATED,
                                           describe,
                                           last_error,
                                           alloc,
                                           release,
                                           check_guards,
                                           forget,
                                           copy_in,
                                           copy_out,
                                           stream_create,
                                           stream_destroy,
                                           stream_synchronize,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr};
  return &api;
}

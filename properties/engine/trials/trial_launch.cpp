#include "properties/engine/trials/trial_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "properties/engine/error.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/trials/call.hpp"
#include "properties/engine/trials/cpu_device.hpp"
#include "properties/engine/trials/device_tensor.hpp"
#include "properties/engine/trials/floating_point.hpp"
#include "properties/engine/trials/reused_storage.hpp"
#include "properties/engine/trials/two_passes.hpp"

namespace warpcheck::engine {
namespace {

struct stream_handle {
  const warpcheck_device_api& api;
  void* stream;
  ~stream_handle() { api.stream_destroy(stream); }
};

host_tensor work_of(const tensor_spec& spec, uint32_t word) {
  host_tensor t(spec);
  for (size_t i = 0; i < t.bytes.size(); ++i) t.bytes[i] = static_cast<std::byte>(word >> (8 * (i % 4)));
  return t;
}

uint32_t shared_fill(const launch_spec& how) { return how.poison * 0x01010101u; }

void* make_stream(const warpcheck_device_api& api, const warpcheck_stream_options& options) {
  if (void* const stream = api.stream_create(&options)) return stream;
  const std::string why = fmt::format("stream: {}", api.last_error());
  if (!is_usable(api)) throw device_lost(why);
  throw usage_error(why);
}

}  // namespace

// A launch from its tensors to its outputs.
struct launch_group::launch_state {
  explicit launch_state(const launch_spec& of) : how(of) {}

  const launch_spec& how;
  std::vector<std::unique_ptr<device_tensor>> memory;
  std::map<std::string, device_tensor*> by_name;
  std::map<std::string, const host_tensor*> written;
  std::vector<DLTensor> tensors;
  std::unique_ptr<prepared_call> prepared;  // or the passes
  std::unique_ptr<two_passes> passes;
  call_facts facts;

  bool is_prepared() const { return prepared || passes; }
  const warpcheck_call& view() const { return passes ? passes->forward().view() : prepared->view(); }
  warpcheck_status run() { return passes ? passes->run() : prepared->run(*how.op); }
};

launch_group::launch_group(const trial_case& c, std::span<const launch_spec> launch_specs, int32_t sm_count,
                           const input_values& values, const change_tensors& change, reused_memory* memory)
    : case_(c) {
  for (const launch_spec& how : launch_specs) {
    launch_states_.push_back(std::make_unique<launch_state>(how));
    prepare(*launch_states_.back(), values, memory);
    if (change) change(launch_states_.back()->tensors);
  }
  const warpcheck_device_api& api = *launch_specs[0].api;
  warpcheck_stream_options options = {};
  options.schedule = launch_specs[0].schedule.empty() ? nullptr : launch_specs[0].schedule.c_str();
  options.sm_count = sm_count;
  options.shared_fill = shared_fill(launch_specs[0]);
  const stream_handle stream{api, make_stream(api, options)};
  for (size_t i = 0; i < launch_states_.size(); ++i) {
    options.shared_fill = shared_fill(launch_specs[i]);
    if (i > 0 && api.stream_renew(stream.stream, &options))
      device_failed(api, fmt::format("stream: {}", api.last_error()));
    launch(*launch_states_[i], stream.stream);
    if (launch_states_[i]->facts.status != WARPCHECK_OK || launch_states_[i]->facts.touched) break;
  }
  wait(api);
}

launch_group::~launch_group() = default;

const call_facts& launch_group::call(size_t i) const { return launch_states_[i]->facts; }

void launch_group::prepare(launch_state& f, const input_values& values, reused_memory* memory) const {
  const size_t slot = launch_states_.size() - 1;
  place_cpu_buffers(f.how.placement);
  for (const tensor_spec& spec : case_.tensors) {
    if (!spec.in_place.empty()) {
      f.by_name[spec.name] = f.by_name.at(spec.in_place);
      continue;
    }
    // If a property gave one of the two other values, they are no longer the same tensor.
    if (!spec.same.empty() && values(spec).bytes == f.written.at(spec.same)->bytes) {
      f.by_name[spec.name] = f.by_name.at(spec.same);
      f.written[spec.name] = f.written.at(spec.same);
      continue;
    }
    const tensor_spec* const guest = guest_of(case_, spec);
    void* const lent = memory && !guest && spec.beside.empty() ? memory->at(spec, *f.how.api, slot) : nullptr;
    f.memory.push_back(spec.beside.empty()
                           ? std::make_unique<device_tensor>(spec, *f.how.api, f.how.poison, guest, lent)
                           : std::make_unique<device_tensor>(spec, *f.by_name.at(spec.beside)));
    f.by_name[spec.name] = f.memory.back().get();
    if (spec.is_workspace()) f.memory.back()->write(work_of(spec, f.how.work));
    if (!spec.is_input) {
      if (f.how.old_outputs && !spec.is_workspace())
        f.memory.back()->write(work_of(spec, *f.how.old_outputs * 0x01010101u));
      f.memory.back()->forget();
      continue;
    }
    const host_tensor& given = values(spec);
    f.memory.back()->write(given);
    f.written[spec.name] = &given;
  }
  for (const tensor_spec& spec : case_.tensors)
    f.tensors.push_back(f.by_name.at(spec.name)->view(dl_device(*f.how.op)));
}

// Makes the call; a captured call is replayed.
void launch_group::launch(launch_state& f, void* stream) {
  const launch_spec& how = f.how;
  call_facts& facts = f.facts;
  const bool on_default_stream = how.launch.kind == launch_way::legacy && how.op->device == WARPCHECK_DEVICE_CUDA;
  void* const used_stream = on_default_stream ? nullptr : stream;
  if (two_passes::fits(case_, *how.op))
    f.passes = std::make_unique<two_passes>(case_, f.tensors, how, used_stream);
  else
    f.prepared = std::make_unique<prepared_call>(case_, f.tensors, used_stream);
  const bool captured = how.launch.kind == launch_way::graph && how.api->capture_begin;
  const unsigned before = floating_point_controls();
  if (captured && how.api->capture_begin(stream))
    device_failed(*how.api, fmt::format("stream: {}", how.api->last_error()));
  const auto call = [&] {
    for (int i = 0; i < (captured ? 1 : how.launch.times) && facts.status == WARPCHECK_OK; ++i) facts.status = f.run();
  };
  std::optional<page_touch> touch;
  if (how.api == &cpu_device_api())
    touch = until_a_page_is_touched(call);
  else
    call();
  if (!touch) touch = take_touch(*how.api);
  // A capture must be ended, whatever the call returned.
  if (captured && how.api->capture_replay(stream, facts.status == WARPCHECK_OK ? how.launch.times : 0))
    facts.replay_error = how.api->last_error();
  // A call that cannot be captured is made as usual.
  if (captured && facts.status == WARPCHECK_UNSUPPORTED) facts.status = f.run();
  const unsigned after = floating_point_controls();
  restore_floating_point_controls(before);
  if (before != after) facts.environment = fmt::format("{:#x} became {:#x}", before, after);
  launches_ += how.launch.times;
  if (touch) {
    facts.touched = touched_page{touch->offset, "", 0};
    for (const auto& [name, tensor] : f.by_name)
      if (tensor->data() == touch->buffer) facts.touched = touched_page{touch->offset, name, tensor->bytes()};
    for (const auto& t : f.passes ? f.passes->memory() : f.memory)
      if (t->data() == touch->buffer) facts.touched = touched_page{touch->offset, t->spec().name, t->bytes()};
    return;
  }
  facts.message = f.passes ? f.passes->message() : f.prepared->message();
}

void launch_group::wait(const warpcheck_device_api& api) {
  const int sync = api.stream_synchronize(
      launch_states_[0]->view().stream,
      [](void* user, const char* kind, const char* text) {
        auto& facts = *static_cast<device_facts*>(user);
        if (std::string_view(kind) == "every schedule")
          facts.is_every_schedule = true;
        else
          facts.hazards.emplace_back(kind, text);
      },
      &device_);
  if (sync) device_.error = api.last_error();
  for (const auto& f : launch_states_) {
    if (!f->is_prepared() || f->facts.status != WARPCHECK_OK || f->facts.touched) continue;
    const warpcheck_call& call = f->view();
    if (call.used_variant) f->facts.used_variant = call.used_variant;
    if (!call.variant) f->facts.picked_variant = f->how.op->picks(call);
  }
}

// The outputs, once nothing beside them has changed.
memory_facts launch_group::memory(size_t i, bool with_workspace) const {
  const launch_state& f = *launch_states_[i];
  std::vector<const device_tensor*> guarded;
  for (const auto& t : f.memory) guarded.push_back(t.get());
  if (f.passes)
    for (const auto& t : f.passes->memory()) guarded.push_back(t.get());
  for (const device_tensor* const t : guarded) {
    if (!t->has_own_memory()) continue;
    if (const int64_t offset = f.how.api->check_guards(t->data()); offset != INT64_MIN)
      return {memory_facts::guard_zone, t->spec().name, offset, t->bytes(), {}};
  }
  memory_facts facts;
  for (const tensor_spec& spec : case_.tensors) {
    const bool overwritten =
        std::ranges::any_of(case_.tensors, [&](const tensor_spec& o) { return o.in_place == spec.name; });
    if ((spec.is_input && overwritten) || (spec.is_workspace() && !with_workspace)) continue;
    int64_t touched = -1;
    host_tensor t = f.by_name.at(spec.name)->read(touched);
    if (touched >= 0) return {memory_facts::row_gap, spec.name, touched, 0, {}};
    if (spec.is_input && t.bytes != f.written.at(spec.name)->bytes) return {memory_facts::input, spec.name, 0, 0, {}};
    if (spec.is_input) continue;
    t.spec = spec;
    facts.outputs.emplace(spec.name, std::move(t));
  }
  return facts;
}

}  // namespace warpcheck::engine

#include "properties/engine/isolation/runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <vector>

#include "properties/engine/error.hpp"
#include "properties/engine/isolation/arena.hpp"
#include "properties/engine/isolation/confine.hpp"
#include "properties/engine/isolation/tape.hpp"
#include "properties/engine/processes/contain.hpp"
#include "properties/engine/trials/cpu_device.hpp"
#include "properties/engine/trials/device_tensor.hpp"
#include "properties/engine/trials/floating_point.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {
namespace {

constexpr size_t k_most_findings_bytes = arena::k_message / 2;

nlohmann::json description_of(const candidate_library& library, const warpcheck_device_api& api) {
  nlohmann::json operators = nlohmann::json::array();
  for (const listed_operator& op : library.operators()) {
    nlohmann::json variants = nlohmann::json::array();
    for (const listed_variant& v : op.variants) {
      nlohmann::json ranges = nlohmann::json::array();
      for (const warpcheck_range& r : v.ranges)
        ranges.push_back(std::array{r.min, r.max, r.dispatch_min, r.dispatch_max});
      variants.push_back({{"name", v.name}, {"dtypes", v.dtypes}, {"ranges", ranges}, {"accepts", bool(v.accepts)}});
    }
    operators.push_back({{"name", op.name},
                         {"device", static_cast<int>(op.device)},
                         {"dtypes", op.dtypes},
                         {"extents", op.extents},
                         {"variants", variants},
                         {"boundaries", op.boundaries},
                         {"states", op.states},
                         {"reserve", op.reserve.has_value()},
                         {"picks", op.publishes_picks()}});
  }
  return {{"name", library.name()},
          {"operators", operators},
          {"api", static_cast<int>(api.device)},
          {"guard_pages", &api == &cpu_device_api()},
          {"renews", can_renew_streams(api)},
          {"captures", api.capture_begin != nullptr}};
}

// A buffer of the candidate's device, and the parts of it that the judge reads.
struct buffer {
  char* memory = nullptr;
  std::map<size_t, size_t> seen;  // offset -> bytes
};

// A call in the form in which the candidate gets it.
struct received_call {
  std::vector<std::vector<int64_t>> numbers;
  std::vector<DLTensor> tensors;
  std::vector<const DLTensor*> inputs;
  std::vector<DLTensor*> outputs;
  std::vector<std::string> names;
  std::vector<warpcheck_scalar> scalars;
  std::string variant;
  char message[512] = "";
  warpcheck_call call = {};
};

class server {
 public:
  server(const arena& memory, warpcheck_device device, const std::string& library)
      : arena_(memory), library_(candidate_library::load(library)), api_(library_.api_for(device)) {
    if (!api_) api_ = &cpu_device_api();  // the judge refuses the candidate
  }

  std::string description() const {
    tape_writer out;
    out.put_text(description_of(library_, *api_).dump());
    return out.bytes();
  }

  // Executes the requests in `bytes`, in their order.
  std::string answer(std::string bytes) {
    tape_reader in(std::move(bytes));
    tape_writer out;
    while (!in.is_at_end()) serve(in, out);
    return out.bytes();
  }

 private:
  void serve(tape_reader& in, tape_writer& out) {
    switch (in.take<request>()) {
      case request::alloc: return allocate(in);
      case request::release: return release(in.take<uint64_t>());
      case request::copy_in: return copy_in(in);
      case request::forget: {
        const auto id = in.take<uint64_t>(), offset = in.take<uint64_t>();
        return api_->forget(at(id).memory + offset, in.take<uint64_t>());
      }
      case request::create_stream: return create_stream(in, out);
      case request::destroy_stream: {
        const auto id = in.take<uint64_t>();
        api_->stream_destroy(streams_.at(id));
        streams_.erase(id);
        return;
      }
      case request::call: return call(in, out);
      case request::synchronize: return synchronize(in, out);
      case request::accepts: return accepts(in, out);
      case request::reserve_bytes: return reserve_bytes(in, out);
      case request::renew_stream: {
        void* const stream = take_stream(in);
        std::string schedule;
        const warpcheck_stream_options options = take_options(in, schedule);
        return put_status(api_->stream_renew(stream, &options), out);
      }
      case request::capture_begin: return put_status(api_->capture_begin(take_stream(in)), out);
      case request::capture_replay: {
        void* const stream = take_stream(in);
        return put_status(api_->capture_replay(stream, in.take<int32_t>()), out);
      }
      case request::is_usable: return out.put<int32_t>(is_usable(*api_));
      case request::peek: {
        const auto id = in.take<uint64_t>(), offset = in.take<uint64_t>();
        return copy_out(id, offset, in.take<uint64_t>());
      }
    }
    throw std::runtime_error("a request is malformed");
  }

  buffer& at(uint64_t id) { return buffers_.at(id); }

  void allocate(tape_reader& in) {
    const auto id = in.take<uint64_t>(), bytes = in.take<uint64_t>(), misalign = in.take<uint64_t>(),
               element = in.take<uint64_t>();
    place_cpu_buffers(in.take<cpu_placement>());
    void* const memory = api_->alloc(bytes, misalign, element);
    if (!memory)
      device_failed(*api_, fmt::format("{} bytes do not fit the device's memory: {}", bytes, api_->last_error()));
    buffers_[id].memory = static_cast<char*>(memory);
  }

  void release(uint64_t id) {
    api_->release(at(id).memory);
    buffers_.erase(id);
  }

  void copy_in(tape_reader& in) {
    const auto id = in.take<uint64_t>(), offset = in.take<uint64_t>(), bytes = in.take<uint64_t>();
    buffer& b = at(id);
    if (api_->copy_in(b.memory + offset, arena_.at(id) + offset, bytes)) device_failed(*api_, api_->last_error());
    size_t& seen = b.seen[offset];
    seen = std::max<size_t>(seen, bytes);
  }

  void copy_out(uint64_t id, uint64_t offset, uint64_t bytes) {
    if (api_->copy_out(arena_.at(id) + offset, at(id).memory + offset, bytes)) device_failed(*api_, api_->last_error());
  }

  // 0 is the default stream.
  void* take_stream(tape_reader& in) {
    const auto id = in.take<uint64_t>();
    return id ? streams_.at(id) : nullptr;
  }

  static warpcheck_stream_options take_options(tape_reader& in, std::string& schedule) {
    schedule = in.take_text();
    auto options = in.take<warpcheck_stream_options>();
    options.schedule = schedule.empty() ? nullptr : schedule.c_str();
    return options;
  }

  void put_status(int status, tape_writer& out) {
    out.put<int32_t>(status);
    out.put_text(status ? api_->last_error() : "");
  }

  void create_stream(tape_reader& in, tape_writer& out) {
    const auto id = in.take<uint64_t>();
    std::string schedule;
    const warpcheck_stream_options options = take_options(in, schedule);
    void* const stream = api_->stream_create(&options);
    out.put_text(stream ? "" : api_->last_error());
    if (stream) streams_[id] = stream;
  }

  const listed_operator& take_operator(tape_reader& in) { return library_.operators().at(in.take<uint32_t>()); }

  void take_tensor(tape_reader& in, received_call& c) {
    auto tensor = in.take<DLTensor>();
    const auto id = in.take<uint64_t>();
    // `data` is an offset in the buffer, or no address of one.
    if (id != UINT64_MAX) tensor.data = at(id).memory + reinterpret_cast<intptr_t>(tensor.data);
    for (int64_t** const numbers : {&tensor.shape, &tensor.strides}) {
      const auto count = in.take<int32_t>();
      std::vector<int64_t>& list = c.numbers.emplace_back(static_cast<size_t>(std::max(count, 0)));
      for (int64_t& n : list) n = in.take<int64_t>();
      *numbers = count < 0 ? nullptr : list.data();
    }
    c.tensors.push_back(tensor);
  }

  void take_call(tape_reader& in, received_call& c) {
    const auto inputs = in.take<int32_t>(), outputs = in.take<int32_t>(), scalars = in.take<int32_t>();
    c.tensors.reserve(static_cast<size_t>(inputs + outputs));
    for (int32_t i = 0; i < inputs + outputs; ++i) take_tensor(in, c);
    for (int32_t i = 0; i < inputs; ++i) c.inputs.push_back(&c.tensors[static_cast<size_t>(i)]);
    for (int32_t i = inputs; i < inputs + outputs; ++i) c.outputs.push_back(&c.tensors[static_cast<size_t>(i)]);
    c.names.reserve(static_cast<size_t>(scalars));
    for (int32_t i = 0; i < scalars; ++i) {
      c.names.push_back(in.take_text());
      c.scalars.push_back({c.names.back().c_str(), in.take<double>()});
    }
    const bool is_forced = in.take<char>();
    c.variant = in.take_text();
    c.call = {sizeof c.call, c.inputs.data(), c.outputs.data(), c.scalars.data(),
              inputs,        outputs,         scalars,          is_forced ? c.variant.c_str() : nullptr,
              nullptr,       nullptr,         c.message,        sizeof c.message};
  }

  // Answers with the status, the message, what the candidate threw, the variants that ran and that are published, the
  // floating-point controls, and the buffer and the place of a touched page.
  void call(tape_reader& in, tape_writer& out) {
    const listed_operator& op = take_operator(in);
    void* const stream = take_stream(in);
    received_call& c = calls_.emplace_back();
    take_call(in, c);
    c.call.stream = stream;
    const auto reserve_id = in.take<uint64_t>();
    const auto reserve_bytes = in.take<int64_t>();
    void* const reserve = reserve_id == UINT64_MAX ? nullptr : at(reserve_id).memory;
    const pid_t self = getpid();
    warpcheck_status status = WARPCHECK_OK;
    std::string thrown;
    const unsigned controls = floating_point_controls();
    const auto make = [&] {
      try {
        status = reserve ? op.reserve.value().run(c.call, reserve, reserve_bytes) : op.run(c.call);
      } catch (...) {
        thrown = thrown_text(std::current_exception());
      }
    };
    std::optional<page_touch> touch;
    if (api_ == &cpu_device_api())
      touch = until_a_page_is_touched(make);
    else
      make();
    if (getpid() != self) _exit(0);                            // the candidate has forked, and this is the child
    if (fcntl(k_arena_descriptor, F_GETFD) < 0) std::abort();  // it closed a descriptor that it did not open
    const unsigned after = floating_point_controls();
    restore_floating_point_controls(controls);
    std::fflush(nullptr);
    c.message[sizeof c.message - 1] = '\0';
    out.put<int32_t>(status);
    out.put_text(c.message);
    out.put_text(thrown);
    const char* const used = c.call.used_variant;
    out.put<char>(used != nullptr);
    out.put_text(used ? std::string_view(used).substr(0, sizeof c.message) : "");
    out.put_text(status == WARPCHECK_OK && !touch && !c.call.variant ? op.picks(c.call) : "");
    out.put(after);
    out.put(touch ? id_of(touch->buffer) : UINT64_MAX);
    out.put<int64_t>(touch ? touch->offset : 0);
  }

  uint64_t id_of(const void* memory) const {
    const auto found = std::ranges::find_if(buffers_, [&](const auto& b) { return b.second.memory == memory; });
    return found == buffers_.end() ? UINT64_MAX - 1 : found->first;
  }

  struct findings {
    std::vector<std::pair<std::string, std::string>> list;
    size_t bytes = 0;
  };

  void synchronize(tape_reader& in, tape_writer& out) {
    findings found;
    const auto note = [](void* user, const char* kind, const char* text) {
      auto& f = *static_cast<findings*>(user);
      f.bytes += std::string_view(kind).size() + std::string_view(text).size() + 2 * sizeof(uint64_t);
      if (f.bytes <= k_most_findings_bytes) f.list.emplace_back(kind, text);
    };
    const int status = api_->stream_synchronize(take_stream(in), note, &found);
    calls_.clear();
    put_status(status, out);
    out.put<uint32_t>(static_cast<uint32_t>(found.list.size()));
    for (const auto& [kind, text] : found.list) {
      out.put_text(kind);
      out.put_text(text);
    }
    std::vector<std::pair<uint64_t, int64_t>> damaged;
    for (const auto& [id, b] : buffers_) {
      if (status) break;
      if (const int64_t offset = api_->check_guards(b.memory); offset != INT64_MIN) damaged.emplace_back(id, offset);
      for (const auto& [begin, bytes] : b.seen) copy_out(id, begin, bytes);
    }
    out.put<uint32_t>(static_cast<uint32_t>(damaged.size()));
    for (const auto& [id, offset] : damaged) {
      out.put(id);
      out.put(offset);
    }
  }

  void accepts(tape_reader& in, tape_writer& out) {
    const listed_operator& op = take_operator(in);
    const listed_variant& variant = op.variants.at(in.take<uint32_t>());
    received_call c;
    take_call(in, c);
    out.put<int32_t>(variant.accepts(&c.call));
  }

  void reserve_bytes(tape_reader& in, tape_writer& out) {
    const listed_operator& op = take_operator(in);
    received_call c;
    take_call(in, c);
    out.put<int64_t>(op.reserve.value().bytes(c.call));
  }

  const arena& arena_;
  const candidate_library& library_;
  const warpcheck_device_api* api_;
  std::map<uint64_t, buffer> buffers_;  // by the offset of their copies
  std::map<uint64_t, void*> streams_;
  std::list<received_call> calls_;  // until they are waited for: work that is queued may read the tensors' shapes
};

std::string refusal(answer_kind kind, const std::string& text) {
  tape_writer out;
  out.put(kind);
  out.put_text(text);
  return out.bytes();
}

std::string answer_to(const std::function<std::string()>& request) {
  try {
    return std::string(1, static_cast<char>(answer_kind::done)) + request();
  } catch (const device_lost& e) {
    return refusal(answer_kind::device_lost, e.what());
  } catch (const std::exception& e) {
    return refusal(answer_kind::environment_error, e.what());
  }
}

// Fails if the judge's memory can be read; tried before the candidate is loaded.
void check_memory_is_hidden() {
  const std::string path = fmt::format("/proc/{}/mem", getppid());
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  close(fd);
  throw environment_error(
      "isolate: this system lets a process read the memory of the one that judges it; --no-isolate runs the candidate "
      "in the process that judges it");
}

}  // namespace

void serve_candidate(const std::string& device, const std::string& library) {
  const arena memory(k_arena_descriptor);
  if (const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    // When memory runs out the kernel shall choose this process.
    if (write(fd, "1000", 4) != 4) std::fputs("the runner's score for the kernel is as before\n", stderr);
    close(fd);
  }
  std::optional<server> served;
  uint64_t number = 1;
  memory.write_answer(number, answer_to([&] {
                        confine(k_arena_descriptor + 1);
                        check_memory_is_hidden();
                        served.emplace(memory, device_from_name(device), library);
                        return served->description();
                      }));
  for (;;) {
    raise(SIGSTOP);
    const std::string bytes = memory.read_request(++number);
    memory.write_answer(number, answer_to([&] { return served->answer(bytes); }));
  }
}

}  // namespace warpcheck::engine

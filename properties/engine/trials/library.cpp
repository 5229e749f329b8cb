#include "properties/engine/trials/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>

#include "properties/engine/error.hpp"
#include "properties/engine/isolation/isolated_library.hpp"
#include "properties/engine/trials/cpu_device.hpp"
#include "properties/engine/trials/cpu_features.hpp"
#include "properties/engine/trials/null_kernels.hpp"

// Defined in a process that was linked with AddressSanitizer: only there can the sanitized build of the kernels be
// loaded.
extern "C" void __asan_init() __attribute__((weak));

namespace warpcheck::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_device_names[] = {"cpu", "cuda", "emulated"};

std::string last_dl_error() {
  const char* text = dlerror();
  return text ? text : "unknown reason";
}

struct named_library {
  std::string path, twin;
};
std::map<std::string, named_library, std::less<>>& named_libraries() {
  static std::map<std::string, named_library, std::less<>> names;
  return names;
}

// By name and operator.
std::map<std::pair<std::string, std::string>, const listed_operator*>& named_operators() {
  static std::map<std::pair<std::string, std::string>, const listed_operator*> names;
  return names;
}

// Finds the operator of a library by its name; the name of a formula operator has no ".op" there.
const listed_operator* find_listed(const candidate_library& library, std::string_view op, warpcheck_device device) {
  const listed_operator* const found = library.find(op, device);
  constexpr std::string_view k_formula = ".op";
  return found || !op.ends_with(k_formula) ? found : library.find(op.substr(0, op.size() - k_formula.size()), device);
}

// By operator and device.
std::map<std::string, std::map<warpcheck_device, named_library>, std::less<>>& builtin_libraries() {
  static std::map<std::string, std::map<warpcheck_device, named_library>, std::less<>> libraries;
  return libraries;
}

constexpr std::string_view k_required = "name, run, variants and boundaries are required";

const warpcheck_variant& variant_at(const warpcheck_operator& op, int i) {
  const auto* const first = reinterpret_cast<const char*>(op.variants);
  return *reinterpret_cast<const warpcheck_variant*>(first + static_cast<size_t>(i) * op.variants->struct_size);
}

std::string what_is_wrong(const warpcheck_operator& op) {
  // Fields may be appended, never taken away.
  constexpr size_t k_operator = offsetof(warpcheck_operator, run) + sizeof op.run;
  constexpr size_t k_variant = offsetof(warpcheck_variant, ranges) + sizeof op.variants->ranges;
  if (op.struct_size < k_operator)
    return fmt::format("struct_size is {}, must be at least {}", op.struct_size, k_operator);
  if (!op.name || !op.run || op.num_variants < 0 || (op.num_variants > 0 && !op.variants))
    return std::string(k_required);
  if (op.num_extents < 1 || op.num_extents > WARPCHECK_MAX_EXTENTS || !op.extent_names)
    return fmt::format("it has {} named extents, must have 1 to {}", op.extent_names ? op.num_extents : 0,
                       WARPCHECK_MAX_EXTENTS);
  for (int e = 0; e < op.num_extents; ++e) {
    if (!op.extent_names[e]) return fmt::format("extent {} has no name", e);
    if (op.boundaries[e].count < 0 || (op.boundaries[e].count > 0 && !op.boundaries[e].values))
      return std::string(k_required);
  }
  if (op.num_variants > 0 && op.variants->struct_size < k_variant)
    return fmt::format("a variant's struct_size is {}, must be at least {}", op.variants->struct_size, k_variant);
  for (int i = 0; i < op.num_variants; ++i)
    if (!variant_at(op, i).name) return fmt::format("variant {} has no name", i);
  return "";
}

// `libx.so` -> `libx.race.so`, the instrumented twin's conventional name.
std::string twin_path(const std::string& path) {
  const fs::path p(path);
  return (p.parent_path() / (p.stem().string() + ".race" + p.extension().string())).string();
}

}  // namespace

bool listed_variant::takes(int64_t size, size_t extent) const {
  const warpcheck_range& r = ranges[extent];
  return size >= r.min && (r.max < 0 || size <= r.max);
}

bool listed_variant::may_be_picked(int64_t size, size_t extent) const {
  const warpcheck_range& r = ranges[extent];
  return size >= r.dispatch_min && (r.dispatch_max < 0 || size <= r.dispatch_max);
}

listed_operator::listed_operator(const warpcheck_operator& op)
    : name(op.name),
      device(op.device),
      dtypes(op.dtypes),
      extents(op.extent_names, op.extent_names + op.num_extents),
      run_([run = op.run](warpcheck_call& call) { return run(&call); }),
      picks_(op.struct_size >= offsetof(warpcheck_operator, picks) + sizeof op.picks ? op.picks : nullptr) {
  for (int i = 0; i < op.num_variants; ++i) {
    const warpcheck_variant& v = variant_at(op, i);
    const bool knows_accepts = op.variants->struct_size >= offsetof(warpcheck_variant, accepts) + sizeof v.accepts;
    variants.push_back({v.name, v.dtypes, {v.ranges, v.ranges + op.num_extents}, knows_accepts ? v.accepts : nullptr});
  }
  for (int e = 0; e < op.num_extents; ++e)
    boundaries.emplace_back(op.boundaries[e].values, op.boundaries[e].values + op.boundaries[e].count);
}

listed_operator::listed_operator(std::string op, warpcheck_device on, uint32_t types,
                                 std::vector<std::string> of_extents,
                                 std::function<warpcheck_status(warpcheck_call&)> run)
    : name(std::move(op)),
      device(on),
      dtypes(types),
      extents(std::move(of_extents)),
      boundaries(extents.size()),
      run_(std::move(run)) {}

warpcheck_status listed_operator::run(warpcheck_call& call) const { return run_(call); }

std::string listed_operator::picks(const warpcheck_call& call) const {
  const char* const picked = picks_ ? picks_(&call) : nullptr;
  return picked ? picked : "";
}

bool listed_operator::lists(std::string_view variant) const {
  return std::ranges::any_of(variants, [&](const listed_variant& v) { return v.name == variant; });
}

const candidate_library& candidate_library::load_for(const std::string& path, warpcheck_device device) {
  const bool has_runner = is_isolating(device) && path != builtin_library("python");  // which has its interpreter
  return load(path, has_runner ? std::optional(device) : std::nullopt);
}

const candidate_library& candidate_library::load(const std::string& path, std::optional<warpcheck_device> isolated_on) {
  static std::map<std::pair<std::string, bool>, std::unique_ptr<candidate_library>> loaded;
  std::unique_ptr<candidate_library>& library = loaded[{path, isolated_on.has_value()}];
  if (library) return *library;
  std::unique_ptr<candidate_library> made(new candidate_library);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw environment_error(fmt::format("candidate: file '{}' not found", path));
  for (const char* stem : {"emulated", "race"})
    if (path == builtin_library(stem) && !emulated_problem().empty())
      throw environment_error("device emulated: " + emulated_problem());
  if (isolated_on) {
    isolated_library foreign = load_isolated(path, *isolated_on);
    made->name_ = std::move(foreign.name);
    made->api_ = foreign.api;
    made->operators_ = std::move(foreign.operators);
    library = std::move(made);
    return *library;
  }
  // Loads from an absolute path, so that dlopen does not search the system's folders; resolves all symbols now, so that
  // a missing one is an error here and not a crash in the middle of a run; local, so that two candidates never share a
  // symbol.
  void* handle = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw environment_error(fmt::format("candidate: '{}' does not load: {}", path, last_dl_error()));
  const auto get = reinterpret_cast<warpcheck_candidate_get_fn>(dlsym(handle, "warpcheck_candidate_get"));
  if (!get) throw environment_error(fmt::format("candidate: '{}' does not export warpcheck_candidate_get", path));
  const warpcheck_candidate* table = get(WARPCHECK_CANDIDATE_ABI);
  if (!table)
    throw environment_error(
        fmt::format("candidate: '{}' does not support ABI version {}", path, WARPCHECK_CANDIDATE_ABI));
  if (table->abi_version != WARPCHECK_CANDIDATE_ABI)
    throw environment_error(fmt::format("candidate: '{}' has ABI version {}; this warpcheck supports {}", path,
                                        table->abi_version, WARPCHECK_CANDIDATE_ABI));
  if (table->struct_size < sizeof(warpcheck_candidate) || table->num_operators < 0 ||
      (table->num_operators > 0 && !table->operators))
    throw environment_error(fmt::format("candidate: the table of '{}' is malformed (struct_size {}, num_operators {})",
                                        path, table->struct_size, table->num_operators));
  const auto states = reinterpret_cast<warpcheck_candidate_states_fn>(dlsym(handle, "warpcheck_candidate_states"));
  const auto reserves = reinterpret_cast<warpcheck_candidate_reserve_fn>(dlsym(handle, "warpcheck_candidate_reserve"));
  made->read(path, *table, states, reserves);
  library = std::move(made);
  return *library;
}

void candidate_library::read(const std::string& path, const warpcheck_candidate& table,
                             warpcheck_candidate_states_fn states, warpcheck_candidate_reserve_fn reserves) {
  name_ = table.name ? table.name : "";
  api_ = table.device_api;
  for (int i = 0; i < table.num_operators; ++i) {
    const warpcheck_operator* op = table.operators[i];
    const std::string wrong = !op ? "it is null" : what_is_wrong(*op);
    if (!wrong.empty())
      throw environment_error(fmt::format("candidate: operator {} of '{}' is malformed: {}", i, path, wrong));
    operators_.emplace_back(*op);
    if (const char* const text = states ? states(operators_.back().name.c_str()) : nullptr)
      operators_.back().states = text;
    if (const warpcheck_reserve* const r = reserves ? reserves(operators_.back().name.c_str()) : nullptr) {
      if (r->struct_size < sizeof *r || !r->bytes || !r->run)
        throw environment_error(
            fmt::format("candidate: the reserve of {} of '{}' is malformed: struct_size, bytes and run are required",
                        operators_.back().name, path));
      operators_.back().reserve = {
          [r](const warpcheck_call& call) { return r->bytes(&call); },
          [r](warpcheck_call& call, void* reserve, int64_t bytes) { return r->run(&call, reserve, bytes); }};
    }
    if (const int d = static_cast<int>(operators_.back().device);
        d < WARPCHECK_DEVICE_CPU || d > WARPCHECK_DEVICE_EMULATED)
      throw environment_error(
          fmt::format("candidate: operator {} of '{}' names device {}; cpu 0, cuda 1 and emulated 2 exist",
                      operators_.back().name, path, d));
    for (size_t k = 0; k + 1 < operators_.size(); ++k)
      if (operators_[k].name == operators_.back().name && operators_[k].device == operators_.back().device)
        throw environment_error(fmt::format("candidate: '{}' lists {} twice for one device", path, operators_[k].name));
  }
}

const listed_operator* candidate_library::find(std::string_view op, warpcheck_device device) const {
  const auto found =
      std::ranges::find_if(operators_, [&](const listed_operator& o) { return o.name == op && o.device == device; });
  return found == operators_.end() ? nullptr : &*found;
}

const warpcheck_device_api* candidate_library::api_for(warpcheck_device device) const {
  if (api_ && api_->device == device) return api_;
  if (device == WARPCHECK_DEVICE_CPU) return &cpu_device_api();
  const std::string path = device == WARPCHECK_DEVICE_CUDA ? builtin_library("cuda") : "";
  return path.empty() ? nullptr : load(path).api();
}

candidate open_candidate(std::string_view name, std::string_view op, std::string_view device_name) {
  const warpcheck_device device = device_from_name(device_name);
  if (name.starts_with(k_null_prefix)) {
    if (device != WARPCHECK_DEVICE_CPU)
      throw environment_error(fmt::format("candidate: '{}' is of device cpu, not {}", name, device_name));
    return {&null_operator(name.substr(k_null_prefix.size()), op), &cpu_device_api()};
  }
  if (const auto known = named_operators().find({std::string(name), std::string(op)});
      known != named_operators().end() && known->second->device == device)
    return {known->second, &cpu_device_api()};
  if (device == WARPCHECK_DEVICE_CUDA)
    if (const std::string problem = cuda_problem(); !problem.empty())
      throw environment_error("device cuda: " + problem);
  if (device == WARPCHECK_DEVICE_EMULATED)
    if (const std::string problem = emulated_problem(); !problem.empty())
      throw environment_error("device emulated: " + problem);
  std::string path(name), twin;
  std::error_code ignored;
  if (const auto own = builtin_libraries().find(op); name == "builtin" && own != builtin_libraries().end()) {
    const auto library = own->second.find(device);
    if (library == own->second.end())
      throw environment_error(fmt::format("device {}: the plug-in of {} has no library for it", device_name, op));
    path = library->second.path;
    twin = library->second.twin;
  } else if (name == "builtin") {
    if (device == WARPCHECK_DEVICE_CPU)
      throw environment_error("device cpu: there is no built-in candidate; name a library with --candidate");
    path = builtin_library(device_name);
    if (path.empty())
      throw environment_error(fmt::format("device {}: its candidate library is not part of this build", device_name));
    // In a sanitized process, the sanitizers are the detector.
    if (device == WARPCHECK_DEVICE_EMULATED) twin = __asan_init ? path : builtin_library("race");
  } else if (const auto named = named_libraries().find(name); named != named_libraries().end()) {
    path = named->second.path;
    twin = named->second.twin;
  } else if (device == WARPCHECK_DEVICE_EMULATED && fs::exists(twin_path(path), ignored)) {
    twin = twin_path(path);
  }
  const auto load = [&](const std::string& file) -> const candidate_library& {
    return name == "builtin" ? candidate_library::load(file) : candidate_library::load_for(file, device);
  };
  const candidate_library& library = load(path);
  candidate c;
  c.op = find_listed(library, op, device);
  if (!c.op) throw environment_error(fmt::format("candidate: '{}' offers no {} for device {}", path, op, device_name));
  c.api = library.api_for(device);
  if (device == WARPCHECK_DEVICE_EMULATED && !c.api)
    throw environment_error(fmt::format("candidate: '{}' runs on the emulated device but brings no device_api", path));
  if (!c.api) throw environment_error(fmt::format("device {}: this build has no memory interface for it", device_name));
  if (!twin.empty()) {
    const candidate_library& instrumented = load(twin);
    c.instrumented_op = find_listed(instrumented, op, device);
    c.instrumented_api = instrumented.api();
    if (!c.instrumented_op || !c.instrumented_api)
      throw environment_error(fmt::format("candidate: '{}' does not offer {} as its plain twin does", twin, op));
  }
  return c;
}

void name_candidate(const std::string& name, const std::string& path, const std::string& twin) {
  named_libraries()[name] = {path, twin};
}

void name_candidate(const std::string& name, const listed_operator& op) { named_operators()[{name, op.name}] = &op; }

void set_builtin(const std::string& op, warpcheck_device device, const std::string& path, const std::string& twin) {
  if (__asan_init)
    throw environment_error(fmt::format("operator {}: the sanitized command loads no plug-ins; use warpcheck", op));
  builtin_libraries()[op][device] = {path, twin};
}

std::string builtin_library(std::string_view stem) {
  if (stem == "emulated" && __asan_init) stem = "asan";
  // Every case opens its candidate, so search results are kept.
  static std::map<std::string, std::string, std::less<>> known;
  if (const auto at = known.find(stem); at != known.end()) return at->second;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  // The build tree and the bundle keep the libraries beside the executable, an installation below lib.
  for (const fs::path& folder : {here, here / ".." / "lib" / "warpcheck"}) {
    const fs::path path = folder / fmt::format("libwarpcheck_{}.so", stem);
    if (fs::exists(path, error)) return known.emplace(stem, path.lexically_normal().string()).first->second;
  }
  return "";
}

bool is_usable(const warpcheck_device_api& api) {
  constexpr size_t k_known = offsetof(warpcheck_device_api, usable) + sizeof api.usable;
  return api.struct_size < k_known || !api.usable || api.usable() != 0;
}

bool can_renew_streams(const warpcheck_device_api& api) {
  constexpr size_t k_known = offsetof(warpcheck_device_api, stream_renew) + sizeof api.stream_renew;
  return api.struct_size >= k_known && api.stream_renew;
}

std::string cuda_problem() {
  // Asked for each case. If a device was present and has failed since, that is the failure of a case.
  static bool was_there = false;
  if (was_there) return "";
  const std::string path = builtin_library("cuda");
  if (path.empty()) return "this build has no CUDA kernels (install the CUDA Toolkit and configure the preset cuda)";
  const warpcheck_device_api* api = candidate_library::load(path).api();
  was_there = api->describe() != nullptr;
  return was_there ? "" : api->last_error();
}

std::string describe_device(std::string_view device) {
  if (device == "cpu") return cpu_device_api().describe();
  const std::string path = builtin_library(device);
  if (path.empty()) return "not part of this build";
  if (device == "emulated" && !emulated_problem().empty()) return "unusable: " + emulated_problem();
  const warpcheck_device_api* api = candidate_library::load(path).api();
  const char* text = api->describe();
  return text ? text : api->last_error();
}

warpcheck_device device_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(k_device_names); ++i)
    if (k_device_names[i] == name) return static_cast<warpcheck_device>(i);
  throw usage_error(fmt::format("device: '{}' is not one of cpu, cuda, emulated", name));
}

std::string_view name_of(warpcheck_device device) { return k_device_names[device]; }

}  // namespace warpcheck::engine

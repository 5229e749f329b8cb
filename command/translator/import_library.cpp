#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <utility>
#include <vector>

#include "command/support.hpp"
#include "command/translator/importer.hpp"
#include "command/translator/ptx_module.hpp"
#include "command/translator/refusals.hpp"
#include "command/translator/user_macros.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/processes/run_folder.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;
using engine::usage_error;

// Returns a file name beside the cached one that no other process uses.
std::string private_path(const fs::path& folder, const std::string& name) {
  return (folder / fmt::format("{}.{}", name, getpid())).string();
}

[[noreturn]] void refuse(const std::string& file, const std::string& said) {
  throw usage_error(
      fmt::format("{} does not compile for the emulated device (docs/run_emulated.md lists what does):\n{}{}", file,
                  names_not_modelled(said), said));
}

// Returns the folder of the toolkit's headers, or "": from CUDA_HOME, from this build, or the usual place.
std::string toolkit_folder(const toolchain& tools) {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home != nullptr && *home != '\0')
      folders.push_back(std::string(home) + "/include");
  folders.insert(folders.end(), tools.cuda_includes().begin(), tools.cuda_includes().end());
  folders.push_back("/usr/local/cuda/include");
  std::error_code ignored;
  for (const std::string& folder : folders)
    if (fs::exists(fs::path(folder) / "cuda_runtime_api.h", ignored)) return folder;
  return "";
}

// Returns the folders searched last for headers: the toolkit's own, whose Thrust, libcu++ and cuRAND device API are
// plain C++ and device code; then stand-ins for Thrust and for the headers that NVIDIA's samples share.
std::vector<std::string> last_folders(const toolchain& tools) {
  std::vector<std::string> options;
  if (const std::string folder = toolkit_folder(tools); !folder.empty())
    options = {"-idirafter", folder + "/cccl", "-idirafter", folder};
  for (const std::string& folder : tools.import_folders())
    options.insert(options.end(), {"-idirafter", folder + "/stand_ins", "-idirafter", folder + "/samples"});
  return options;
}

// Returns a sentence on how to get a toolkit's header that the preprocessor did not find, or "".
std::string source_of_missing_header(const toolchain& tools, const std::string& said) {
  static const std::regex missing(R"(fatal error: '?((thrust|cub|cuda|nv|nvtx3)/[^ :']+|curand[^ :']*\.h)'?)");
  std::smatch name;
  if (!std::regex_search(said, name, missing)) return "";
  const std::string folder = toolkit_folder(tools);
  return folder.empty() ? fmt::format(
                              "<{}> is a header of the CUDA toolkit, which is not installed here; name its "
                              "folder of headers with -I, or set CUDA_HOME\n",
                              name.str(1))
                        : fmt::format("the CUDA toolkit in {} has no header <{}>\n", folder, name.str(1));
}

// Returns the first included header of the toolkit without a stand-in, as the source names it, or "".
std::string foreign_header(std::string_view preprocessed) {
  static const std::regex own(R"((^|/)(curand[^/]*$|nv/|nvtx3/)|/cccl/(cuda|thrust)/)");
  static const std::regex of_toolkit(
      R"((cu|nv|npp|crt/|sm_|texture_|surface_|vector_|device_|host_|driver_|channel_|builtin_types|common_functions))"
      R"(.*|(mma\.h|math_|thrust/|cooperative_).*)");
  std::set<std::string, std::less<>> seen;
  for (size_t at = 0; (at = preprocessed.find("\n# 1 \"", at)) != std::string_view::npos; ++at) {
    const size_t open = at + 6, close = preprocessed.find('"', open);
    std::string path(preprocessed.substr(open, close - open));
    if (!seen.insert(path).second || std::regex_search(path, own)) continue;
    std::error_code ignored;
    for (fs::path folder = fs::path(path).parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
      if (!fs::exists(folder / "cuda_runtime_api.h", ignored)) continue;
      const std::string name = fs::path(path).lexically_relative(folder).string();
      const std::string below = name.starts_with("cccl/") ? name.substr(5) : name;
      if (std::regex_match(below, of_toolkit) && !fs::exists(folder / "launch_functions.hpp", ignored)) return below;
    }
  }
  return "";
}

// True if a preprocessed source has PTX like "wmma.load.a.sync" ("wgmma" does not match).
bool has_wmma(std::string_view preprocessed) {
  return preprocessed.find("wmma.load.") != std::string_view::npos ||
         preprocessed.find("wmma.mma.") != std::string_view::npos;
}

// True if a source includes the toolkit's Thrust instead of the stand-in.
bool includes_thrust(std::string_view preprocessed) {
  return preprocessed.find("/thrust/detail/config") != std::string_view::npos &&
         preprocessed.find("/simt/import/stand_ins/thrust/") == std::string_view::npos;
}

// If the detector or the trace is called at each access, less optimisation and line tables alone halve the time to
// compile and do not slow the program. Small functions are inlined: a report names the lines of all functions into
// which an access was inlined. The flavour plain keeps -O2, because it judges many cases.
std::vector<std::string> effort_options(const toolchain& tools, const import_request& r) {
  if (r.flavour != "race" && !r.traced) return {};
  std::vector<std::string> options = {"-O1", "-g1", "-finline-small-functions"};
  // Local variables that nobody writes have the same value in each run, which wgmma recognises.
  if (tools.fills_locals()) options.push_back("-ftrivial-auto-var-init=pattern");
  return options;
}

// Options by which the compiler calls the functions of import/trace_hooks.hpp.
std::vector<std::string> trace_options(const toolchain& tools) {
  std::vector<std::string> options = {"-fsanitize=kernel-address", "-fno-sanitize-address-use-after-scope",
                                      "-fsanitize-coverage=trace-pc"};
  for (const char* setting : {"asan-stack=0", "asan-globals=0", "asan-instrumentation-with-call-threshold=0"}) {
    options.push_back(tools.is_clang() ? "-mllvm" : "--param");
    options.push_back(tools.is_clang() ? fmt::format("-{}", setting) : setting);
  }
  return options;
}

// Returns the user's macros, preceded by our headers if the macros would rewrite these. The macros' file has a path
// derived from its contents, because the path is part of the preprocessed text.
std::vector<std::string> macro_options(const toolchain& tools, const import_request& r, const std::string& file,
                                       const fs::path& folder) {
  const macro_order order = order_macros(file, r.defines, r.includes, tools);
  std::vector<std::string> options;
  for (const std::string& d : order.first) options.push_back("-D" + d);
  for (const std::string& header : order.headers) options.insert(options.end(), {"-include", header});
  if (order.last.empty()) return options;
  const std::string path =
      (folder / fmt::format("macros.{}.hpp", engine::sha256_hex(order.last).substr(0, 16))).string();
  write_file(path, order.last);
  options.insert(options.end(), {"-include", path});
  return options;
}

// Writes a file whose path, part of the preprocessed text, is derived from its contents.
std::string written_text(const std::string& text, const char* kind, const fs::path& folder) {
  const std::string path = (folder / fmt::format("{}.{}.cu", kind, engine::sha256_hex(text).substr(0, 16))).string();
  write_file(path, text);
  return path;
}

// Preprocesses a source and rewrites what plain C++ cannot express; C stays as it is.
imported_source rewritten_source(const toolchain& tools, const import_request& r, const std::string& file,
                                 const fs::path& folder, const module_source* of_module = nullptr) {
  compilation c;
  c.flavour = r.flavour;
  c.sources = {is_ptx_source(file) ? written_text(program_of(parse_ptx(read_text(file), file)), "ptx", folder) : file};
  const bool is_c = is_c_source(file);
  if (r.traced) c.options.push_back("-DSIMT_IMPORT_TRACE");
  if (is_c) {
    for (const std::string& d : r.defines) c.options.push_back("-D" + d);
  } else {
    for (const std::string& folder : tools.import_folders()) c.options.push_back("-I" + folder);
    c.options.insert(c.options.end(), {"-include", "cuda_runtime.h"});
    if (!r.standard.empty()) c.options.push_back("-std=" + r.standard);
    for (const std::string& header : r.headers) c.options.insert(c.options.end(), {"-include", header});
    const std::vector<std::string> macros = macro_options(tools, r, file, folder);
    c.options.insert(c.options.end(), macros.begin(), macros.end());
  }
  for (const std::string& include : r.includes) c.options.push_back("-I" + include);
  c.options.insert(c.options.end(), r.options.begin(), r.options.end());
  const std::vector<std::string> behind = last_folders(tools);
  c.options.insert(c.options.end(), behind.begin(), behind.end());
  const removed_file preprocessed{private_path(folder, "preprocessed")};
  c.output = preprocessed.path;
  if (const std::string said = tools.preprocess(c); !said.empty())
    refuse(file, source_of_missing_header(tools, said) + said);
  const std::string text = read_text(preprocessed.path);
  if (const std::string name = foreign_header(text); !name.empty())
    throw usage_error(
        fmt::format("{}: the CUDA toolkit's header <{}> is not modelled on the emulated device (docs/run_emulated.md "
                    "lists what is)",
                    file, name));
  if (is_c) {
    imported_source source;
    source.text = text;
    source.has_main = text.find(" main(") != std::string::npos;
    return source;
  }
  // Inline PTX with wmma needs fragments, which only programs with fragments of their own include.
  const std::string fragments = tools.root() + "/simt/import/ptx_wmma.hpp";
  if (has_wmma(text) && std::ranges::find(r.headers, fragments) == r.headers.end()) {
    import_request with = r;
    with.headers.push_back(fragments);
    return rewritten_source(tools, with, file, folder, of_module);
  }
  return rewrite_cuda(of_module == nullptr ? text : isolated(text, *of_module, folder.string()), file);
}

// The source of a module that the program loads.
imported_source rewritten_module(const toolchain& tools, const import_request& r, const module_source& m,
                                 const fs::path& folder) {
  if (m.is_ptx)
    return rewritten_source(tools, r, written_text(source_of(parse_ptx(m.text, m.name), m.key), "ptx", folder), folder);
  const nvrtc_settings settings = settings_of(m);
  const fs::path headers = folder / ("nvrtc." + m.key);
  import_request own = r;
  own.defines = settings.defines;
  own.includes = settings.includes;
  own.options.clear();
  for (const auto& [name, text] : m.headers) {
    const fs::path path = (headers / name).lexically_normal();
    if (path.lexically_relative(headers).native().starts_with(".."))
      throw usage_error(fmt::format("{}: the name of the header '{}' leaves its folder", m.name, name));
    fs::create_directories(path.parent_path());
    write_file(path.string(), text);
  }
  if (!m.headers.empty()) own.includes.push_back(headers.string());
  const std::string text = fmt::format("#include \"simt/import/modules.hpp\"\n#line 1 \"{}\"\n{}", m.name, m.text);
  imported_source source = rewritten_source(tools, own, written_text(text, "nvrtc", folder), folder, &m);
  source.text += registration_of(m, source.single_kernels, source.variables);
  return source;
}

// Imports all sources of a program. Throws usage_error with the refusals of all of them.
std::vector<imported_source> rewritten_sources(const toolchain& tools, const import_request& r,
                                               const std::vector<std::string>& files, const fs::path& folder) {
  std::vector<imported_source> sources;
  std::vector<std::string> refused;
  for (const std::string& file : files) {
    try {
      sources.push_back(rewritten_source(tools, r, file, folder));
      for (const import_error& e : sources.back().errors) refused.push_back(describe(e));
    } catch (const usage_error& e) {
      refused.push_back(e.what());
    }
  }
  for (const module_source& m : r.modules) {
    sources.push_back(rewritten_module(tools, r, m, folder));
    for (const import_error& e : sources.back().errors) refused.push_back(describe(e));
  }
  if (!refused.empty()) throw usage_error(fmt::format("{}", fmt::join(refused, "\n")));
  return sources;
}

// Compiles again what nvcc accepts and g++ refused: `using Array = Array<T>` in a class that has already used the name,
// and types without `typename` where only C++20 allows them. Returns what the compiler says.
std::string compiled_leniently(const toolchain& tools, const import_request& r, compilation& c, std::string said) {
  constexpr std::pair<const char*, const char*> remedies[] = {{"changes meaning of", "-fpermissive"},
                                                              {"is a dependent scope", "-std=c++20"}};
  for (const auto& [complaint, option] : remedies) {
    if (said.find(complaint) == std::string::npos || (r.standard > "c++17" && option[1] == 's')) continue;
    c.options.push_back(option);
    said = tools.compile(c);
  }
  return said;
}

// Returns the options of the library's own compilation.
std::vector<std::string> options_of(const toolchain& tools, const import_request& r,
                                    const std::vector<std::string>& effort, bool may_copy) {
  // Reports name the file as the user did, whatever the current folder.
  std::vector<std::string> options = {fmt::format("-ffile-prefix-map={}=.", fs::current_path().string()), "-w"};
  options.insert(options.end(), effort.begin(), effort.end());
  if (!r.standard.empty()) options.push_back("-std=" + r.standard);
  // The flavour handles these checks; the second one makes a function end where its return is missing.
  if (r.flavour == "race") options.push_back("-fsanitize=alignment,object-size");
  if (r.flavour == "race" && !may_copy && !tools.is_clang()) options.push_back("-felide-constructors");
  options.push_back(tools.is_clang() ? "-fno-strict-return" : "-fsanitize=unreachable");
  if (r.traced) {
    const std::vector<std::string> follow = trace_options(tools);
    options.insert(options.end(), follow.begin(), follow.end());
  }
  return options;
}

// Returns the standard headers that a compiler's messages ask for: older libraries included them in others.
std::vector<std::string> asked_for_headers(const std::string& said) {
  static const std::regex asks(R"(is defined in header \S*?<([a-z_]+)>)");
  std::set<std::string> names;
  for (auto at = std::sregex_iterator(said.begin(), said.end(), asks); at != std::sregex_iterator(); ++at)
    names.insert(at->str(1));
  return {names.begin(), names.end()};
}

}  // namespace

std::string import_folder(const toolchain& tools) {
  std::error_code error;
  const fs::path beside = fs::path(tools.build_folder()) / "imported";
  fs::create_directories(beside, error);
  if (!error && access(beside.c_str(), W_OK) == 0) return beside.string();
  const fs::path own = fs::path(engine::temporary_folder()) / fmt::format("warpcheck-imported-{}", getuid());
  fs::create_directories(own, error);
  fs::permissions(own, fs::perms::owner_all, error);
  if (access(own.c_str(), W_OK) != 0)
    throw environment_error(fmt::format("import: neither '{}' nor '{}' can be written", beside.string(), own.string()));
  return own.string();
}

const imported_function& find_entry(const std::vector<imported_function>& defined, const std::string& name,
                                    const std::string& file) {
  std::string plain = name.substr(0, name.find('<'));
  if (plain.starts_with("::")) plain.erase(0, 2);
  std::string names;
  std::vector<const imported_function*> found;
  for (const bool is_included : {false, true}) {
    std::vector<const imported_function*> same, likely;
    for (const imported_function& f : defined) {
      if (f.is_included != is_included) continue;
      if (f.name == plain) same.push_back(&f);
      if (f.name.ends_with("::" + plain)) likely.push_back(&f);
      if (!is_included && !f.is_kernel && names.find(f.name) == std::string::npos)
        names += (names.empty() ? "" : ", ") + f.name;
    }
    if (found.empty()) found = same.empty() ? likely : same;
  }
  if (found.empty())
    throw usage_error(
        fmt::format("entry: {} defines no function '{}'; it defines {}", file, name, names.empty() ? "none" : names));
  if (found.size() > 1)
    throw usage_error(fmt::format("entry: {} defines {} functions '{}'; the entry must be the only one of its name",
                                  file, found.size(), name));
  if (found.front()->is_kernel)
    throw usage_error(
        fmt::format("entry: '{}' is a kernel; name a function of the host that launches it{}", name,
                    names.empty() ? fmt::format(", which {} must define", file) : fmt::format(", such as {}", names)));
  return *found.front();
}

std::string import_library(const toolchain& tools, const import_request& r) {
  std::vector<std::string> files = {r.file};
  files.insert(files.end(), r.others.begin(), r.others.end());
  std::error_code error;
  for (const std::string& file : files)
    if (!fs::is_regular_file(file, error)) throw usage_error(fmt::format("source: file '{}' not found", file));
  const fs::path folder = import_folder(tools);

  std::vector<imported_source> sources = rewritten_sources(tools, r, files, folder);
  const bool has_main = std::ranges::any_of(sources, [](const auto& s) { return s.has_main; });
  if (r.needs_main && !has_main) throw usage_error(fmt::format("{} has no function main() to run", r.file));
  const std::string epilogue =
      r.entry.empty() ? r.epilogue : r.epilogue_of(find_entry(sources.front().functions, r.entry, r.file));
  sources.front().text += "\n# 1 \"warpcheck\"\n";
  if (std::ranges::any_of(sources, [](const auto& s) { return includes_thrust(s.text); }))
    sources.front().text += "#define SIMT_INCLUDES_THRUST\n";
  sources.front().text += epilogue;

  std::string all;
  for (const imported_source& s : sources) all += s.text;
  const std::vector<std::string> effort = effort_options(tools, r);
  const std::string built_as =
      fmt::format("{}{}{}{}", r.flavour, r.traced ? "+trace" : "", r.standard, fmt::join(effort, ""));
  const std::string stem = engine::sha256_hex(tools.fingerprint() + built_as + all).substr(0, 32);
  const fs::path library = folder / fmt::format("{}{}.so", stem, r.flavour == "race" ? ".race" : "");
  if (fs::exists(library, error)) return library.string();

  compilation c;
  c.flavour = r.flavour;
  std::vector<std::unique_ptr<removed_file>> written;
  for (size_t i = 0; i < sources.size(); ++i) {
    const char* const suffix = i < files.size() && is_c_source(files[i]) ? ".c" : ".cpp";
    written.push_back(std::make_unique<removed_file>(private_path(folder, fmt::format("{}.{}", stem, i)) + suffix));
    write_file(written.back()->path, sources[i].text);
    c.sources.push_back(written.back()->path);
  }
  const bool may_copy = std::ranges::none_of(sources, [](const auto& s) { return s.needs_elision; });
  c.options = options_of(tools, r, effort, may_copy);
  // Without -fopenmp, as nvcc compiles it, a region runs on one thread.
  if (all.find("/omp.h\"") != std::string::npos) c.archives.push_back("-lgomp");
  c.output = private_path(folder, stem);
  std::string said = tools.compile(c);
  said = compiled_leniently(tools, r, c, said);
  if (r.headers.empty()) {
    import_request again = r;
    again.headers = asked_for_headers(said);
    if (!again.headers.empty()) return import_library(tools, again);
  }
  if (!said.empty()) refuse(r.file, said);
  fs::rename(c.output, library);
  return library.string();
}

}  // namespace warpcheck::cli

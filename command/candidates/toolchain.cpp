#include "command/candidates/toolchain.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command/process.hpp"
#include "command/support.hpp"
#include "command/terminal.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/files/sha256.hpp"
#include "properties/engine/processes/run_folder.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;

constexpr const char* k_file = "warpcheck_toolchain.json";

fs::path executable_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

// The folder of k_file, if there is one.
struct place {
  fs::path folder;
  bool installed = false;

  std::string absolute(const std::string& text) const {
    return text.empty() || text[0] == '/' ? text : (folder / text).lexically_normal().string();
  }
};

place place_of(const fs::path& folder) {
  if (!fs::exists(folder / k_file))
    for (const fs::path& lib : {folder / ".." / "lib" / "warpcheck", folder / "lib" / "warpcheck"})
      if (fs::exists(lib / k_file)) return {fs::canonical(lib), true};
  return {folder, false};
}

// CMake joins an option and its argument as "SHELL:--param name=value".
void append_option(std::vector<std::string>& options, const std::string& text) {
  if (text.empty()) return;
  if (!text.starts_with("SHELL:")) {
    options.push_back(text);
    return;
  }
  std::istringstream words(text.substr(6));
  for (std::string word; words >> word;) options.push_back(word);
}

void require_file(const std::string& path, const char* what, const char* remedy = "") {
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw environment_error(
        fmt::format("toolchain: {} '{}' that this build was made with is missing{}", what, path, remedy));
}

void require_folders(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) require_file(folder, "the include folder");
}

// Removes the empty entries and repetitions of CMake's lists.
std::vector<std::string> folders_of(const nlohmann::json& list) {
  std::vector<std::string> folders;
  for (const std::string folder : list)
    if (!folder.empty() && std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  return folders;
}

// Returns the program, or if it is not there the one of that name on PATH.
std::string find_program(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || fs::exists(path, ignored)) return path;
  const char* folders = std::getenv("PATH");
  std::istringstream list(folders ? folders : "");
  for (std::string folder; std::getline(list, folder, ':');)
    if (const fs::path at = fs::path(folder) / fs::path(path).filename(); access(at.c_str(), X_OK) == 0)
      return at.string();
  return path;
}

// Returns the compiler of a CUDA Toolkit on PATH or in the folder of its packages; empty if there is none.
std::string find_nvcc() {
  std::error_code ignored;
  for (const std::string& path : {find_program("nvcc"), std::string("/usr/local/cuda/bin/nvcc")})
    if (path[0] == '/' && fs::exists(path, ignored)) return path;
  return "";
}

const char* language_of(const std::string& source) { return is_c_source(source) ? "c" : "c++"; }

// The folder of this user for the libraries that an installed command compiles.
std::string user_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return std::string(cache) + "/warpcheck";
  if (const char* home = std::getenv("HOME"); home && *home == '/') return std::string(home) + "/.cache/warpcheck";
  return fmt::format("{}/warpcheck-{}", engine::temporary_folder(), getuid());
}

// A folder for intermediate files that is removed with the object.
class scratch_folder {
 public:
  explicit scratch_folder(fs::path path) : path_(std::move(path)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// True from g++ 12 on, which has -ftrivial-auto-var-init. The version: "g++ (Debian 12.2.0-14) 12.2.0" and more lines.
bool has_patterns(const std::string& version) {
  const std::string first_line = version.substr(0, version.find('\n'));
  return std::atoi(first_line.c_str() + first_line.rfind(' ') + 1) >= 12;
}

}  // namespace

bool is_c_source(std::string_view file) { return file.ends_with(".c"); }

std::string replaced(std::string text, const std::string& old_text, const std::string& new_text) {
  for (size_t at = 0; (at = text.find(old_text, at)) != std::string::npos; at += new_text.size())
    text.replace(at, old_text.size(), new_text);
  return text;
}

command_result run_command(const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw environment_error(fmt::format("{}: no pipe: {}", arguments[0], std::strerror(errno)));
  pid_t child = 0;
  const int error = start({arguments, -1, ends[1]}, child);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    throw environment_error(fmt::format("'{}' cannot be started: {}", arguments[0], std::strerror(error)));
  }
  command_result result;
  char chunk[4096];
  for (ssize_t n = 0; (n = read(ends[0], chunk, sizeof chunk)) != 0;) {
    if (n < 0 && errno == EINTR) {
      if (interrupt_watch::seen()) kill(child, SIGTERM);
      continue;
    }
    if (n < 0) break;
    result.output.append(chunk, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (interrupt_watch::seen()) throw interrupted(arguments[0] + ": interrupted");
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Inserting an empty text by operator<< counts as an error.
  bool whole = file.is_open();
  if (whole && file.peek() != std::ifstream::traits_type::eof()) whole = (text << file.rdbuf()).good();
  if (!whole || file.bad())
    throw environment_error(fmt::format("file '{}' cannot be read: {}", path, std::strerror(errno)));
  return text.str();
}

std::string file_sha256(const std::string& path) { return engine::sha256_hex(read_text(path)); }

std::string source_root() {
  const place at = place_of(executable_folder());
  if (!fs::exists(at.folder / k_file)) return "";
  const nlohmann::json json = nlohmann::json::parse(read_text((at.folder / k_file).string()), nullptr, false);
  return json.is_object() ? at.absolute(json.value("root", "")) : "";
}

std::string reporting_folder() {
  const place at = place_of(executable_folder());
  return at.installed ? (at.folder / "reporting").string() : source_root() + "/command/report/reporting";
}

std::string formula_folder() {
  const place at = place_of(executable_folder());
  const std::string folder = at.installed ? (at.folder / "formulas").string() : source_root() + "/formulas";
  std::error_code ignored;
  return fs::is_directory(folder, ignored) ? folder : "";
}

toolchain toolchain::load(const std::string& asked) {
  const auto [folder, installed] = place_of(asked.empty() ? executable_folder() : fs::path(asked));
  const fs::path path = folder / k_file;
  if (!fs::exists(path))
    throw environment_error(
        fmt::format("toolchain: there is no {} in {} or its lib/warpcheck, so kernels cannot be compiled", k_file,
                    folder.string()));
  const auto absolute = [at = place{folder, installed}](const std::string& text) { return at.absolute(text); };
  const std::string text = read_text(path.string());
  toolchain t;
  t.installed_ = installed;
  t.build_folder_ = installed ? user_folder() : folder.string();
  std::string parts = text;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    t.compiler_ = find_program(json.at("compiler"));
    t.launcher_ = json.at("launcher");
    t.objcopy_ = find_program(json.at("objcopy"));
    t.ninja_ = json.at("ninja");
    t.ctest_ = json.at("ctest");
    t.root_ = absolute(json.at("root"));
    for (const std::string part : {json.at("root"), json.at("names")})
      t.import_folders_.push_back(absolute(part) + "/simt/import");
    t.version_ = json.at("version");
    t.batch_invariant_ = json.at("batch_invariant").get<std::vector<std::string>>();
    t.nvcc_ = json.at("cuda").at("compiler");
    if (installed && t.nvcc_.empty()) t.nvcc_ = find_nvcc();
    t.cuda_includes_ = folders_of(json.at("cuda").at("includes"));
    for (std::string& include : t.cuda_includes_) include = absolute(include);
    for (const auto& [name, j] : json.at("flavours").items()) {
      flavour& f = t.flavours_[name];
      f.options = {"-std=c++17", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"};
      for (const std::string option : j.at("options")) append_option(f.options, option);
      for (const std::string definition : j.at("definitions"))
        if (!definition.empty()) f.options.push_back("-D" + definition);
      std::vector<std::string> includes = folders_of(j.at("includes"));
      for (std::string& include : includes) include = absolute(include);
      if (installed) f.options.push_back("-ffile-prefix-map=" + t.root_ + "/=");
      require_folders(includes);
      for (const std::string& include : includes) f.options.push_back("-I" + include);
      for (const std::string named : j.at("libraries")) {
        const std::string library = absolute(named);
        require_file(library, "the library");
        parts += file_sha256(library);
        f.libraries.push_back(library);
      }
    }
  } catch (const nlohmann::json::exception& e) {
    throw environment_error(fmt::format("toolchain: {} is malformed: {}", path.string(), e.what()));
  }
  require_file(t.compiler_, "the compiler", "; install the package g++");
  require_file(t.objcopy_, "objcopy", "; install the package binutils");
  const std::string compiler_version = run_command({t.compiler_, "--version"}).output;
  t.is_clang_ = compiler_version.find("clang") != std::string::npos;
  t.fills_locals_ = !t.is_clang_ && has_patterns(compiler_version);
  parts += compiler_version;
  t.fingerprint_ = engine::sha256_hex(parts);
  return t;
}

std::vector<std::string> toolchain::compiler_command(const compilation& c) const {
  const auto found = flavours_.find(c.flavour);
  if (found == flavours_.end())
    throw environment_error(fmt::format("toolchain: this build has no flavour '{}'", c.flavour));
  std::vector<std::string> command;
  if (!launcher_.empty()) command.push_back(launcher_);
  command.push_back(compiler_);
  for (const std::string& overlay : c.overlays) command.push_back("-I" + overlay);
  command.insert(command.end(), found->second.options.begin(), found->second.options.end());
  // Reports name files as in the source tree.
  for (const std::string& overlay : c.overlays) command.push_back("-ffile-prefix-map=" + overlay + "/=");
  command.push_back("-Wno-error");
  command.insert(command.end(), c.options.begin(), c.options.end());
  return command;
}

std::string toolchain::preprocess(const compilation& c) const {
  std::vector<std::string> command = compiler_command(c);
  command.insert(command.end(), {"-x", language_of(c.sources.at(0)), "-E", c.sources.at(0), "-o", c.output});
  const command_result r = run_command(command);
  return r.status == 0 ? "" : r.output;
}

std::string toolchain::compile(const compilation& c) const {
  const auto found = flavours_.find(c.flavour);
  if (found == flavours_.end())
    throw environment_error(fmt::format("toolchain: this build has no flavour '{}'", c.flavour));
  const flavour& f = found->second;
  const scratch_folder scratch(c.output + ".parts");
  const progress_line waiting("compiling " + c.sources.at(0));

  std::vector<std::string> objects;
  std::string said;  // of all sources, so that a user sees every refusal at once
  for (const std::string& source : c.sources) {
    std::vector<std::string> command = compiler_command(c);
    if (c.cpu_seconds > 0) command.insert(command.begin(), {"prlimit", fmt::format("--cpu={}", c.cpu_seconds)});
    objects.push_back(scratch.file(fmt::format("{}.o", objects.size())));
    command.insert(command.end(), {"-x", language_of(source), "-c", source, "-o", objects.back()});
    if (command_result r = run_command(command); r.status != 0) {
      said += r.output.empty() ? fmt::format("the compiler ended with status {}", r.status) : r.output;
      continue;
    }
    std::vector<std::string> rename = {objcopy_};
    if (!is_c_source(source)) rename.insert(rename.end(), {"--redefine-sym", "clock=simt_kernel_clock"});
    if (c.flavour == "race") {
      for (const char* symbols :
           {is_clang_ ? "memcpy=__tsan_memcpy" : "memcpy=simt_kernel_memcpy", "memset=__tsan_memset",
            "memmove=__tsan_memmove", "_Znwm=simt_kernel_new", "_Znam=simt_kernel_new_array",
            "_ZNSt6chrono3_V212steady_clock3nowEv=simt_host_steady_now",
            "_ZNSt6chrono3_V212system_clock3nowEv=simt_host_system_now"})
        rename.insert(rename.end(), {"--redefine-sym", symbols});
      for (const char* name : {"malloc", "frexp", "frexpf", "modf", "modff", "remquo", "remquof"})
        rename.insert(rename.end(), {"--redefine-sym", fmt::format("{0}=simt_kernel_{0}", name)});
      for (const char* name :
           {"time", "gettimeofday", "clock_gettime", "timespec_get", "times", "getrusage", "syscall"})
        rename.insert(rename.end(), {"--redefine-sym", fmt::format("{0}=simt_host_{0}", name)});
    }
    rename.push_back(objects.back());
    if (const command_result r = run_command(rename); r.status != 0) return r.output;
  }

  if (!said.empty()) return said;

  const std::string library = scratch.file("library.so");
  std::vector<std::string> link = {compiler_, "-shared", "-o", library};
  link.insert(link.end(), objects.begin(), objects.end());
  link.insert(link.end(), c.archives.begin(), c.archives.end());
  link.insert(link.end(), f.libraries.begin(), f.libraries.end());
  // As for the built-in candidates, each library has its own executor, and a missing symbol is an error here.
  for (const char* word :
       {"-Wl,-Bsymbolic", "-Wl,--exclude-libs,ALL", "-Wl,-z,defs", "-static-libstdc++", "-static-libgcc", "-pthread"})
    link.push_back(word);
  if (command_result r = run_command(link); r.status != 0) return r.output;
  fs::rename(library, c.output);
  return "";
}

std::string toolchain::lacks_nvcc() const {
  if (nvcc_.empty())
    return installed_ ? "there is no nvcc on PATH or in /usr/local/cuda/bin; install the CUDA Toolkit"
                      : "this build has no nvcc; the preset cuda (WARPCHECK_CUDA=ON) makes one that has";
  std::error_code ignored;
  return fs::exists(nvcc_, ignored)
             ? ""
             : fmt::format("the compiler '{}' that this build was made with is missing; install the CUDA Toolkit",
                           nvcc_);
}

std::string toolchain::run_nvcc(const std::vector<std::string>& options, const std::string& source,
                                const std::string& output) const {
  if (const std::string lacked = lacks_nvcc(); !lacked.empty()) throw environment_error("toolchain: " + lacked);
  require_folders(cuda_includes_);
  const scratch_folder scratch(output + ".parts");
  const progress_line waiting("compiling " + source);
  const std::string made = scratch.file("made");
  std::vector<std::string> command = {nvcc_, "-std=c++17"};
  command.insert(command.end(), options.begin(), options.end());
  for (const std::string& include : cuda_includes_) command.push_back("-I" + include);
  command.insert(command.end(), {source, "-o", made});
  if (command_result r = run_command(command); r.status != 0)
    return r.output.empty() ? fmt::format("nvcc ended with status {}", r.status) : r.output;
  fs::rename(made, output);
  return "";
}

std::string toolchain::compile_cuda(const std::string& source, const std::string& output,
                                    const std::vector<std::string>& options) const {
  std::vector<std::string> all = {"-O3",     "-arch=native", "-lineinfo",
                                  "-shared", "-Xcompiler",   "-fPIC,-fvisibility=hidden"};
  all.insert(all.end(), options.begin(), options.end());
  return run_nvcc(all, source, output);
}

std::string toolchain::preprocess_cuda(const std::string& source, const std::string& output,
                                       const std::vector<std::string>& options) const {
  std::vector<std::string> all = {"-E"};
  all.insert(all.end(), options.begin(), options.end());
  return run_nvcc(all, source, output);
}

std::string toolchain::module_source(const std::vector<std::string>& operators, std::string_view flavour) const {
  std::string declarations, entries, batch_invariant;
  for (const std::string& op : operators) {
    if (std::ranges::find(batch_invariant_, op) != batch_invariant_.end())
      batch_invariant += fmt::format("\"{}\", ", op);
    declarations += fmt::format("const warpcheck_operator* warpcheck_operator_{}_emulated(void);\n", op);
    entries += fmt::format("warpcheck_operator_{}_emulated(), ", op);
  }
  std::string text = read_text(root_ + "/abi/candidate_module.cpp.in");
  text = replaced(text, "@declarations@", declarations);
  text = replaced(text, "@entries@", entries);
  text = replaced(text, "@batch_invariant@", batch_invariant);
  text = replaced(text, "@device@", "emulated");
  text = replaced(text, "@flavour@", std::string(flavour));
  return replaced(text, "@PROJECT_VERSION@", version_);
}

}  // namespace warpcheck::cli

#include "command/mutants/mutant_build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "command/support.hpp"
#include "properties/engine/error.hpp"

namespace warpcheck::cli {
namespace {

namespace fs = std::filesystem;
using engine::environment_error;

// Ten times the time of the slowest original, because a mutant may make the compiler instantiate without end.
constexpr int k_cpu_seconds = 240;
// Little optimisation, because compilation is most of a mutant's cost. With lines, because reports name them.
constexpr const char* k_trial_options = "-O1 -g1 -w";
constexpr const char* k_code_options = "-O2 -g0 -w";

std::vector<std::string> words_ending(const std::string& text, const std::string& end) {
  std::istringstream words(text);
  std::vector<std::string> found;
  for (std::string word; words >> word;)
    if (word.ends_with(end)) found.push_back(word);
  return found;
}

command_result run_shell(const std::string& text) { return run_command({"sh", "-c", text}); }

// True for objects of the product, in the builds that people use.
bool is_product(const std::string& object) {
  for (const char* other : {"tests/", "properties/controls/known_bad/", "bench/", "_asan", "_portable"})
    if (object.find(other) != std::string::npos) return false;
  return true;
}

}  // namespace

std::string shell_word(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

mutant_build::mutant_build(const toolchain& t, const mutant& m, std::string folder)
    : tools_(t), mutant_(m), folder_(std::move(folder)), overlay_(folder_ + "/mutant") {
  if (t.ninja().empty())
    throw environment_error("mutants: judging by tests needs a build made with Ninja (a preset of CMakePresets.json)");
  const std::string path = t.build_folder() + "/compile_commands.json";
  for (const auto& j : nlohmann::json::parse(read_text(path))) {
    if (const std::string text = j.at("command"); text.find(" -o ") != std::string::npos) {
      const size_t name = text.rfind(" -o ") + 4;
      commands_[text.substr(name, text.find(' ', name) - name)] = {j.at("directory"), text, j.at("file")};
    }
  }
  fs::remove_all(folder_);
  fs::create_directories(fs::path(overlay_ + "/" + m.file).parent_path());
  write_file(overlay_ + "/" + m.file, mutated_text(m, t.root()));
}

mutant_build::~mutant_build() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string mutant_build::ninja(const std::string& arguments) const {
  const command_result r = run_shell(
      fmt::format("cd {} && exec {} {}", shell_word(tools_.build_folder()), shell_word(tools_.ninja()), arguments));
  if (r.status != 0) throw environment_error(fmt::format("ninja {}: {}", arguments, r.output));
  return r.output;
}

std::vector<std::string> mutant_build::dependents(const std::vector<std::string>& objects) {
  std::string names;
  for (const std::string& o : objects) names += " " + shell_word(o);
  std::istringstream lines(ninja("-t deps" + names));
  const fs::path build = tools_.build_folder(), file = fs::path(tools_.root()) / mutant_.file;
  std::vector<std::string> found;
  std::string object;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(": #deps ") != std::string::npos)
      object = line.substr(0, line.find(": #deps "));
    else if (const size_t at = line.find_first_not_of(' '); at != std::string::npos)
      // A compiler cache may name a file by its path from the build folder.
      if ((build / line.substr(at)).lexically_normal() == file) found.push_back(object);
  }
  return found;
}

std::optional<std::string> mutant_build::object(const std::string& name, const std::string& overlay,
                                                const std::string& options, std::string& error) {
  const auto found = commands_.find(name);
  if (found == commands_.end()) throw environment_error(fmt::format("compile_commands.json has no '{}'", name));
  const command& c = found->second;
  const std::string original = tools_.root() + "/" + mutant_.file, mutated = overlay + "/" + mutant_.file;
  const std::string base = fmt::format("{}/{}", overlay, replaced(name, "/", "_"));
  const std::string output = base + ".o", used = base + ".d";

  // Files that CMake generates (unity files, wrappers of .cu files) include sources by their whole path.
  std::string source = c.source == original ? mutated : c.source;
  if (source == c.source && source.starts_with(tools_.build_folder() + "/")) {
    const std::string text = read_text(source);
    if (text.find(original) != std::string::npos) write_file(source = base + ".cpp", replaced(text, original, mutated));
  }
  const size_t arguments = c.text.find(' '), end = c.text.rfind(" -o ");
  const std::string text = fmt::format(
      "cd {} && exec prlimit --cpu={} {} -I{} {} -Wno-error {} -ffile-prefix-map={}/= -MD -MF {} -o {} -c {}",
      shell_word(c.directory), k_cpu_seconds, c.text.substr(0, arguments), shell_word(overlay),
      c.text.substr(arguments, end - arguments), options, shell_word(overlay), shell_word(used), shell_word(output),
      shell_word(source));
  if (const command_result r = run_shell(text); r.status != 0) {
    error = r.output.empty() ? fmt::format("the compiler ended with status {}", r.status) : r.output;
    return std::nullopt;
  }
  if (read_text(used).find(mutated) == std::string::npos)
    throw environment_error(
        fmt::format("{}: '{}' was compiled without the mutated {}", mutant_.id, name, mutant_.file));
  return output;
}

std::string mutant_build::link(const std::string& program, std::string& result) {
  result.clear();
  std::string link = ninja("-t commands -s " + shell_word(program));
  while (link.ends_with('\n')) link.pop_back();

  std::vector<std::string> own = words_ending(link, ".o"), all = own;
  std::map<std::string, std::string> archive_of;  // object to the command that makes its archive
  for (const std::string& archive : words_ending(link, ".a")) {
    if (archive.starts_with('/')) continue;
    const std::string command = ninja("-t commands -s " + shell_word(archive));
    for (const std::string& o : words_ending(command, ".o"))
      if (archive_of.emplace(o, command).second) all.push_back(o);
  }
  const std::vector<std::string> changed = dependents(all);
  if (changed.empty()) return "";

  std::string before;  // an object named before the archives replaces the archive's own
  for (const std::string& name : std::set<std::string>(changed.begin(), changed.end())) {
    if (!made_.count(name)) {
      std::string error;
      const auto made = object(name, overlay_, k_trial_options, error);
      if (!made) return error;
      made_[name] = *made;
      // The step of the build for the archive of a race flavour (cmake/simt_flavours.cmake).
      const auto archive = archive_of.find(name);
      const size_t renames = archive == archive_of.end() ? std::string::npos : archive->second.find("--redefine-sym");
      if (renames != std::string::npos) {
        const std::string text = archive->second.substr(renames);
        const command_result r =
            run_shell(fmt::format("{} {} {}", tools_.objcopy(), text.substr(0, text.rfind(' ')), shell_word(*made)));
        if (r.status != 0) return r.output;
      }
    }
    if (std::ranges::find(own, name) != own.end())
      link = replaced(link, " " + name + " ", " " + made_[name] + " ");
    else
      before += " " + made_[name];
  }
  result = fmt::format("{}/{}", folder_, fs::path(program).filename().string());
  const size_t output = link.find(" -o " + program);
  if (output == std::string::npos)
    throw environment_error(fmt::format("'{}' is not a program that ninja links", program));
  // The command names whole archives, which include the changed object's original; the first definition is taken.
  link.replace(output, 4 + program.size(), fmt::format("{} -Wl,--allow-multiple-definition -o {}", before, result));
  // A program may search for libraries beside itself.
  for (const fs::directory_entry& e :
       fs::directory_iterator(fs::path(tools_.build_folder() + "/" + program).parent_path()))
    if (e.path().extension() == ".so" || e.path().extension() == ".json")
      if (const fs::path beside = folder_ / e.path().filename(); !fs::exists(beside))
        fs::create_symlink(e.path(), beside);
  const command_result r = run_shell(fmt::format("cd {} && {}", shell_word(tools_.build_folder()), link));
  return r.status == 0 ? "" : r.output;
}

bool mutant_build::same_code() {
  std::string error;
  bool any = false;
  for (const std::string& name : dependents({})) {
    if (!is_product(name) || !commands_.count(name)) continue;
    any = true;
    // Both are compiled at the same path, one after the other, because the path may be part of the code.
    const std::string overlay = folder_ + "/code";
    std::string code[2];
    for (int i = 0; i < 2; ++i) {
      fs::create_directories(fs::path(overlay + "/" + mutant_.file).parent_path());
      write_file(overlay + "/" + mutant_.file,
                 i ? mutated_text(mutant_, tools_.root()) : read_text(tools_.root() + "/" + mutant_.file));
      const auto made = object(name, overlay, k_code_options, error);
      if (!made) return false;
      code[i] = read_text(*made);
    }
    if (code[0] != code[1]) return false;
  }
  return any;
}

}  // namespace warpcheck::cli

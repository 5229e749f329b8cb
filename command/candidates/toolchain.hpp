// Compiles kernels at run time with the compilers, options, include folders and libraries of this build: mutants of our
// kernels for the emulated device, and users' sources for the emulated device or with nvcc.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace warpcheck::cli {

struct compilation {
  std::vector<std::string> sources;   // .cu or .cpp files, or C
  std::vector<std::string> overlays;  // folders searched for headers before the source tree, the first one first
  std::vector<std::string> options;   // beyond the build's own; later ones win
  std::vector<std::string> archives;  // for undefined symbols of the sources, before the build's own libraries
  std::string flavour = "plain";      // plain or race
  std::string output;                 // the shared library, written completely or not at all
  int cpu_seconds = 0;                // limit after which the compiler is stopped, which counts as an error; 0: none
};

class toolchain {
 public:
  // Reads warpcheck_toolchain.json in the folder, by default the executable's, or lib/warpcheck of an installation or a
  // bundle, where its paths are relative to its own folder. Throws environment_error if there is none, or if the
  // compiler, objcopy, a library or an include folder that it names is missing.
  static toolchain load(const std::string& folder = "");

  // Returns the output of a failed compiler or linker, or nothing if the library was made. Throws environment_error if
  // a program cannot be started or the flavour is not part of this build.
  std::string compile(const compilation& c) const;
  // Only preprocesses the one source of `c`, with the same options, into the file c.output.
  std::string preprocess(const compilation& c) const;

  // Makes a shared library of a .cu file with nvcc, for the GPU that is present; `output` is written completely or not
  // at all. Returns the output of a failed nvcc. Throws environment_error if this build has no nvcc, or nvcc or an
  // include folder is missing.
  std::string compile_cuda(const std::string& source, const std::string& output,
                           const std::vector<std::string>& options = {}) const;
  // Only preprocesses it, in the same way.
  std::string preprocess_cuda(const std::string& source, const std::string& output,
                              const std::vector<std::string>& options = {}) const;

  // Returns the reason why this build cannot compile with nvcc, in one sentence, or an empty text.
  std::string lacks_nvcc() const;

  bool has_flavour(std::string_view flavour) const { return flavours_.count(std::string(flavour)) > 0; }
  // Returns the include folders of the CUDA toolkit of this build; none if it has none.
  const std::vector<std::string>& cuda_includes() const { return cuda_includes_; }
  // Returns the folders of the headers that stand in for CUDA's: their own, and that of further names for them.
  const std::vector<std::string>& import_folders() const { return import_folders_; }
  const std::string& root() const { return root_; }    // of the source tree
  const std::string& ninja() const { return ninja_; }  // empty if the build was not made with Ninja
  const std::string& ctest() const { return ctest_; }
  const std::string& objcopy() const { return objcopy_; }
  bool is_clang() const { return is_clang_; }          // the compiler of emulated kernels
  bool fills_locals() const { return fills_locals_; }  // it has -ftrivial-auto-var-init with g++'s pattern
  bool installed() const { return installed_; }        // without sources, tests and build folder
  // Returns the folder of compiled libraries: that of the executable, or, for an installation, a folder of this user.
  const std::string& build_folder() const { return build_folder_; }

  // Returns the source of a library's entry point (candidate.h) that offers these operators of the emulated device.
  // WARPCHECK_OPERATOR in another source of the same library must define each of them.
  std::string module_source(const std::vector<std::string>& operators, std::string_view flavour) const;

  // Depends on the compiler, the options and the libraries, but not on the source tree.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  struct flavour {
    std::vector<std::string> options;  // definitions and include folders among them
    std::vector<std::string> libraries;
  };

  std::vector<std::string> compiler_command(const compilation& c) const;  // up to the source's name
  std::string run_nvcc(const std::vector<std::string>& options, const std::string& source,
                       const std::string& output) const;

  std::string compiler_, launcher_, objcopy_, ninja_, ctest_, root_, version_, build_folder_, fingerprint_;
  std::map<std::string, flavour> flavours_;
  std::vector<std::string> batch_invariant_;  // operators whose kernels state batch-invariant
  bool installed_ = false, is_clang_ = false, fills_locals_ = false;
  std::string nvcc_;  // empty if the build has no CUDA kernels
  std::vector<std::string> cuda_includes_, import_folders_;
};

// Returns the folder of the source tree from which this executable was built, or that of an installation's or a
// bundle's headers; empty if it is neither. Needs no compiler.
std::string source_root();
// Returns the folder of the report's program (command/report/reporting) in the same way.
std::string reporting_folder();
// Returns the library of formulas of the source tree or the installation.
std::string formula_folder();
// True if a source is C, by its name.
bool is_c_source(std::string_view file);

struct command_result {
  int status = 0;      // exit status, 128 + signal for a killed process
  std::string output;  // stdout and stderr together
};
// Runs a program and waits for it. Throws environment_error if it cannot be started. If an interrupt_watch of this
// process has seen a signal, which the program also gets, throws `interrupted` after the program has ended.
command_result run_command(const std::vector<std::string>& arguments);

// Replaces every occurrence of the old text.
std::string replaced(std::string text, const std::string& old_text, const std::string& new_text);
std::string read_text(const std::string& path);    // throws environment_error if it cannot be read
std::string file_sha256(const std::string& path);  // likewise

}  // namespace warpcheck::cli

// Programs of this build with one source file replaced by its mutant; only files that depend on it are compiled again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command/candidates/toolchain.hpp"
#include "command/mutants/mutant_list.hpp"

namespace warpcheck::cli {

class mutant_build {
 public:
  // `folder` gets all files that are written; it is emptied now and removed with the object. Throws environment_error
  // if the build was not made with Ninja, which knows the dependencies.
  mutant_build(const toolchain& t, const mutant& m, std::string folder);
  ~mutant_build();
  mutant_build(const mutant_build&) = delete;
  mutant_build& operator=(const mutant_build&) = delete;

  // Links a program of the build again. `program` is its path below the build folder. `result` gets the path of the
  // mutated program; empty if the program does not depend on the file. Returns the output of the compiler or linker if
  // one failed.
  std::string link(const std::string& program, std::string& result);

  // True if the compiler generates the same code for the mutant and the original at -O2, in every object of the product
  // (not of its tests) that depends on the file: then no input can distinguish them (trivial compiler equivalence,
  // Papadakis, Jia, Harman and Le Traon, ICSE 2015). False if no such object exists.
  bool same_code();

 private:
  struct command {
    std::string directory, text, source;
  };

  std::vector<std::string> dependents(const std::vector<std::string>& objects);  // none: of the whole build
  // Returns the object made from the overlay; nullopt, with the compiler's output in `error`, if it cannot be made.
  std::optional<std::string> object(const std::string& name, const std::string& overlay, const std::string& options,
                                    std::string& error);
  std::string ninja(const std::string& arguments) const;

  const toolchain& tools_;
  const mutant& mutant_;
  const std::string folder_, overlay_;
  std::map<std::string, command> commands_;  // by the object's path below the build folder
  std::map<std::string, std::string> made_;  // objects of the mutant, likewise
};

// A text as one word of a POSIX shell.
std::string shell_word(const std::string& text);

}  // namespace warpcheck::cli

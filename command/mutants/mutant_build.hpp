// Programs of this build with one source file replaced by its mutant: only what depends on the file is compiled again.
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
  // `folder` gets all that is written; it is emptied now and removed with the object. environment_error where the build
  // was not made with Ninja, which knows what depends on what.
  mutant_build(const toolchain& t, const mutant& m, std::string folder);
  ~mutant_build();
  mutant_build(const mutant_build&) = delete;
  mutant_build& operator=(const mutant_build&) = delete;

  // Links a program of the build anew. `program` is its path below the build folder, `result` gets that of the mutated
  // one, empty where the program does not depend on the file. Returns the words of the compiler or linker that failed.
  std::string link(const std::string& program, std::string& result);

  // True if the compiler makes the same code of the mutant as of the original at -O2, in every object of the product
  // (not of its tests) that depends on the file: then no input can tell them apart (trivial compiler equivalence,
  // Papadakis, Jia, Harman and Le Traon, ICSE 2015). False where no such object exists.
  bool same_code();

 private:
  struct command {
    std::string directory, text, source;
  };

  std::vector<std::string> dependents(const std::vector<std::string>& objects);  // none: of the whole build
  // The object made from the overlay; nullopt and the compiler's words in `error` if it cannot be made.
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

#include "command/translator/refusals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace warpcheck::cli {
namespace {

// Names that a message has to list once, each with its first place.
class placed_names {
 public:
  void add(const std::string& name, const std::string& file, const std::string& line) {
    if (seen_.insert(name).second) names_.push_back(fmt::format("{} ({}:{})", name, file, line));
  }
  std::string after(const std::string& words) const {
    return names_.empty() ? "" : fmt::format("{}: {}\n", words, fmt::join(names_, ", "));
  }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> names_;
};

// Names that only CUDA, its libraries and its compiler use.
bool is_of_cuda(const std::string& name) {
  static const std::regex own(
      R"((cuda|cu)[A-Z]\w*|(curand|cublas|cufft|cusparse|cusolver|cudnn|nccl|nvml|nvrtc|nvtx|npp)\w+|)"
      R"((cub|thrust|wmma|nvcuda|cooperative_groups|cg|cuda|cute|cutlass)::[\w:]+|__[a-z]\w*|tex\d\w*|surf\d\w*)");
  return std::regex_match(name, own);
}

}  // namespace

std::string names_not_modelled(const std::string& said) {
  const std::string quoted = R"((?:‘|'|`)([\w:]+)(?:[^’']*)(?:’|'))";
  const std::regex place(R"(^(?:\S*ld: )?(?:\./)?(.+?):(\d+):(?:\d+:)? (?:fatal )?(?:error: )?(.*)$)");
  const std::regex undeclared(quoted + " (?:was not declared|has not been declared|does not name a type|undeclared)");
  const std::regex clang("(?:use of undeclared identifier|unknown type name|undefined reference to) " + quoted);
  // A C++ function that the linker misses, other than one of a namespace of CUDA: a header of the program declares it.
  const std::regex own(R"(undefined reference to `((?!cub::|thrust::|nvcuda::|cooperative_groups::|cuda::)[\w:~]+)\()");
  const std::regex member(quoted + " is not a member of " + quoted),
      of_clang("no member named " + quoted + " in .*" + quoted);
  placed_names refused, missing;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    std::smatch at, found;
    if (!std::regex_match(line, at, place)) continue;
    const std::string text = at.str(3);
    std::string name;
    if (std::regex_search(text, found, own)) {
      missing.add(found.str(1), at.str(1), at.str(2));
      continue;
    }
    if (std::regex_search(text, found, member) || std::regex_search(text, found, of_clang))
      name = found.str(2) + "::" + found.str(1);
    else if (std::regex_search(text, found, undeclared) || std::regex_search(text, found, clang))
      name = found.str(1);
    if (is_of_cuda(name)) refused.add(name, at.str(1), at.str(2));
  }
  return refused.after("not modelled on the emulated device") +
         missing.after("not defined in any source that was given (--with FILE adds one)");
}

}  // namespace warpcheck::cli

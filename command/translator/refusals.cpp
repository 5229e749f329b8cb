#include "command/translator/refusals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace warpcheck::cli {
namespace {

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
  const std::regex place(R"(^(.+?):(\d+):(?:\d+:)? (?:fatal )?(?:error: )?(.*)$)");
  const std::regex undeclared(quoted + " (?:was not declared|has not been declared|does not name a type|undeclared)");
  const std::regex clang("(?:use of undeclared identifier|unknown type name|undefined reference to) " + quoted);
  const std::regex member(quoted + " is not a member of " + quoted),
      of_clang("no member named " + quoted + " in .*" + quoted);
  std::set<std::string> seen;
  std::vector<std::string> names;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    std::smatch at, found;
    if (!std::regex_match(line, at, place)) continue;
    const std::string text = at.str(3);
    std::string name;
    if (std::regex_search(text, found, member) || std::regex_search(text, found, of_clang))
      name = found.str(2) + "::" + found.str(1);
    else if (std::regex_search(text, found, undeclared) || std::regex_search(text, found, clang))
      name = found.str(1);
    if (is_of_cuda(name) && seen.insert(name).second)
      names.push_back(fmt::format("{} ({}:{})", name, at.str(1), at.str(2)));
  }
  return names.empty() ? "" : fmt::format("not modelled on the emulated device: {}\n", fmt::join(names, ", "));
}

}  // namespace warpcheck::cli

#include "command/candidates/described_contract.hpp"

#include <algorithm>
#include <limits>

namespace warpcheck::cli {

contract contract_of(const engine::description& d) {
  constexpr double k_most = std::numeric_limits<double>::max();
  contract c{d.op, {}, {d.forms.begin(), d.forms.end()}};
  // For row operators only the length, as candidate.h defines it.
  if (d.find("cols"))
    c.extents = {"cols"};
  else
    for (const engine::extent_info& e : d.extents)
      if (!e.derived && c.extents.size() < WARPCHECK_MAX_EXTENTS) c.extents.push_back(e.name);
  for (form_rule& form : c.forms)
    for (scalar_rule& s : form.scalars) {  // JSON has no infinity
      s.least = std::max(s.least, -k_most);
      s.most = std::min(s.most, k_most);
    }
  return c;
}

}  // namespace warpcheck::cli

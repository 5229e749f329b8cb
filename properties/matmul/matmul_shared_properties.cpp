// matmul on trial: operands in one memory, and matrices whose rows lie in the gaps of others.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "properties/matmul/matmul_problem.hpp"

namespace warpcheck {
namespace {

using namespace engine;

// The guest is in the gaps of the host; without a host, it is the same memory as a.
struct shared_layout {
  const char *guest, *host;
  bool ta, tb;
};

constexpr shared_layout k_shared_layouts[] = {
    {"b", "", false, false},     {"c", "a", false, true},  {"b", "", false, true}, {"c", "b", false, true},
    {"c_in", "a", false, false}, {"b", "a", false, false}, {"b", "", true, false}, {"c", "b", true, false}};

// Equal matrices have equal extents, and a guest has at most as many rows as its host.
product_sizes draw_shared_sizes(draw& d, const shared_layout& how) {
  const int64_t least = d.chance(30) ? 16 * d.between(1, 3) : d.between(1, 40), most = least + d.between(0, 20);
  const int64_t other = d.chance(30) ? 16 * d.between(1, 5) : d.between(1, 70);
  const std::string host = how.host;
  if (host.empty()) return {least, least, how.ta == how.tb ? least : other};
  if (host == "a") return {most, other, least};
  return how.tb ? product_sizes{least, most, other} : product_sizes{least, other, most};
}

trial_case shared_case(const target& t, draw& d) {
  const shared_layout& how = k_shared_layouts[static_cast<size_t>(d.index()) % std::size(k_shared_layouts)];
  const product_sizes of = draw_shared_sizes(d, how);
  const double seed = static_cast<double>(d.between(2, 999998));
  trial_case c =
      product_case(t, d, of, make_recipe("uniform", {seed, -2, 2}), make_recipe("uniform", {seed + 1, -2, 2}));
  transpose(c, how.ta, how.tb);
  draw_product_layout(d, c);
  const std::string guest = how.guest, host = how.host;
  if (guest == "c_in") set_scalars(c, 1, 0.75f, make_recipe("uniform", {seed + 2, -3, 3}));
  if (host.empty())
    c.find(guest)->same = std::string("a");
  else
    c.find(guest)->beside = host;
  follow(c);
  if (d.index() / 8 % 3 == 1) force_a_variant(d, t, c);
  run_once(c);
  return c;
}

bool has_shared_memory(const trial_case& c) {
  return std::ranges::any_of(c.tensors, [](const tensor_spec& t) { return !t.same.empty() || !t.beside.empty(); });
}

const property_registration registration([] {
  property_list list = matmul_list();
  list.add("shared-memory", "an operand that is the other one, and matrices in the gaps of others, are right",
           shared_case, check_product, 20)
      .holds = has_shared_memory;
  return list.take();
}());

}  // namespace
}  // namespace warpcheck

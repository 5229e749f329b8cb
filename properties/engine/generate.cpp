#include "properties/engine/generate.hpp"

#include "properties/engine/library.hpp"
#include "properties/engine/shrink.hpp"

namespace warpcheck::engine {

rc::Gen<trial_case> cases(const property& p, const target& t, int64_t index) {
  const rc::Gen<trial_case> plain([&p, t, index](const rc::Random& random, int) {
    draw d(random, index);
    trial_case c = p.generate(t, d);
    c.property = p.name;
    return rc::shrinkable::just(std::move(c));
  });
  return with_shrinking(plain, p.repair);
}

trial_case generate_case(const property& p, const target& t, uint64_t seed, int64_t index) {
  // The device is left out on purpose: the same seed tries the same data on every device.
  uint64_t key = hash64(seed, static_cast<uint64_t>(index), static_cast<uint64_t>(t.type));
  for (const char ch : p.op + "/" + p.name) key = hash64(key, static_cast<unsigned char>(ch));
  return cases(p, t, index)(rc::Random(key), 100).value();
}

std::vector<target> find_targets(std::string_view name, std::string_view op, std::string_view device) {
  const candidate c = open_candidate(name, op, device);
  std::vector<target> targets;
  for (const dtype type :
       {dtype::f32, dtype::f16, dtype::bf16, dtype::f64, dtype::i32, dtype::i64, dtype::u8, dtype::u16, dtype::u32}) {
    if (!(c.op->dtypes & dtype_bit(type))) continue;
    target t;
    t.op = op;
    t.device = device;
    t.candidate = name;
    t.type = type;
    for (int i = 0; i < c.op->num_variants; ++i) {
      const warpcheck_variant& v = c.op->variants[i];
      if (v.dtypes & dtype_bit(type))
        t.variants.push_back({v.name, v.min_extent, v.max_extent, v.dispatch_min, v.dispatch_max});
    }
    t.boundaries.assign(c.op->boundaries, c.op->boundaries + c.op->num_boundaries);
    targets.push_back(std::move(t));
  }
  return targets;
}

}  // namespace warpcheck::engine

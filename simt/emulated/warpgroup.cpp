// Products of a warpgroup: each of its 128 threads contributes its part and goes on. A complete product is computed at
// a moment that the schedule chooses, at the latest in a wait.
#include <algorithm>
#include <cstring>

#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/own_vector.hpp"
#include "simt/emulated/registers.hpp"
#include "simt/emulated/tensor.hpp"
#include "simt/emulated/tried_waits.hpp"

namespace simt {
inline namespace emu {

constexpr uint32_t k_group = 128;  // threads of a warpgroup

// Accumulators of the warpgroup: row by row what its threads hold, of s32 as integers.
struct product_sum {
  int n;
  size_t registers;  // of a thread
  own_vector<float> reals;
  own_vector<int32_t> integers;
};

struct warpgroup_product {
  wgmma_shape shape;
  matrix_descriptor a, b;
  bool accumulate, has_a_registers;
  call_site site;
  local_shared_ptr<product_sum> sum;
  bool is_new_sum;
  uint32_t arrived = 0;
  own_vector<uint32_t> a_registers;  // 4 of each thread
  own_vector<uint32_t> metadata;     // of a sparse product, a word of each thread
};

struct thread_products {
  uint64_t issued = 0;
  uint32_t open_group = 1;
  std::vector<std::pair<uint32_t, uint64_t>> groups;  // committed ones, and how many products there were by then
  bool is_fenced = false;
  struct pending_sum {
    uint32_t* d;
    local_shared_ptr<product_sum> sum;
    uint32_t group;  // of the last product
  };
  std::vector<pending_sum> in_flight;
};

thread::thread() = default;
thread::~thread() = default;
thread::thread(thread&&) noexcept = default;
warpgroup_state::warpgroup_state() = default;
warpgroup_state::~warpgroup_state() = default;
warpgroup_state::warpgroup_state(warpgroup_state&&) noexcept = default;

namespace {

// Warpgroups with products that all have brought and nobody has computed.
std::vector<std::pair<block_state*, uint32_t>> ready;

thread_products& products_of(thread& t) {
  if (t.products == nullptr) t.products = std::make_unique<thread_products>();
  return *t.products;
}

// Row and column of a thread's i-th accumulator.
size_t place_in(const product_sum& s, uint32_t thread_in_group, size_t i) {
  const uint32_t lane = thread_in_group % k_lanes, warp = thread_in_group / k_lanes;
  const size_t row = 16 * warp + lane / 4 + 8 * (i / 2 % 2), col = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
  return row * static_cast<size_t>(s.n) + col;
}

// The r-th register of a thread.
uint32_t register_of(const product_sum& s, uint32_t thread_in_group, size_t r) {
  uint32_t bits;
  if (!s.integers.empty()) {
    std::memcpy(&bits, &s.integers[place_in(s, thread_in_group, r)], sizeof bits);
  } else if (s.registers == static_cast<size_t>(s.n / 2)) {
    std::memcpy(&bits, &s.reals[place_in(s, thread_in_group, r)], sizeof bits);
  } else {
    bits = pack(from_float<f16>(s.reals[place_in(s, thread_in_group, 2 * r)]),
                from_float<f16>(s.reals[place_in(s, thread_in_group, 2 * r + 1)]));
  }
  return bits;
}
void set_register(product_sum& s, uint32_t thread_in_group, size_t r, uint32_t bits) {
  if (!s.integers.empty()) {
    std::memcpy(&s.integers[place_in(s, thread_in_group, r)], &bits, sizeof bits);
  } else if (s.registers == static_cast<size_t>(s.n / 2)) {
    std::memcpy(&s.reals[place_in(s, thread_in_group, r)], &bits, sizeof bits);
  } else {
    s.reals[place_in(s, thread_in_group, 2 * r)] = to_float(f16{static_cast<uint16_t>(bits)});
    s.reals[place_in(s, thread_in_group, 2 * r + 1)] = to_float(f16{static_cast<uint16_t>(bits >> 16)});
  }
}

// An operand in shared memory, taken from its descriptor.
struct operand {
  uint32_t base, leading, stride;
  swizzle pattern;
  bool is_k_major;
  uint32_t element;  // bytes
  uint32_t steps;    // of 32 bytes along K

  operand(matrix_descriptor d, major m, tensor_type type, uint32_t steps_of_k = 1)
      : base(static_cast<uint32_t>(d.bits & 0x3fff) << 4),
        leading(static_cast<uint32_t>(d.bits >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(d.bits >> 32 & 0x3fff) << 4),
        pattern(static_cast<swizzle>(d.bits >> 62)),
        is_k_major(m == major::k),
        element(static_cast<uint32_t>(tensor_bytes(type))),
        steps(steps_of_k) {}

  // The shared address of 16 bytes. K-major: piece `inner` of row `outer`. MN-major: elements 8 outer to 8 outer + 7 of
  // M or N, at `inner` of K.
  uint32_t piece(uint32_t outer, uint32_t inner) const {
    const uint32_t row = swizzle_bytes(pattern), wide = row / 16;
    uint32_t offset;
    if (is_k_major)
      offset = outer / 8 * stride + outer % 8 * row + inner * (pattern == swizzle::none ? leading : 16);
    else if (pattern == swizzle::none)
      offset = outer * stride + inner % 8 * 16 + inner / 8 * leading;
    else
      offset = outer % wide * 16 + outer / wide * leading + inner % 8 * row + inner / 8 * stride;
    return swizzled(pattern, base + offset);
  }

  // Calls visit(outer, inner) for all pieces of rows [begin, end) of M or N.
  template <class Visit>
  void pieces(uint32_t begin, uint32_t end, const Visit& visit) const {
    if (is_k_major)
      for (uint32_t outer = begin; outer < end; ++outer)
        for (uint32_t inner = 0; inner < 2 * steps; ++inner) visit(outer, inner);
    else
      for (uint32_t outer = begin / 8; outer < end / 8; ++outer)
        for (uint32_t inner = 0; inner < 16 * steps; ++inner) visit(outer, inner);
  }

  void load(const block_state& b, uint32_t rows, uint32_t depth, uint32_t* elements) const {
    pieces(0, rows, [&](uint32_t outer, uint32_t inner) {
      const char* p = shared_place(b, piece(outer, inner));
      if (element == 4) {
        std::memcpy(elements + outer * depth + 4 * inner, p, 16);
        return;
      }
      if (element == 1) {
        for (uint32_t i = 0; i < 16; ++i) elements[outer * depth + 16 * inner + i] = static_cast<uint8_t>(p[i]);
        return;
      }
      uint16_t eight[8];
      std::memcpy(eight, p, sizeof eight);
      for (uint32_t i = 0; i < 8; ++i)
        (is_k_major ? elements[outer * depth + 8 * inner + i] : elements[(8 * outer + i) * depth + inner]) = eight[i];
    });
  }
};

// Every piece lies in the block's shared memory; the caller's warp, of which each lane asks alike, reads them.
void read_operand(thread& t, const operand& o, uint32_t begin, uint32_t end, uint32_t agent, uint32_t group,
                  const void* pc) {
  o.pieces(begin, end, [&](uint32_t outer, uint32_t inner) {
    const char* p = shared_place(*t.home, o.piece(outer, inner));
    if (p == nullptr) {
      fail("out_of_bounds", [&] {
        return "wgmma of " + describe(t) + " at " + describe(t.site) + " reads shared address " +
               std::to_string(o.piece(outer, inner)) + ", where its block has none";
      });
    }
    hb_enters_proxy(t, p, 16, proxy_use::reads, pc);
    hb_agent_access(agent, group, p, 16, false, pc);
  });
}

// A's elements from the registers of the warpgroup's threads, as many in one as fit.
void gather_registers(const warpgroup_product& p, uint32_t depth, uint32_t* a) {
  const uint32_t each = depth / 8, bits = 32 / each;
  for (uint32_t i = 0; i < k_group; ++i) {
    const uint32_t row = i / 32 * 16 + i % 32 / 4, place = i % 4;
    for (uint32_t r = 0; r < 4; ++r) {
      uint32_t* to = a + (row + 8 * (r & 1)) * depth + each * (place + 4 * (r >> 1));
      for (uint32_t j = 0; j < each; ++j) to[j] = p.a_registers[4 * i + r] << (32 - bits - bits * j) >> (32 - bits);
    }
  }
}

// Turns the signs of reals that fill the low bits of their words.
void negate(uint32_t* elements, uint32_t count, tensor_type type) {
  for (uint32_t i = 0; i < count; ++i) elements[i] ^= 1u << (8 * tensor_bytes(type) - 1);
}

uint32_t steps_of_b(const wgmma_shape& s) { return s.is_sparse ? 2 : 1; }

// Where element `at` of a sparse row is in the whole row (PTX ISA, "Sparse matrix storage").
uint32_t place_in_row(const warpgroup_product& p, uint32_t row, uint32_t at) {
  const uint32_t lane = row / 16 * k_lanes + row % 8 * 4, upper = row % 16 / 8;
  const uint32_t bytes = static_cast<uint32_t>(tensor_bytes(p.shape.types.a)), chunk = bytes == 4 ? at : at / 2;
  const uint32_t from = bytes == 1 ? chunk / 8 * 2 + upper : 2 * p.shape.selector + chunk / 4;
  const uint32_t places = p.metadata[lane + from] >> (bytes == 1 ? chunk % 8 * 4 : 16 * upper + chunk % 4 * 4);
  return bytes == 4 ? 2 * chunk + (places >> 1 & 1) : 4 * chunk + (places >> at % 2 * 2 & 3);
}

// The elements of B that meet those of a sparse row.
void gather_columns(const warpgroup_product& p, uint32_t row, uint32_t depth, const uint32_t* columns, uint32_t* to) {
  for (uint32_t k = 0; k < depth; ++k) {
    const uint32_t place = place_in_row(p, row, k);
    for (uint32_t col = 0; col < static_cast<uint32_t>(p.shape.n); ++col)
      to[col * depth + k] = columns[col * 2 * depth + place];
  }
}

void compute(const block_state& b, const warpgroup_product& p) {
  const wgmma_shape& s = p.shape;
  const auto depth = static_cast<uint32_t>(tensor_depth(s.types.a));
  const auto n = static_cast<uint32_t>(s.n);
  uint32_t a[64 * 32];
  static uint32_t columns[256 * 64], met[256 * 32];
  if (p.has_a_registers)
    gather_registers(p, depth, a);
  else
    operand(p.a, s.a, s.types.a).load(b, 64, depth, a);
  operand(p.b, s.b, s.types.b, steps_of_b(s)).load(b, n, depth * steps_of_b(s), columns);
  if (s.negates_a) negate(a, 64 * depth, s.types.a);
  if (s.negates_b) negate(columns, n * depth * steps_of_b(s), s.types.b);
  if (is_integer(s.types.a)) {
    int32_t* const sum = p.sum->integers.data();
    if (!p.accumulate) std::fill(p.sum->integers.begin(), p.sum->integers.end(), 0);
    const bool saturates = s.sum == tensor_sum::saturated_s32;
    if (!s.is_sparse) return tensor_step(s.types, 64, s.n, a, columns, sum, sum, saturates);
    for (uint32_t row = 0; row < 64; ++row) {
      gather_columns(p, row, depth, columns, met);
      tensor_step(s.types, 1, s.n, a + row * depth, met, sum + row * n, sum + row * n, saturates);
    }
    return;
  }
  float* const sum = p.sum->reals.data();
  if (!p.accumulate) std::fill(p.sum->reals.begin(), p.sum->reals.end(), 0.0f);
  const tensor_rules rules = tensor_bytes(s.types.a) == 1 ? k_rules_of_8_bits : device.rules;
  if (!s.is_sparse) return tensor_step(s.types, rules, 64, s.n, a, columns, sum, sum, s.sum);
  for (uint32_t row = 0; row < 64; ++row) {
    gather_columns(p, row, depth, columns, met);
    tensor_step(s.types, rules, 1, s.n, a + row * depth, met, sum + row * n, sum + row * n, s.sum);
  }
}

// Computes the oldest products, up to number `end` (not with it), which all have brought.
void compute_until(block_state& b, uint32_t group, uint64_t end) {
  warpgroup_state& w = b.warpgroups[group];
  while (w.computed < end) {
    compute(b, w.products.front());
    w.products.pop_front();
    ++w.computed;
  }
  if (w.products.empty() || w.products.front().arrived < k_group)
    ready.erase(std::remove(ready.begin(), ready.end(), std::make_pair(&b, group)), ready.end());
}

uint64_t complete_end(const warpgroup_state& w) {
  uint64_t end = w.computed;
  for (const warpgroup_product& p : w.products) {
    if (p.arrived < k_group) break;
    ++end;
  }
  return end;
}

bool is_same(const warpgroup_product& p, const wgmma_shape& s, bool has_a_registers, matrix_descriptor a,
             matrix_descriptor b, bool accumulate, const call_site& site) {
  return p.shape.types == s.types && p.shape.n == s.n && p.shape.a == s.a && p.shape.b == s.b && p.shape.sum == s.sum &&
         p.shape.negates_a == s.negates_a && p.shape.negates_b == s.negates_b && p.shape.is_sparse == s.is_sparse &&
         p.shape.selector == s.selector && p.a.bits == a.bits && p.b.bits == b.bits && p.accumulate == accumulate &&
         p.has_a_registers == has_a_registers && p.site.line == site.line &&
         __builtin_strcmp(p.site.file, site.file) == 0;
}

[[noreturn]] void report_different(const thread& t, const char* what, const call_site& other) {
  fail("divergence", [&] {
    return describe(t) + " at " + describe(t.site) + " does not call wgmma as others of its warpgroup do at " +
           describe(other) + ": " + what;
  });
}

// All that can be wrong with a call without looking at others.
void check_call(const thread& t, const thread_products& mine, bool has_a_registers, matrix_descriptor a,
                matrix_descriptor b) {
  if (device.stream->sm_arch < 90) {
    fail("launch_limit", [&] {
      return describe(t) + " calls wgmma at " + describe(t.site) + ", which sm_arch " +
             std::to_string(device.stream->sm_arch) + " does not have; 90 does";
    });
  }
  if ((t.linear / k_group + 1) * k_group > device.threads) {
    fail("divergence", [&] {
      return describe(t) + " calls wgmma at " + describe(t.site) +
             " and is in no whole warpgroup: 128 threads of a block of " + std::to_string(device.threads);
    });
  }
  if (!mine.is_fenced) {
    fail("uninitialized", [&] {
      return "registers of wgmma of " + describe(t) + " at " + describe(t.site) +
             " are used for the first time without a wgmma_fence before it";
    });
  }
  const uint64_t offsets = (has_a_registers ? 0 : a.bits) | b.bits;
  if ((offsets >> 49 & 7) != 0) {
    fail("launch_limit", [&] {
      return describe(t) + " calls wgmma at " + describe(t.site) +
             " with a descriptor whose base offset is not 0; others are not modelled";
    });
  }
}

// Accumulators that a product adds to, and that hold what a local variable does which nobody wrote.
void check_written(const thread& t, const uint32_t* d, size_t count) {
  if (!std::all_of(d, d + count, [](uint32_t bits) { return bits == k_unwritten; })) return;
  fail("uninitialized", [&] {
    return "accumulators of wgmma of " + describe(t) + " at " + describe(t.site) +
           " are registers that nobody has written, and it adds to them";
  });
}

// A product as its first thread calls it; one that goes on with a sum shares it.
warpgroup_product begun(const wgmma_shape& shape, bool has_a_registers, matrix_descriptor a, matrix_descriptor b,
                        bool accumulate, const call_site& site, local_shared_ptr<product_sum> sum) {
  const bool is_new = sum == nullptr;
  warpgroup_product p = {shape, a, b, accumulate, has_a_registers, site, std::move(sum), is_new, 0, {}, {}};
  if (p.is_new_sum) {
    p.sum = make_local_shared<product_sum>();
    p.sum->n = shape.n;
    p.sum->registers = shape.registers();
    if (is_integer(shape.types.a))
      p.sum->integers.resize(static_cast<size_t>(64 * shape.n));
    else
      p.sum->reals.resize(static_cast<size_t>(64 * shape.n));
  }
  if (has_a_registers) p.a_registers.resize(4 * k_group);
  if (shape.is_sparse) p.metadata.resize(k_group);
  return p;
}

}  // namespace

void begin_products() { ready.clear(); }

void forget_products() {
  for (uint32_t slot = 0; slot < device.slots; ++slot)
    for (warpgroup_state& w : device.blocks[slot]->warpgroups) std::fill(std::begin(w.agents), std::end(w.agents), 0);
}

void drop_products(block_state& b) {
  ready.erase(std::remove_if(ready.begin(), ready.end(), [&](const auto& r) { return r.first == &b; }), ready.end());
  b.warpgroups.clear();
}

void drop_products(thread& t) { t.products.reset(); }

namespace {

void compute_chosen_product() {
  const uint32_t choice = decide(static_cast<uint32_t>(ready.size()) + 1, 0);
  if (choice == 0) return;
  const auto [b, group] = ready[choice - 1];
  if (b->alive == 0) return;
  compute_until(*b, group, b->warpgroups[group].computed + 1);
}

}  // namespace

bool may_compute_products() {
  if (!ready.empty()) compute_chosen_product();
  return !ready.empty();
}

void wgmma_fence_registers() {
  hb_acts(*current);
  products_of(*current).is_fenced = true;
  registers_fenced(*current);
}

void wgmma_commit() {
  hb_acts(*current);
  thread_products& mine = products_of(*current);
  mine.groups.emplace_back(mine.open_group++, mine.issued);
}

void wgmma_wait_groups(unsigned groups) {
  thread& self = *current;
  check_last_store(self);
  thread_products& mine = products_of(self);
  const uint32_t last = mine.open_group > groups ? mine.open_group - groups : 0;  // groups below it are complete
  uint64_t end = 0;
  while (!mine.groups.empty() && mine.groups.front().first < last) {
    end = mine.groups.front().second;
    mine.groups.erase(mine.groups.begin());
  }
  if (end == 0) return;
  const uint32_t group = self.linear / k_group;
  while (complete_end(self.home->warpgroups[group]) < end) {
    self.state = thread_state::at_warpgroup;
    wait_here();
  }
  compute_until(*self.home, group, end);
  fragments_landed(self, last);
  // A product is one operation of its warpgroup: it has read what each of the warps brought.
  for (const uint32_t agent : self.home->warpgroups[group].agents) hb_agent_done(self, agent, last);
  size_t kept = 0;
  for (thread_products::pending_sum& h : mine.in_flight) {
    if (h.group >= last) {
      mine.in_flight[kept++] = std::move(h);
      continue;
    }
    for (size_t i = 0; i < h.sum->registers; ++i) {
      const uint32_t bits = register_of(*h.sum, self.linear % k_group, i);
      std::memcpy(h.d + i, &bits, sizeof bits);
    }
    registers_landed(self, h.d);
  }
  mine.in_flight.resize(kept);
}

void end_fragment(const uint32_t* a) { fragment_gone(*current, a); }

void issue_wgmma(const wgmma_shape& shape, void* accumulators, const uint32_t* a_registers, matrix_descriptor a,
                 matrix_descriptor b, bool accumulate, const call_site& site, uint32_t metadata) {
  thread& self = *current;
  self.site = site;
  check_stack(self);
  thread_products& mine = products_of(self);
  check_call(self, mine, a_registers != nullptr, a, b);
  block_state& home = *self.home;
  if (home.warpgroups.empty()) home.warpgroups.resize(device.threads / k_group);
  const uint32_t group = self.linear / k_group, in_group = self.linear % k_group;
  warpgroup_state& w = home.warpgroups[group];

  auto* const d = static_cast<uint32_t*>(accumulators);
  auto pending = std::find_if(mine.in_flight.begin(), mine.in_flight.end(), [&](const auto& h) { return h.d == d; });
  const bool is_new = pending == mine.in_flight.end();
  if (is_new && accumulate) check_written(self, d, shape.registers());
  if (is_new) registers_taken(self, d, shape.registers(), SIMT_PC);
  const uint64_t number = mine.issued++ - w.computed;
  if (number == w.products.size())
    w.products.push_back(begun(shape, a_registers != nullptr, a, b, accumulate, site, is_new ? nullptr : pending->sum));
  warpgroup_product& p = w.products[number];
  if (!is_same(p, shape, a_registers != nullptr, a, b, accumulate, site))
    report_different(self, "another line, shape, descriptor or whether it accumulates", p.site);
  if (p.is_new_sum != is_new || (!is_new && pending->sum != p.sum) || p.sum->n != shape.n ||
      p.sum->registers != shape.registers() || p.sum->integers.empty() == is_integer(shape.types.a))
    report_different(self, "other accumulators", p.site);
  if (is_new) {
    for (size_t i = 0; i < shape.registers(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, d + i, sizeof bits);
      set_register(*p.sum, in_group, i, bits);
      std::memcpy(d + i, &k_in_flight, sizeof k_in_flight);
    }
    mine.in_flight.push_back({d, p.sum, 0});
    pending = std::prev(mine.in_flight.end());
  }
  pending->group = mine.open_group;
  if (shape.is_sparse) p.metadata[in_group] = metadata;
  if (a_registers != nullptr) {
    std::memcpy(&p.a_registers[4 * in_group], a_registers, 4 * sizeof(uint32_t));
    fragment_taken(self, a_registers, mine.open_group, SIMT_PC);
  }
  if (self.lane == 0) {
    uint32_t& agent = w.agents[self.warp % 4];
    if (agent == 0) agent = hb_name_agent(self, agent_kind::product);
    const uint32_t rows = 16 * (self.warp % 4);
    if (a_registers == nullptr)
      read_operand(self, operand(a, shape.a, shape.types.a), rows, rows + 16, agent, mine.open_group, SIMT_PC);
    read_operand(self, operand(b, shape.b, shape.types.b, steps_of_b(shape)), 0, static_cast<uint32_t>(shape.n), agent,
                 mine.open_group, SIMT_PC);
  }
  if (++p.arrived < k_group) return;
  for (uint32_t i = group * k_group; i < (group + 1) * k_group; ++i)
    if (home.threads[i].state == thread_state::at_warpgroup) make_runnable(home.threads[i]);
  if (std::find(ready.begin(), ready.end(), std::make_pair(&home, group)) == ready.end())
    ready.emplace_back(&home, group);
  device.has_flights = true;
  if (decide(2, base_order() == strategy::greedy) == 1) compute_until(home, group, complete_end(w));
}

}  // namespace emu
}  // namespace simt

// Products of a warpgroup: each of its 128 threads brings its own part, and goes on; what all have brought is computed
// at a moment of the schedule's choice, at the latest in a wait.
#include <algorithm>
#include <cstring>

#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/registers.hpp"
#include "simt/emulated/tensor.hpp"

namespace simt {
inline namespace emu {

constexpr uint32_t k_group = 128;  // threads of a warpgroup

// Accumulators of the warpgroup: row by row what its threads hold.
struct product_sum {
  int n;
  std::vector<float> tile;
};

struct warpgroup_product {
  wgmma_shape shape;
  matrix_descriptor a, b;
  bool accumulate, has_a_registers;
  call_site site;
  std::shared_ptr<product_sum> sum;
  bool is_new_sum;
  uint32_t arrived = 0;
  std::vector<uint32_t> a_registers;  // 4 of each thread
};

struct thread_products {
  uint64_t issued = 0;
  uint32_t open_group = 1;
  std::vector<std::pair<uint32_t, uint64_t>> groups;  // committed ones, and how many products there were by then
  bool is_fenced = false;
  struct held {
    float* d;
    std::shared_ptr<product_sum> sum;
    uint32_t group;  // of the last product
  };
  std::vector<held> in_flight;
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

// An operand in shared memory, taken from its descriptor.
struct operand {
  uint32_t base, leading, stride;
  swizzle pattern;
  bool is_k_major;
  uint32_t element;  // bytes

  operand(matrix_descriptor d, major m, tensor_type type)
      : base(static_cast<uint32_t>(d.bits & 0x3fff) << 4),
        leading(static_cast<uint32_t>(d.bits >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(d.bits >> 32 & 0x3fff) << 4),
        pattern(static_cast<swizzle>(d.bits >> 62)),
        is_k_major(m == major::k),
        element(type == tensor_type::tf32 ? 4 : 2) {}

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
        for (uint32_t inner = 0; inner < 2; ++inner) visit(outer, inner);
    else
      for (uint32_t outer = begin / 8; outer < end / 8; ++outer)
        for (uint32_t inner = 0; inner < 16; ++inner) visit(outer, inner);
  }

  void load(const block_state& b, uint32_t rows, uint32_t depth, uint32_t* elements) const {
    pieces(0, rows, [&](uint32_t outer, uint32_t inner) {
      const char* p = shared_place(b, piece(outer, inner));
      if (element == 4) {
        std::memcpy(elements + outer * depth + 4 * inner, p, 16);
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

void compute(const block_state& b, const warpgroup_product& p) {
  const auto depth = static_cast<uint32_t>(tensor_depth(p.shape.type));
  const auto n = static_cast<uint32_t>(p.shape.n);
  uint32_t a[64 * 16];
  static uint32_t columns[256 * 16];
  if (p.has_a_registers) {
    for (uint32_t i = 0; i < k_group; ++i) {
      const uint32_t row = i / 32 * 16 + i % 32 / 4, place = i % 4;
      for (uint32_t r = 0; r < 4; ++r) {
        const uint32_t bits = p.a_registers[4 * i + r];
        uint32_t* to = a + (row + 8 * (r & 1)) * depth;
        if (depth == 8) {
          to[place + 4 * (r >> 1)] = bits;
        } else {
          to[2 * place + 8 * (r >> 1)] = bits & 0xffff;
          to[2 * place + 8 * (r >> 1) + 1] = bits >> 16;
        }
      }
    }
  } else {
    operand(p.a, p.shape.a, p.shape.type).load(b, 64, depth, a);
  }
  operand(p.b, p.shape.b, p.shape.type).load(b, n, depth, columns);
  float* sum = p.sum->tile.data();
  if (!p.accumulate) std::fill(p.sum->tile.begin(), p.sum->tile.end(), 0.0f);
  tensor_step(p.shape.type, device.rules, 64, p.shape.n, a, columns, sum, sum);
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
  return p.shape.type == s.type && p.shape.n == s.n && p.shape.a == s.a && p.shape.b == s.b && p.a.bits == a.bits &&
         p.b.bits == b.bits && p.accumulate == accumulate && p.has_a_registers == has_a_registers &&
         p.site.line == site.line && __builtin_strcmp(p.site.file, site.file) == 0;
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

// A product as its first thread calls it; one that goes on with a sum shares it.
warpgroup_product begun(const wgmma_shape& shape, bool has_a_registers, matrix_descriptor a, matrix_descriptor b,
                        bool accumulate, const call_site& site, std::shared_ptr<product_sum> sum) {
  warpgroup_product p;
  p.shape = shape;
  p.a = a;
  p.b = b;
  p.accumulate = accumulate;
  p.has_a_registers = has_a_registers;
  p.site = site;
  p.is_new_sum = sum == nullptr;
  p.sum = std::move(sum);
  if (p.is_new_sum) {
    p.sum = std::make_shared<product_sum>();
    p.sum->n = shape.n;
    p.sum->tile.resize(static_cast<size_t>(64 * shape.n));
  }
  if (has_a_registers) p.a_registers.resize(4 * k_group);
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

void may_compute_products() {
  if (ready.empty()) return;
  const uint32_t choice = decide(static_cast<uint32_t>(ready.size()) + 1, 0);
  if (choice == 0) return;
  const auto [b, group] = ready[choice - 1];
  if (b->alive == 0) return;
  compute_until(*b, group, b->warpgroups[group].computed + 1);
}

void wgmma_fence_registers() {
  products_of(*current).is_fenced = true;
  registers_fenced(*current);
}

void wgmma_commit() {
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
  for (thread_products::held& h : mine.in_flight) {
    if (h.group >= last) {
      mine.in_flight[kept++] = std::move(h);
      continue;
    }
    for (size_t i = 0; i < static_cast<size_t>(h.sum->n / 2); ++i)
      h.d[i] = h.sum->tile[place_in(*h.sum, self.linear % k_group, i)];
    registers_landed(self, h.d);
  }
  mine.in_flight.resize(kept);
}

void issue_wgmma(const wgmma_shape& shape, float* d, const uint32_t* a_registers, matrix_descriptor a,
                 matrix_descriptor b, bool accumulate, const call_site& site) {
  thread& self = *current;
  self.site = site;
  check_stack(self);
  thread_products& mine = products_of(self);
  check_call(self, mine, a_registers != nullptr, a, b);
  block_state& home = *self.home;
  if (home.warpgroups.empty()) home.warpgroups.resize(device.threads / k_group);
  const uint32_t group = self.linear / k_group, in_group = self.linear % k_group;
  warpgroup_state& w = home.warpgroups[group];

  auto held = std::find_if(mine.in_flight.begin(), mine.in_flight.end(), [&](const auto& h) { return h.d == d; });
  const bool is_new = held == mine.in_flight.end();
  if (is_new) registers_taken(self, d, static_cast<size_t>(shape.n / 2), SIMT_PC);
  const uint64_t number = mine.issued++ - w.computed;
  if (number == w.products.size())
    w.products.push_back(begun(shape, a_registers != nullptr, a, b, accumulate, site, is_new ? nullptr : held->sum));
  warpgroup_product& p = w.products[number];
  if (!is_same(p, shape, a_registers != nullptr, a, b, accumulate, site))
    report_different(self, "another line, shape, descriptor or whether it accumulates", p.site);
  if (p.is_new_sum != is_new || (!is_new && held->sum != p.sum) || p.sum->n != shape.n)
    report_different(self, "other accumulators", p.site);
  if (is_new) {
    for (size_t i = 0; i < static_cast<size_t>(shape.n / 2); ++i) p.sum->tile[place_in(*p.sum, in_group, i)] = d[i];
    for (int i = 0; i < shape.n / 2; ++i) std::memcpy(d + i, &k_in_flight, sizeof k_in_flight);
    mine.in_flight.push_back({d, p.sum, 0});
    held = std::prev(mine.in_flight.end());
  }
  held->group = mine.open_group;
  if (a_registers != nullptr) {
    std::memcpy(&p.a_registers[4 * in_group], a_registers, 4 * sizeof(uint32_t));
    fragment_taken(self, a_registers, mine.open_group, SIMT_PC);
  }
  if (self.lane == 0) {
    uint32_t& agent = w.agents[self.warp % 4];
    if (agent == 0) agent = hb_name_agent(self, agent_kind::product);
    const uint32_t rows = 16 * (self.warp % 4);
    if (a_registers == nullptr)
      read_operand(self, operand(a, shape.a, shape.type), rows, rows + 16, agent, mine.open_group, SIMT_PC);
    read_operand(self, operand(b, shape.b, shape.type), 0, static_cast<uint32_t>(shape.n), agent, mine.open_group,
                 SIMT_PC);
  }
  if (++p.arrived < k_group) return;
  for (uint32_t i = group * k_group; i < (group + 1) * k_group; ++i)
    if (home.threads[i].state == thread_state::at_warpgroup) make_runnable(home.threads[i]);
  if (std::find(ready.begin(), ready.end(), std::make_pair(&home, group)) == ready.end())
    ready.emplace_back(&home, group);
  if (decide(2, base_order() == strategy::greedy) == 1) compute_until(home, group, complete_end(w));
}

}  // namespace emu
}  // namespace simt

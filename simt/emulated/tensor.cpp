// Operations of a warp on matrices, and shared memory as descriptors see it.
#include "simt/emulated/tensor.hpp"

#include <cstring>

#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/region.hpp"

namespace simt {
inline namespace emu {
namespace {

struct mma_call {
  const uint32_t *a, *b;
  const float* c;
  float* d;
};
struct exchange_call {
  const uint32_t* words;
  uint32_t* all;
};
struct ldmatrix_call {
  uint16_t row[8];
  uint32_t* d;
};

// Fragments as the PTX ISA lays them out ("Matrix Fragments for mma.m16n8k8", ".m16n8k16").
void complete_mma(const thread* lanes, tensor_type type, tensor_sum sum) {
  const int depth = tensor_depth(type);
  uint32_t a[16 * 16], b[8 * 16];
  float c[16 * 8];
  const auto call_of = [&](int lane) { return *reinterpret_cast<const mma_call*>(lanes[lane].value); };
  for (int lane = 0; lane < 32; ++lane) {
    const mma_call call = call_of(lane);
    const int group = lane / 4, place = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int row = group + 8 * (i & 1);
      if (depth == 8) {
        a[row * 8 + place + 4 * (i >> 1)] = call.a[i];
      } else {
        a[row * 16 + 2 * place + 8 * (i >> 1)] = call.a[i] & 0xffff;
        a[row * 16 + 2 * place + 8 * (i >> 1) + 1] = call.a[i] >> 16;
      }
      c[(group + 8 * (i / 2)) * 8 + 2 * place + (i & 1)] = call.c[i];
    }
    for (int i = 0; i < 2; ++i) {
      if (depth == 8) {
        b[group * 8 + place + 4 * i] = call.b[i];
      } else {
        b[group * 16 + 2 * place + 8 * i] = call.b[i] & 0xffff;
        b[group * 16 + 2 * place + 8 * i + 1] = call.b[i] >> 16;
      }
    }
  }
  tensor_step(type, device.rules, 16, 8, a, b, c, c, sum);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) call_of(lane).d[i] = c[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + (i & 1)];
}

void complete_ldmatrix(const thread* lanes, unsigned count, bool transposed) {
  const auto call_of = [&](unsigned lane) { return reinterpret_cast<const ldmatrix_call*>(lanes[lane].value); };
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < count; ++i) {
      const unsigned group = lane / 4, pair = 2 * (lane % 4);
      const uint32_t low = transposed ? call_of(8 * i + pair)->row[group] : call_of(8 * i + group)->row[pair];
      const uint32_t high = transposed ? call_of(8 * i + pair + 1)->row[group] : call_of(8 * i + group)->row[pair + 1];
      call_of(lane)->d[i] = low | high << 16;
    }
  }
}

void complete_exchange(const thread* lanes, unsigned count) {
  uint32_t* const first = reinterpret_cast<const exchange_call*>(lanes[0].value)->all;
  for (unsigned lane = 0; lane < 32; ++lane)
    std::memcpy(first + lane * count, reinterpret_cast<const exchange_call*>(lanes[lane].value)->words,
                count * sizeof(uint32_t));
  for (unsigned lane = 1; lane < 32; ++lane)
    std::memcpy(reinterpret_cast<const exchange_call*>(lanes[lane].value)->all, first, 32 * count * sizeof(uint32_t));
}

}  // namespace

void complete_matrix_op(thread* lanes, uint32_t present) {
  const thread& leader = lanes[__builtin_ctz(present)];
  if (present != ~0u) {
    fail("divergence", [&] {
      return describe(leader) + " executes an operation on matrices at " + describe(leader.site) +
             " without the whole warp";
    });
  }
  if (leader.op == warp_op::exchange)
    complete_exchange(lanes, leader.argument);
  else if (leader.op == warp_op::mma)
    complete_mma(lanes, static_cast<tensor_type>(leader.argument & 0xff),
                 static_cast<tensor_sum>(leader.argument >> 8));
  else
    complete_ldmatrix(lanes, leader.argument >> 1, (leader.argument & 1) != 0);
}

tensor_rules tensor_machine() { return device.rules; }

void warp_mma(tensor_type type, const uint32_t* a, const uint32_t* b, const float* c, float* d, const call_site& site,
              tensor_sum sum) {
  const mma_call call = {a, b, c, d};
  const unsigned argument = static_cast<unsigned>(type) | static_cast<unsigned>(sum) << 8;
  warp_collective(warp_op::mma, ~0u, reinterpret_cast<uint64_t>(&call), argument, 32, site);
}

void warp_exchange(const uint32_t* words, unsigned count, uint32_t* all, const call_site& site) {
  const exchange_call call = {words, all};
  warp_collective(warp_op::exchange, ~0u, reinterpret_cast<uint64_t>(&call), count, 32, site);
}

void warp_ldmatrix(int count, bool transposed, const void* row, uint32_t* d, const call_site& site) {
  thread& self = *current;
  self.site = site;
  ldmatrix_call call = {{}, d};
  if (self.lane < 8 * count) {
    shared_address(row, site);
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0) {
      fail("misaligned", [&] {
        return describe(self) + " loads a row of a matrix from an address that is " +
               std::to_string(reinterpret_cast<uintptr_t>(row) % 16) + " modulo 16, at " + describe(site);
      });
    }
    access_point();
    hb_read(row, sizeof call.row, SIMT_PC);
    std::memcpy(call.row, row, sizeof call.row);
  }
  warp_collective(warp_op::ldmatrix, ~0u, reinterpret_cast<uint64_t>(&call),
                  static_cast<unsigned>(count) << 1 | transposed, 32, site);
}

uint32_t shared_address(const void* p, const call_site& site) {
  const auto offset = static_cast<size_t>(static_cast<const char*>(p) - current->home->arena);
  if (offset < k_arena_bytes) return offset % k_shared_window;
  fail("out_of_bounds", [&] {
    return describe(*current) + " names an address that is not in its block's shared memory, at " + describe(site);
  });
}

void* shared_pointer(uint32_t address, const call_site& site) {
  if (void* p = shared_place(*current->home, address)) return p;
  fail("out_of_bounds", [&] {
    return describe(*current) + " names shared address " + std::to_string(address) + ", where its block has none, at " +
           describe(site);
  });
}

void refuse_generic(const call_site& site) {
  fail("out_of_bounds", [&] {
    return describe(*current) + " accesses shared memory by a generic address, at " + describe(site) +
           ": __cvta_generic_to_shared converts it";
  });
}

char* shared_place(const block_state& b, uint32_t address) {
  if (address < k_first_shared || address >= k_shared_window) return nullptr;
  return b.arena + address + (address < first_static_address() ? k_shared_window : 0);
}

void fence_proxy(proxy_space space) { hb_proxy_fence(*current, space); }

bool elect_one(call_site site) {
  const auto all = static_cast<uint32_t>(warp_collective(warp_op::ballot, ~0u, 1, 0, 32, site));
  return current->lane == __builtin_ctz(all);
}

}  // namespace emu
}  // namespace simt

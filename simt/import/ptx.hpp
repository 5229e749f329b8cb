// Targets of translated inline PTX (command/translator/ptx.hpp): registers hold bits, and each instruction defines
// their meaning.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/import/intrinsics.hpp"
#include "simt/import/launch_functions.hpp"
#include "simt/import/ptx_arithmetic.hpp"

namespace simt {
inline namespace emu {
// The memory of a fragment of A that a product in flight reads becomes other variables.
void end_fragment(const uint32_t* a);
}  // namespace emu
}  // namespace simt

namespace simt::import::ptx {

[[noreturn]] inline void not_modelled(const char* instruction, SIMT_SITE) {
  import::not_modelled("the PTX", instruction, site);
}

// ---- addresses

template <class Address>
SIMT_INLINE char* place(const Address& address, long long offset) {
  return reinterpret_cast<char*>(get<uintptr_t>(address)) + offset;
}

// An address in shared memory as it is in a register.
template <class Address>
uint32_t window_place(const Address& address, long long offset, SIMT_SITE) {
  const auto a = get<uint64_t>(address);
  if (a >> 32 != 0) ::simt::refuse_generic(site);
  return static_cast<uint32_t>(a + offset);
}
// A remote block's address carries its rank, from 1, above the 24 bits of the block's own.
constexpr unsigned k_rank_shift = 24;
inline void* generic_pointer(uint32_t address, SIMT_SITE) {
  constexpr uint32_t own = (1u << k_rank_shift) - 1;
  void* mine = ::simt::shared_pointer(address & own, site);
  const uint32_t rank = address >> k_rank_shift;
  return rank == 0 ? mine : map_shared(mine, rank - 1, site);
}
template <class Address>
char* shared_place(const Address& address, long long offset, SIMT_SITE) {
  return static_cast<char*>(generic_pointer(window_place(address, offset, site), site));
}
// An address in .shared or .shared::cta: the block's own memory, in either form.
template <class Address>
char* own_place(const Address& address, long long offset, SIMT_SITE) {
  const uint32_t a = window_place(address, offset, site);
  const uint32_t rank = a >> k_rank_shift;
  if (rank != 0 && rank - 1 != cluster_rank()) refuse_remote(rank - 1, site);
  return static_cast<char*>(::simt::shared_pointer(a & ((1u << k_rank_shift) - 1), site));
}
inline uint32_t window_address(uint64_t pointer, SIMT_SITE) {
  return ::simt::shared_address(reinterpret_cast<const void*>(pointer), site);
}
inline uint32_t remote_address(uint32_t address, unsigned rank) {
  return (address & ((1u << k_rank_shift) - 1)) | (rank + 1) << k_rank_shift;
}
inline unsigned rank_of(uint32_t address) {
  const uint32_t rank = address >> k_rank_shift;
  return rank == 0 ? cluster_rank() : rank - 1;
}
inline mbarrier& barrier_at(char* p) { return *reinterpret_cast<mbarrier*>(p); }
inline tensor_map* map_at(char* p) { return reinterpret_cast<tensor_map*>(p); }

// ---- memory

template <class T, size_t N>
SIMT_INLINE void load(T (&to)[N], const char* from, bool non_coherent) {
  if (non_coherent) detail::note_read_only(from, sizeof to);
  if (reinterpret_cast<uintptr_t>(from) % sizeof to != 0) detail::check_alignment(from, sizeof to);
  for (size_t i = 0; i < N; ++i) to[i] = reinterpret_cast<const T*>(from)[i];
}
template <class T, size_t N>
SIMT_INLINE void store(char* to, const T (&from)[N]) {
  if (reinterpret_cast<uintptr_t>(to) % sizeof from != 0) detail::check_alignment(to, sizeof from);
  for (size_t i = 0; i < N; ++i) reinterpret_cast<T*>(to)[i] = from[i];
}
template <class T>
using atomic_word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
template <class T>
SIMT_INLINE T load_ordered(const char* p, bool acquires, memory_scope scope) {
  const auto value = load_relaxed(reinterpret_cast<const atomic_word<T>*>(p), scope);
  if (acquires) fence(scope, fence_order::acquire_release);
  return get<T>(value);
}
template <class T>
SIMT_INLINE void store_ordered(char* p, T value, bool releases, memory_scope scope) {
  if (releases) fence(scope, fence_order::acquire_release);
  store_relaxed(reinterpret_cast<atomic_word<T>*>(p), get<atomic_word<T>>(value), scope);
}
// The last bytes, beyond `taken`, become 0.
inline void copy_async(char* to, const char* from, unsigned bytes, unsigned taken) {
  if (taken >= bytes) return async_copy(to, from, bytes);
  memset(to + taken, 0, bytes - taken);
  for (unsigned at = 0; at + 4 <= taken; at += 4) async_copy(to + at, from + at, 4);
  if (taken % 4 != 0) memcpy(to + taken / 4 * 4, from + taken / 4 * 4, taken % 4);
}

// ---- barriers

inline unsigned threads_of_block() {
  const dim3 b = block_dimensions();
  return b.x * b.y * b.z;
}
inline unsigned linear_thread() {
  const uint3 t = thread_index();
  const dim3 b = block_dimensions();
  return (t.z * b.y + t.y) * b.x + t.x;
}
inline unsigned warp() { return linear_thread() / 32; }
// %warpid and %smid, which may change while a thread runs (PTX ISA, "Special Registers").
inline unsigned warp_slot() {
  hb_choice(choice::placement, nullptr);
  return warp();
}
inline unsigned sm() {
  hb_choice(choice::placement, nullptr);
  return 0;
}
inline unsigned warps() { return (threads_of_block() + 31) / 32; }
// Without a count, or with the whole block's, barrier 0 is the one of __syncthreads.
inline void block_barrier(int id, unsigned count, SIMT_SITE) {
  if (id == 0 && (count == 0 || count == threads_of_block()))
    block_barrier(0, reduction::none, site);
  else
    named_barrier_sync(id & 15, count, site);
}
inline void block_arrive(int id, unsigned count, SIMT_SITE) { named_barrier_arrive(id & 15, count, site); }
inline void arrive(char* p, unsigned count, barrier_order order, SIMT_SITE) {
  for (unsigned i = 0; i < count; ++i) barrier_at(p).arrive(0, order, site);
}
// The state of the phase before the arrival; its lowest bit is the parity to wait for.
inline uint64_t arrive_for_state(char* p, unsigned bytes, barrier_order order, SIMT_SITE) {
  const uint64_t parity = barrier_at(p).parity(site);
  barrier_at(p).arrive(bytes, order, site);
  return parity;
}

inline uint64_t arrive_often_for_state(char* p, unsigned count, barrier_order order, SIMT_SITE) {
  const uint64_t parity = barrier_at(p).parity(site);
  arrive(p, count, order, site);
  return parity;
}
inline uint64_t drop_for_state(char* p, barrier_order order, SIMT_SITE) {
  const uint64_t parity = barrier_at(p).parity(site);
  barrier_at(p).arrive_and_drop(order, site);
  return parity;
}

// ---- tensor cores

inline major major_of(int transposed) { return transposed != 0 ? major::mn : major::k; }
// A's registers are a copy, which ends with the instruction. Accumulators must be neighbours, as the elements of an
// array are: their places distinguish their registers.
template <size_t N>
SIMT_INLINE void products(const wgmma_shape& shape, void* const (&d)[N], const uint32_t* a_registers, uint64_t a,
                          uint64_t b, bool accumulate, SIMT_SITE) {
  for (size_t i = 1; i < N; ++i)
    if (d[i] != static_cast<uint32_t*>(d[0]) + i)
      misuse("wgmma", site, "its accumulators are not the elements of one array, in order");
  issue_wgmma(shape, d[0], a_registers, {a}, {b}, accumulate, site);
  if (a_registers != nullptr) end_fragment(a_registers);
}

// mma.sync of f16 with accumulators of f16, two in a register.
inline void products_of_f16(uint32_t (&d)[2], const uint32_t (&a)[4], const uint32_t (&b)[2], const uint32_t (&c)[2],
                            SIMT_SITE) {
  float before[4], after[4];
  for (int i = 0; i < 4; ++i) before[i] = to_float(::simt::f16{static_cast<uint16_t>(c[i / 2] >> 16 * (i % 2))});
  warp_mma(tensor_type::f16, a, b, before, after, site, tensor_sum::f16);
  for (int i = 0; i < 2; ++i)
    d[i] = pack(from_float<::simt::f16>(after[2 * i]), from_float<::simt::f16>(after[2 * i + 1]));
}

// mma.sync m16n8 of bytes and narrower elements (PTX ISA 9.0, "Matrix Fragments for mma.m16n8k32"): each lane gathers
// the two rows of A and the two columns of B that its results need. Calls visit(which of the lane's four results, which
// words of its row and column, their bits in A and in B).
template <class Visit>
void each_product_of_words(const uint32_t (&a)[4], const uint32_t (&b)[2], const call_site& site, const Visit& visit) {
  const auto lane = static_cast<int>(lane_index());
  const int row = lane / 4 * 4, col = lane % 4 * 8;
  for (int k = 0; k < 4; ++k) {
    uint32_t left[4], right[2][2];
    for (int i = 0; i < 4; ++i) left[i] = __shfl_sync(~0u, a[i], row + k, 32, site);
    for (int i = 0; i < 4; ++i) right[i / 2][i % 2] = __shfl_sync(~0u, b[i % 2], col + i / 2 * 4 + k, 32, site);
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half) visit(i, 4 * half + k, left[i / 2 + 2 * half], right[i % 2][half]);
  }
}
// `Dot`: the sum of the products of two words' elements and of a number.
template <uint32_t (*Dot)(uint32_t, uint32_t, uint32_t)>
void products_of_integers(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const int32_t (&c)[4],
                          bool saturates, SIMT_SITE) {
  int64_t sums[4] = {};
  each_product_of_words(a, b, site, [&](int i, int, uint32_t left, uint32_t right) {
    sums[i] += static_cast<int32_t>(Dot(left, right, 0));
  });
  for (int i = 0; i < 4; ++i)
    d[i] = saturates ? clamped<int32_t>(sums[i] + c[i]) : static_cast<int32_t>(static_cast<uint64_t>(sums[i] + c[i]));
}

// mma.sync m16n8k32 of reals of 8 bits, in the arithmetic of wgmma.
inline void products_of_fp8(tensor_types types, tensor_sum sum, float (&d)[4], const uint32_t (&a)[4],
                            const uint32_t (&b)[2], const float (&c)[4], SIMT_SITE) {
  uint32_t left[2 * 32] = {}, right[8 * 32] = {};
  each_product_of_words(a, b, site, [&](int i, int word, uint32_t x, uint32_t y) {
    for (int byte = 0; byte < 4; ++byte) {
      left[i / 2 * 32 + 4 * word + byte] = x >> 8 * byte & 255;
      right[i % 2 * 32 + 4 * word + byte] = y >> 8 * byte & 255;
    }
  });
  float sums[2 * 8] = {};
  for (int i = 0; i < 4; ++i) sums[i / 2 * 8 + i % 2] = c[i];
  tensor_step(types, k_rules_of_8_bits, 2, 8, left, right, sums, sums, sum);
  for (int i = 0; i < 4; ++i) d[i] = import::approximate("mma of 8-bit reals", sums[i / 2 * 8 + i % 2]);
}
inline void products_of_fp8(tensor_types types, tensor_sum sum, uint32_t (&d)[2], const uint32_t (&a)[4],
                            const uint32_t (&b)[2], const uint32_t (&c)[2], SIMT_SITE) {
  float before[4], after[4];
  for (int i = 0; i < 4; ++i) before[i] = to_float(::simt::f16{static_cast<uint16_t>(c[i / 2] >> 16 * (i % 2))});
  products_of_fp8(types, sum, after, a, b, before, site);
  for (int i = 0; i < 2; ++i)
    d[i] = pack(from_float<::simt::f16>(after[2 * i]), from_float<::simt::f16>(after[2 * i + 1]));
}

// mma.sync of f64: a lane has Rows rows of A and of the sums, and Steps times four products for each.
template <size_t Rows, size_t Steps>
void products_of_f64(double (&d)[2 * Rows], const double (&a)[Rows * Steps], const double (&b)[Steps],
                     const double (&c)[2 * Rows], SIMT_SITE) {
  const auto lane = static_cast<int>(lane_index());
  double sums[2 * Rows];
  for (size_t i = 0; i < 2 * Rows; ++i) sums[i] = c[i];
  for (size_t step = 0; step < Steps; ++step)
    for (int k = 0; k < 4; ++k) {
      double right[2];
      for (int i = 0; i < 2; ++i) right[i] = __shfl_sync(~0u, b[step], (lane % 4 * 2 + i) * 4 + k, 32, site);
      for (size_t row = 0; row < Rows; ++row) {
        const double left = __shfl_sync(~0u, a[row + Rows * step], lane / 4 * 4 + k, 32, site);
        for (size_t i = 0; i < 2; ++i) sums[2 * row + i] = std::fma(left, right[i], sums[2 * row + i]);
      }
    }
  for (size_t i = 0; i < 2 * Rows; ++i) d[i] = import::approximate("mma of double", sums[i]);
}

// ---- matrices of 8 x 8 elements of 16 bits

inline char* matrix_row(uint32_t address, SIMT_SITE) {
  char* const row = static_cast<char*>(generic_pointer(address, site));
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) detail::check_alignment(row, 16);
  return row;
}
// stmatrix: lane 8 k + i has the address of row i of matrix k, and each lane has two elements of each matrix.
template <size_t N>
SIMT_INLINE void store_matrices(uint32_t address, const uint32_t (&values)[N], bool transposed, SIMT_SITE) {
  const unsigned lane = lane_index(), group = lane / 4, pair = 2 * (lane % 4);
  for (unsigned k = 0; k < N; ++k) {
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = transposed ? pair + i : group, col = transposed ? group : pair + i;
      const uint32_t place = __shfl_sync(~0u, address, static_cast<int>(8 * k + row), 32, site);
      reinterpret_cast<uint16_t*>(matrix_row(place, site))[col] = static_cast<uint16_t>(values[k] >> 16 * i);
    }
  }
}
inline uint32_t transposed_matrix(uint32_t value, SIMT_SITE) {
  const unsigned lane = lane_index(), group = lane / 4, pair = 2 * (lane % 4);
  uint32_t result = 0;
  for (unsigned i = 0; i < 2; ++i) {
    const uint32_t from = __shfl_sync(~0u, value, static_cast<int>(4 * (pair + i) + group / 2), 32, site);
    result |= (from >> 16 * (group % 2) & 0xffff) << 16 * i;
  }
  return result;
}

// ---- warps

// True if the lane that a shuffle reads is in the caller's segment; `kind` is i, u, d or x.
SIMT_INLINE bool lane_is_in_range(char kind, int by, unsigned segments) {
  const auto lane = static_cast<int>(lane_index());
  const auto mask = static_cast<int>(segments >> 8 & 31), clamp = static_cast<int>(segments & 31);
  const int last = (lane & mask) | (clamp & ~mask);
  by &= 31;
  switch (kind) {
    case 'u': return lane - by >= last;
    case 'd': return lane + by <= last;
    case 'x': return (lane ^ by) <= last;
    default: return ((lane & mask) | (by & ~mask)) <= last;
  }
}
SIMT_INLINE bool is_uniform(unsigned mask, bool predicate, SIMT_SITE) {
  const unsigned votes = __ballot_sync(mask, predicate, site);
  return votes == 0 || votes == mask;
}
// The width of a shuffle, from the clamp and mask in its third operand.
inline int width(unsigned c) { return static_cast<int>(32 - (c >> 8 & 31)); }

}  // namespace simt::import::ptx

// CUDA's names of the two kinds of addresses.
inline size_t __cvta_generic_to_shared(const void* p, SIMT_SITE) { return ::simt::shared_address(p, site); }
inline void* __cvta_shared_to_generic(size_t address, SIMT_SITE) {
  return ::simt::import::ptx::generic_pointer(static_cast<uint32_t>(address), site);
}
inline size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
inline void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
inline bool __isShared(const void* p) { return ::simt::is_shared(p); }
inline bool __isGlobal(const void* p) { return !::simt::is_shared(p); }

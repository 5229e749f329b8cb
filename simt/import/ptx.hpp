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
inline uint32_t remote_address(uint32_t address, unsigned rank) {
  return (address & ((1u << k_rank_shift) - 1)) | (rank + 1) << k_rank_shift;
}
inline uint32_t window_address(uint64_t pointer, SIMT_SITE) {
  const void* const p = reinterpret_cast<const void*>(pointer);
  unsigned rank = 0;
  const void* const own = own_shared(p, rank);
  if (own == nullptr || rank == cluster_rank()) return ::simt::shared_address(p, site);
  return remote_address(::simt::shared_address(own, site), rank);
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
// A write of a value that nobody may rely on (PTX ISA, "discard").
inline void discard(char* line) { memset(line, 0x5a, 128); }
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
inline unsigned sms() { return static_cast<unsigned>(::simt::device_properties(the_program().current).sm_count); }
inline unsigned sm() {
  hb_choice(choice::placement, nullptr);
  const uint3 b = block_index();
  const dim3 g = grid_dimensions();
  return (b.x + g.x * (b.y + g.y * b.z)) % sms();
}
inline unsigned warps() { return (threads_of_block() + 31) / 32; }
// Without a count, or with the whole block's, barrier 0 is the one of __syncthreads.
inline bool is_of_block(int id, unsigned count) { return id == 0 && (count == 0 || count == threads_of_block()); }
inline void block_barrier(int id, unsigned count, SIMT_SITE) {
  if (is_of_block(id, count))
    block_barrier(0, reduction::none, site);
  else
    named_barrier_sync(id & 15, count, site);
}
inline int block_vote(reduction how, int id, unsigned count, bool vote, SIMT_SITE) {
  if (is_of_block(id, count)) return block_barrier(vote, how, site);
  const uint64_t votes = named_barrier_vote(id & 15, count, vote, site);
  const auto ones = static_cast<int>(votes & 0xffffffff), voters = static_cast<int>(votes >> 32);
  return how == reduction::count ? ones : how == reduction::all ? ones == voters : ones != 0;
}
inline void block_arrive(int id, unsigned count, SIMT_SITE) { named_barrier_arrive(id & 15, count, site); }
inline void wait(char* p, unsigned parity, barrier_order order, SIMT_SITE) {
  wait_for_phase(&barrier_at(p), parity, order, site);
}
inline void arrive(char* p, unsigned count, barrier_order order, SIMT_SITE) {
  for (unsigned i = 0; i < count; ++i) barrier_at(p).arrive(0, order, site);
}
// The state of the phase before the arrival; its lowest bit is the parity to wait for, the others count arrivals.
inline uint64_t arrive_for_state(char* p, unsigned bytes, barrier_order order, SIMT_SITE) {
  const uint64_t state = barrier_at(p).state(site);
  barrier_at(p).arrive(bytes, order, site);
  return state;
}

inline uint64_t arrive_often_for_state(char* p, unsigned count, barrier_order order, SIMT_SITE) {
  const uint64_t state = barrier_at(p).state(site);
  arrive(p, count, order, site);
  return state;
}
inline uint64_t drop_for_state(char* p, barrier_order order, SIMT_SITE) {
  const uint64_t state = barrier_at(p).state(site);
  barrier_at(p).arrive_and_drop(order, site);
  return state;
}

// ---- tensor cores

inline major major_of(int transposed) { return transposed != 0 ? major::mn : major::k; }
// A's registers are a copy, which ends with the instruction. Accumulators must be neighbours, as the elements of an
// array are: their places distinguish their registers.
template <size_t N>
SIMT_INLINE void products(const wgmma_shape& shape, void* const (&d)[N], const uint32_t* a_registers, uint64_t a,
                          uint64_t b, bool accumulate, uint32_t metadata, SIMT_SITE) {
  for (size_t i = 1; i < N; ++i)
    if (d[i] != static_cast<uint32_t*>(d[0]) + i)
      misuse("wgmma", site, "its accumulators are not the elements of one array, in order");
  if (shape.is_sparse && !is_integer(shape.types.a)) import::approximate("wgmma of sparse reals", 0.0f);
  issue_wgmma(shape, d[0], a_registers, {a}, {b}, accumulate, site, metadata);
  if (a_registers != nullptr) end_fragment(a_registers);
}

// Accumulators of f16, two in a register.
struct four_sums {
  float values[4];
};
inline four_sums unpacked(const uint32_t (&c)[2]) {
  four_sums sums;
  for (int i = 0; i < 4; ++i) sums.values[i] = to_float(::simt::f16{static_cast<uint16_t>(c[i / 2] >> 16 * (i % 2))});
  return sums;
}
inline void pack_sums(uint32_t (&d)[2], const float (&sums)[4]) {
  for (int i = 0; i < 2; ++i)
    d[i] = pack(from_float<::simt::f16>(sums[2 * i]), from_float<::simt::f16>(sums[2 * i + 1]));
}
// mma.sync of f16 with accumulators of f16.
inline void products_of_f16(uint32_t (&d)[2], const uint32_t (&a)[4], const uint32_t (&b)[2], const uint32_t (&c)[2],
                            SIMT_SITE) {
  float after[4];
  warp_mma(tensor_type::f16, a, b, unpacked(c).values, after, site, tensor_sum::f16);
  pack_sums(d, after);
}

// mma.sync m16n8 of bytes and narrower elements (PTX ISA 9.0, "Matrix Fragments for mma.m16n8k32"): each lane gathers
// the two rows of A and the two columns of B that its results need. Calls visit(which of the lane's four results, which
// words of its row and column, their bits in A and in B).
// The words of all lanes.
template <size_t N>
class warp_words {
 public:
  uint32_t of[32][N];
  template <class A, class B>
  warp_words(const A& a, const B& b, const call_site& site) : warp_words(a, b, empty{}, site) {}
  template <class A, class B, class C>
  warp_words(const A& a, const B& b, const C& c, const call_site& site) {
    uint32_t own[N];
    memcpy(own, &a, sizeof a);
    memcpy(own + sizeof a / 4, &b, sizeof b);
    if constexpr (!std::is_same_v<C, empty>) memcpy(own + (sizeof a + sizeof b) / 4, &c, sizeof c);
    warp_exchange(own, N, of[0], site);
  }

 private:
  struct empty {};
};
template <class Visit>
void each_product_of_words(const uint32_t (&a)[4], const uint32_t (&b)[2], const call_site& site, const Visit& visit) {
  const auto lane = static_cast<int>(lane_index());
  const int row = lane / 4 * 4, col = lane % 4 * 8;
  const warp_words<6> all(a, b, site);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half)
        visit(i, 4 * half + k, all.of[row + k][i / 2 + 2 * half], all.of[col + i % 2 * 4 + k][4 + half]);
}
inline int32_t total_of(int64_t sum, int32_t c, bool saturates) {
  return saturates ? clamped<int32_t>(sum + c) : static_cast<int32_t>(static_cast<uint64_t>(sum + c));
}
// `Dot`: the sum of the products of two words' elements and of a number.
template <uint32_t (*Dot)(uint32_t, uint32_t, uint32_t)>
void products_of_integers(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const int32_t (&c)[4],
                          bool saturates, SIMT_SITE) {
  int64_t sums[4] = {};
  each_product_of_words(a, b, site, [&](int i, int, uint32_t left, uint32_t right) {
    sums[i] += static_cast<int32_t>(Dot(left, right, 0));
  });
  for (int i = 0; i < 4; ++i) d[i] = total_of(sums[i], c[i], saturates);
}

// mma.sp m16n8 (PTX ISA 9.0, "Sparse matrix storage"): of four neighbours in a row, of 16 bits or of 8, A has two. The
// metadata has their places, two bits each, in the lanes of a quad that the selector picks. Calls visit as above, with
// the word of B that fits a word of A. `Registers`: of A, and of B.
struct sparse_rows {
  uint32_t metadata;
  unsigned selector;
  bool of_bytes;
};
// Two of the four elements of 16 bits in a pair of words, or two of four bytes in each of them.
inline uint32_t chosen_of(uint32_t low, uint32_t high, uint32_t places, bool of_bytes) {
  const auto part = [](uint64_t words, uint32_t place, unsigned bits) {
    return static_cast<uint32_t>(words >> bits * (place & 3)) & ((1u << bits) - 1);
  };
  if (!of_bytes) {
    const uint64_t both = low | uint64_t{high} << 32;
    return part(both, places, 16) | part(both, places >> 2, 16) << 16;
  }
  return part(low, places, 8) | part(low, places >> 2, 8) << 8 | part(high, places >> 4, 8) << 16 |
         part(high, places >> 6, 8) << 24;
}
template <size_t Registers, class Visit>
void each_sparse_product(const uint32_t (&a)[Registers], const uint32_t (&b)[Registers], const sparse_rows& rows,
                         const call_site& site, const Visit& visit) {
  constexpr int words = 2 * Registers;
  const auto lane = static_cast<int>(lane_index());
  const int quad = lane / 4 * 4, col = lane % 4 * 8;
  const warp_words<2 * Registers + 1> all(a, b, rows.metadata, site);
  const auto right = [&](int i, int w) { return all.of[col + 4 * i + w % 4][Registers + w / 4]; };
  for (int w = 0; w < words; ++w)
    for (int half = 0; half < 2; ++half) {
      const uint32_t left = all.of[quad + w % 4][half + w / 4 * 2];
      const int part = words == 4 ? static_cast<int>(rows.selector) : w / 4;  // of the rows, in the metadata
      const int from =
          !rows.of_bytes ? words == 4 ? part : 2 * static_cast<int>(rows.selector) + part : 2 * part + half;
      const uint32_t word = all.of[quad + from][2 * Registers];
      const uint32_t places = word >> (rows.of_bytes ? w % 4 * 8 : 16 * half + w % 4 * 4);
      for (int i = 0; i < 2; ++i)
        visit(2 * half + i, w, left, chosen_of(right(i, 2 * w), right(i, 2 * w + 1), places, rows.of_bytes));
    }
}
template <uint32_t (*Dot)(uint32_t, uint32_t, uint32_t), size_t Registers>
void sparse_products_of_integers(int32_t (&d)[4], const uint32_t (&a)[Registers], const uint32_t (&b)[Registers],
                                 const int32_t (&c)[4], const sparse_rows& rows, bool saturates, SIMT_SITE) {
  int64_t sums[4] = {};
  each_sparse_product(a, b, rows, site, [&](int i, int, uint32_t left, uint32_t right) {
    sums[i] += static_cast<int32_t>(Dot(left, right, 0));
  });
  for (int i = 0; i < 4; ++i) d[i] = total_of(sums[i], c[i], saturates);
}
// In the arithmetic of one step of a dense product.
template <size_t Registers>
void sparse_products_of_reals(tensor_types types, tensor_sum sum, float (&d)[4], const uint32_t (&a)[Registers],
                              const uint32_t (&b)[Registers], const float (&c)[4], const sparse_rows& rows, SIMT_SITE) {
  const int depth = tensor_depth(types.a), each = depth / 8, bits = 32 / each;
  uint32_t left[2][32] = {}, right[2][8 * 32] = {};  // by row: of A, and for its results of B
  each_sparse_product(a, b, rows, site, [&](int i, int word, uint32_t x, uint32_t y) {
    for (int k = 0; k < each; ++k) {
      const auto element = [&](uint32_t w) { return w << (32 - bits - bits * k) >> (32 - bits); };
      left[i / 2][each * word + k] = element(x);
      right[i / 2][i % 2 * depth + each * word + k] = element(y);
    }
  });
  const tensor_rules rules = tensor_bytes(types.a) == 1 ? k_rules_of_8_bits : tensor_machine();
  for (int row = 0; row < 2; ++row) {
    float sums[8] = {c[2 * row], c[2 * row + 1]};
    tensor_step(types, rules, 1, 8, left[row], right[row], sums, sums, sum);
    for (int i = 0; i < 2; ++i) d[2 * row + i] = import::approximate("mma of sparse reals", sums[i]);
  }
}
template <size_t Registers>
void sparse_products_of_reals(tensor_types types, tensor_sum sum, uint32_t (&d)[2], const uint32_t (&a)[Registers],
                              const uint32_t (&b)[Registers], const uint32_t (&c)[2], const sparse_rows& rows,
                              SIMT_SITE) {
  float after[4];
  sparse_products_of_reals(types, sum, after, a, b, unpacked(c).values, rows, site);
  pack_sums(d, after);
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
  float after[4];
  products_of_fp8(types, sum, after, a, b, unpacked(c).values, site);
  pack_sums(d, after);
}

// mma.sync of f64: a lane has Rows rows of A and of the sums, and Steps times four products for each.
template <size_t Rows, size_t Steps>
void products_of_f64(double (&d)[2 * Rows], const double (&a)[Rows * Steps], const double (&b)[Steps],
                     const double (&c)[2 * Rows], SIMT_SITE) {
  const auto lane = static_cast<int>(lane_index());
  double sums[2 * Rows];
  for (size_t i = 0; i < 2 * Rows; ++i) sums[i] = c[i];
  const warp_words<2 * (Rows + 1) * Steps> all(a, b, site);
  const auto element = [&](int from, size_t i) {
    double x;
    memcpy(&x, &all.of[from][2 * i], sizeof x);
    return x;
  };
  for (size_t step = 0; step < Steps; ++step)
    for (int k = 0; k < 4; ++k)
      for (size_t row = 0; row < Rows; ++row)
        for (int i = 0; i < 2; ++i)
          sums[2 * row + i] = std::fma(element(lane / 4 * 4 + k, row + Rows * step),
                                       element((lane % 4 * 2 + i) * 4 + k, Rows * Steps + step), sums[2 * row + i]);
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
inline size_t __cvta_generic_to_shared(const void* p, SIMT_SITE) {
  return ::simt::import::ptx::window_address(reinterpret_cast<uint64_t>(p), site);
}
inline void* __cvta_shared_to_generic(size_t address, SIMT_SITE) {
  return ::simt::import::ptx::generic_pointer(static_cast<uint32_t>(address), site);
}
inline size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
inline void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }
inline bool __isShared(const void* p) { return ::simt::is_shared(p); }
// A hint for caches.
inline void* __nv_associate_access_property(const void* p, unsigned long long) { return const_cast<void*>(p); }
inline bool __isGlobal(const void* p) { return !::simt::is_shared(p); }

// What inline PTX becomes (command/ptx.hpp): registers hold bits, an instruction says what they stand for.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/import/intrinsics.hpp"
#include "simt/import/launch_functions.hpp"

namespace simt::import::ptx {

template <size_t Bytes>
using bits_of =
    std::conditional_t<Bytes == 1, uint8_t,
                       std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

// The value of an operand as a T: an integer is cut or extended, all else keeps its bits.
template <class T, class Operand>
SIMT_INLINE T get(const Operand& operand) {
  if constexpr (std::is_same_v<T, bool>) {
    return operand != 0;
  } else if constexpr (std::is_integral_v<T> && (std::is_integral_v<Operand> || std::is_enum_v<Operand>)) {
    return static_cast<T>(operand);
  } else if constexpr (std::is_pointer_v<Operand>) {
    return static_cast<T>(reinterpret_cast<uintptr_t>(operand));
  } else {
    bits_of<sizeof(Operand)> bits;
    __builtin_memcpy(&bits, &operand, sizeof bits);
    const auto wanted = static_cast<bits_of<sizeof(T)>>(bits);
    T value;
    __builtin_memcpy(&value, &wanted, sizeof value);
    return value;
  }
}

// Stores the bits of a value.
template <class Operand, class T>
SIMT_INLINE void put(Operand& operand, T value) {
  using plain = std::remove_cv_t<Operand>;
  if constexpr (std::is_pointer_v<plain>)
    operand = reinterpret_cast<plain>(get<uintptr_t>(value));
  else
    operand = get<plain>(value);
}

// ---- addresses

template <class Address>
SIMT_INLINE char* place(const Address& address, long long offset) {
  return reinterpret_cast<char*>(get<uintptr_t>(address)) + offset;
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
  return static_cast<char*>(generic_pointer(static_cast<uint32_t>(get<uint64_t>(address) + offset), site));
}
// Of .shared and .shared::cta: the block's own, by whichever address.
template <class Address>
char* own_place(const Address& address, long long offset, SIMT_SITE) {
  const auto a = static_cast<uint32_t>(get<uint64_t>(address) + offset);
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
inline mbarrier& barrier_at(char* p) { return *reinterpret_cast<mbarrier*>(p); }

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
inline unsigned warps() { return (threads_of_block() + 31) / 32; }
// Without a count, or with the whole block's: of barrier 0 it is __syncthreads.
inline void block_barrier(int id, unsigned count, SIMT_SITE) {
  if (id == 0 && (count == 0 || count == threads_of_block())) return __syncthreads(site);
  named_barrier_sync(id & 15, count == 0 ? warps() * 32 : count, site);
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

// ---- tensor cores

// Accumulators must be neighbours, as the elements of an array are: their registers are told apart by their places.
template <size_t N>
void products(tensor_type type, float* const (&d)[N], const uint32_t* a_registers, uint64_t a, uint64_t b,
              bool accumulate, int scale_a, int scale_b, int mn_major_a, int mn_major_b, SIMT_SITE) {
  for (size_t i = 1; i < N; ++i)
    if (d[i] != d[0] + i) misuse("wgmma", site, "its accumulators are not the elements of one array, in order");
  if (scale_a != 1 || scale_b != 1) misuse("wgmma", site, "an operand is scaled by -1, which is not modelled");
  const wgmma_shape shape = {type, static_cast<int>(2 * N), mn_major_a != 0 ? major::mn : major::k,
                             mn_major_b != 0 ? major::mn : major::k};
  issue_wgmma(shape, d[0], a_registers, {a}, {b}, accumulate, site);
}

// ---- arithmetic

template <class T>
using wider = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                 std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
// Integers wrap.
template <class T>
using wrapping = typename std::conditional_t<
    std::is_integral_v<T>, std::make_unsigned<std::conditional_t<std::is_integral_v<T>, T, int>>, identity<T>>::type;

template <class T>
SIMT_INLINE T move(T a) {
  return a;
}
template <class T>
SIMT_INLINE T add(T a, T b) {
  return static_cast<T>(static_cast<wrapping<T>>(a) + static_cast<wrapping<T>>(b));
}
template <class T>
SIMT_INLINE T subtract(T a, T b) {
  return static_cast<T>(static_cast<wrapping<T>>(a) - static_cast<wrapping<T>>(b));
}
template <class T>
SIMT_INLINE T product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
template <class T>
SIMT_INLINE T high_product(T a, T b) {
  return static_cast<T>((static_cast<wider<T>>(a) * static_cast<wider<T>>(b)) >> (8 * sizeof(T)));
}
template <class T>
SIMT_INLINE wider<T> wide_product(T a, T b) {
  return static_cast<wider<T>>(a) * static_cast<wider<T>>(b);
}
template <class T>
SIMT_INLINE T mad(T a, T b, T c) {
  return add<T>(product<T>(a, b), c);
}
template <class T>
SIMT_INLINE wider<T> wide_mad(T a, T b, wider<T> c) {
  return add<wider<T>>(wide_product<T>(a, b), c);
}
template <class T>
SIMT_INLINE T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
SIMT_INLINE T quotient(T a, T b) {
  return a / b;
}
template <class T>
SIMT_INLINE T remainder(T a, T b) {
  return a % b;
}
template <class T>
SIMT_INLINE T negate(T a) {
  return subtract<T>(std::is_integral_v<T> ? T(0) : T(-0.0), a);
}
template <class T>
SIMT_INLINE T absolute(T a) {
  if constexpr (std::is_integral_v<T>)
    return a < 0 ? negate<T>(a) : a;
  else
    return std::fabs(a);
}
template <class T>
SIMT_INLINE T least(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return b < a ? b : a;
  else
    return std::fmin(a, b);
}
template <class T>
SIMT_INLINE T greatest(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return a < b ? b : a;
  else
    return std::fmax(a, b);
}
template <class T>
SIMT_INLINE T bit_and(T a, T b) {
  return a & b;
}
template <class T>
SIMT_INLINE T bit_or(T a, T b) {
  return a | b;
}
template <class T>
SIMT_INLINE T bit_xor(T a, T b) {
  return a ^ b;
}
template <class T>
SIMT_INLINE T bit_not(T a) {
  return static_cast<T>(std::is_same_v<T, bool> ? !a : ~a);
}
// Shifts by more than the width give what is left: zeros, or signs.
template <class T>
SIMT_INLINE T shift_left(T a, uint32_t by) {
  return by >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<wrapping<T>>(a) << by);
}
template <class T>
SIMT_INLINE T shift_right(T a, uint32_t by) {
  if (by >= 8 * sizeof(T)) return a < 0 ? static_cast<T>(-1) : T(0);
  return static_cast<T>(a >> by);
}
template <class T>
SIMT_INLINE uint32_t ones(T a) {
  return static_cast<uint32_t>(__builtin_popcountll(a));
}
template <class T>
SIMT_INLINE uint32_t zeros(T a) {
  return static_cast<uint32_t>(a == 0 ? 8 * sizeof(T) : __builtin_clzll(a) - (64 - 8 * sizeof(T)));
}
template <class T>
SIMT_INLINE T reversed(T a) {
  T r = 0;
  for (size_t i = 0; i < 8 * sizeof(T); ++i) r = static_cast<T>(r << 1 | (a >> i & 1));
  return r;
}
// `length` bits from bit `first`, extended by their sign where T has one.
template <class T>
SIMT_INLINE T field(T a, uint32_t first, uint32_t length) {
  first &= 255, length &= 255;
  constexpr uint32_t k_width = 8 * sizeof(T);
  if (length == 0) return 0;
  const T moved = shift_right<T>(a, first);
  if (length >= k_width) return moved;
  const auto high = static_cast<wrapping<T>>(moved) << (k_width - length);
  return shift_right<T>(static_cast<T>(high), k_width - length);
}
template <class T>
SIMT_INLINE T permuted(T a, T b, T selector) {
  return static_cast<T>(__byte_perm(a, b, selector));
}
template <class T>
SIMT_INLINE T any_of_three(T a, T b, T c, T table) {
  T r = 0;
  for (unsigned k = 0; k < 8; ++k)
    if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  return r;
}
// The accurate functions in the place of the approximations.
template <class T>
SIMT_INLINE T power_of_2(T a) {
  return std::exp2(a);
}
template <class T>
SIMT_INLINE T logarithm(T a) {
  return std::log2(a);
}
template <class T>
SIMT_INLINE T reciprocal(T a) {
  return 1 / a;
}
template <class T>
SIMT_INLINE T reciprocal_root(T a) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(a)));
}
template <class T>
SIMT_INLINE T root(T a) {
  return std::sqrt(a);
}
template <class T>
SIMT_INLINE T sine(T a) {
  return std::sin(a);
}
template <class T>
SIMT_INLINE T cosine(T a) {
  return std::cos(a);
}
template <class T>
SIMT_INLINE T tangent(T a) {
  return std::tanh(a);
}

// ---- conversions

template <class Integer, class Real>
SIMT_INLINE Integer nearest(Real x) {
  return detail::saturating_cast<Integer>(std::nearbyint(x));
}
template <class Integer, class Real>
SIMT_INLINE Integer down(Real x) {
  return detail::saturating_cast<Integer>(std::floor(x));
}
template <class Integer, class Real>
SIMT_INLINE Integer up(Real x) {
  return detail::saturating_cast<Integer>(std::ceil(x));
}
template <class Integer, class Real>
SIMT_INLINE Integer cut(Real x) {
  return detail::saturating_cast<Integer>(x);
}
template <class Half>
SIMT_INLINE uint32_t pair(float high, float low) {
  return pack(from_float<Half>(low), from_float<Half>(high));
}
// Of a shuffle, from the clamp and mask in its third operand.
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

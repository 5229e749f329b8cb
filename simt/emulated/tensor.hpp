// Tensor cores and other tools of warp-specialised kernels, as kernels see them. cuda_tensor.hpp documents the
// functions; the comments here add the behaviour of the emulated device.
#pragma once

#include "simt/emulated/kernel_api.hpp"
#include "simt/emulated/wide.hpp"
#include "simt/half_types.hpp"
#include "simt/tensor_map.hpp"
#include "simt/tensor_step.hpp"
#include "simt/tensor_types.hpp"

namespace simt {
inline namespace emu {

namespace detail {

template <class T>
constexpr bool is_16_bit = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
constexpr tensor_type tensor_type_of() {
  static_assert(is_16_bit<T> || std::is_same_v<T, tf32>, "f16, bf16 or tf32");
  return std::is_same_v<T, f16> ? tensor_type::f16 : std::is_same_v<T, bf16> ? tensor_type::bf16 : tensor_type::tf32;
}

}  // namespace detail

// x as the nearest tf32, ties away from zero; a NaN loses its low 13 bits.
inline float round_tf32(float x) {
  const uint32_t b = detail::float_bits(x);
  const bool is_finite = (b & 0x7f800000u) != 0x7f800000u;
  return detail::bits_float((is_finite ? b + 0x1000u : b) & ~0x1fffu);
}

// Two neighbours of a fragment of 16-bit elements.
template <class T>
SIMT_INLINE uint32_t pack(T low, T high) {
  static_assert(detail::is_16_bit<T>, "f16 or bf16");
  return low.bits | static_cast<uint32_t>(high.bits) << 16;
}

tensor_rules tensor_machine();  // of the launch's device
void warp_mma(tensor_type type, const uint32_t* a, const uint32_t* b, const float* c, float* d, const call_site& site,
              tensor_sum sum = tensor_sum::f32);
template <int M, int N, int K, class TA, class TB>
SIMT_INLINE void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const float (&c)[4], SIMT_SITE) {
  static_assert(std::is_same_v<TA, TB>, "operands of one type");
  static_assert(M == 16 && N == 8 && K == (detail::is_16_bit<TA> ? 16 : 8), "m16n8k16 of f16 or bf16, m16n8k8 of tf32");
  warp_mma(detail::tensor_type_of<TA>(), a, b, c, d, site);
}

// Gives each lane the `count` words of all: of lane L from all[L * count] on.
void warp_exchange(const uint32_t* words, unsigned count, uint32_t* all, const call_site& site);

void warp_ldmatrix(int count, bool transposed, const void* row, uint32_t* d, const call_site& site);
template <int Count, bool Transposed = false>
SIMT_INLINE void ldmatrix(uint32_t (&d)[Count], const void* row, SIMT_SITE) {
  static_assert(Count == 1 || Count == 2 || Count == 4, "1, 2 or 4 matrices");
  warp_ldmatrix(Count, Transposed, row, d, site);
}

// A block's shared memory as 32-bit addresses see it: dynamic memory first, static arrays behind it.
uint32_t shared_address(const void* p, const call_site& site);
void* shared_pointer(uint32_t address, const call_site& site);
// Ends the launch: an instruction of shared memory has a generic address.
[[noreturn]] void refuse_generic(const call_site& site);

inline matrix_descriptor make_matrix_descriptor(const void* base, unsigned leading, unsigned stride, swizzle s,
                                                SIMT_SITE) {
  return detail::descriptor_of(shared_address(base, site), leading, stride, s);
}

void wgmma_fence_registers();
void wgmma_wait_groups(unsigned groups);
// Products in flight: until the wait for them their accumulators hold signalling NaNs, and their operands in shared
// memory are read at a moment of the schedule's choice. A read of an accumulator, or a write to an operand, before the
// wait is a race (race flavour).
template <class... Accumulators>
void wgmma_fence(Accumulators&...) {
  wgmma_fence_registers();
}
void wgmma_commit();
// A deadlock's report names the line of the last product, not of the wait.
template <int Groups, class... Accumulators>
void wgmma_wait(Accumulators&...) {
  wgmma_wait_groups(Groups);
}

struct wgmma_shape {
  tensor_types types;
  int n;
  major a, b;
  tensor_sum sum = tensor_sum::f32;
  bool negates_a = false, negates_b = false;  // reals
  // A has two of each four elements in a row, of tf32 one of two; the lanes that the selector picks say which.
  bool is_sparse = false;
  unsigned selector = 0;
  // Registers of a thread that hold its accumulators: two of f16 in one.
  size_t registers() const { return static_cast<size_t>(sum == tensor_sum::f16 ? n / 4 : n / 2); }
};
void issue_wgmma(const wgmma_shape& shape, void* d, const uint32_t* a_registers, matrix_descriptor a,
                 matrix_descriptor b, bool accumulate, const call_site& site, uint32_t metadata = 0);

template <int N, class T, major MajorA = major::k, major MajorB = major::k>
SIMT_INLINE void wgmma(float (&d)[N / 2], matrix_descriptor a, matrix_descriptor b, bool accumulate = true, SIMT_SITE) {
  static_assert(detail::is_wgmma_size(N), "N is 8, 16, 32, 64, 96, 128, 192 or 256");
  static_assert(detail::is_16_bit<T> || (MajorA == major::k && MajorB == major::k), "tf32 operands are K-major");
  issue_wgmma({detail::tensor_type_of<T>(), N, MajorA, MajorB}, d, nullptr, a, b, accumulate, site);
}
template <int N, class T, major MajorB = major::k>
SIMT_INLINE void wgmma(float (&d)[N / 2], const uint32_t (&a)[4], matrix_descriptor b, bool accumulate = true,
                       SIMT_SITE) {
  static_assert(detail::is_wgmma_size(N), "N is 8, 16, 32, 64, 96, 128, 192 or 256");
  static_assert(detail::is_16_bit<T> || MajorB == major::k, "tf32 operands are K-major");
  issue_wgmma({detail::tensor_type_of<T>(), N, major::k, MajorB}, d, a, {}, b, accumulate, site);
}

void fence_proxy(proxy_space space);
template <proxy_space Space = proxy_space::all>
SIMT_INLINE void fence_proxy_async() {
  fence_proxy(Space);
}
void fence_mbarrier_init();

void named_barrier_sync(int id, unsigned count, const call_site& site);
// The same, and how many threads of the phase voted with 1; in the upper 32 bits, how many voted.
uint64_t named_barrier_vote(int id, unsigned count, bool vote, const call_site& site);
void named_barrier_arrive(int id, unsigned count, const call_site& site);
// Parts of a block, `size` threads each, 64 to 1024: their barrier, and a value of at most 32 bytes from each thread
// to the others. A thread reads the values after its exchange and before it comes to the part's next barrier.
void tile_sync(unsigned tile, unsigned size, const call_site& site);
void tile_exchange(unsigned tile, unsigned size, unsigned rank, const void* value, size_t bytes, const call_site& site);
void tile_value(unsigned tile, unsigned size, unsigned rank, void* value, size_t bytes);
template <int Id>
struct named_barrier {
  static_assert(Id >= 1 && Id <= 15, "named barriers are 1 to 15");
  static void sync(unsigned count, SIMT_SITE) { named_barrier_sync(Id, count, site); }
  static void arrive(unsigned count, SIMT_SITE) { named_barrier_arrive(Id, count, site); }
};

// Here the lowest lane; a kernel must not rely on which it is.
bool elect_one(SIMT_SITE);

template <int Count, register_change Change>
SIMT_INLINE void set_max_registers() {
  static_assert(Count >= 24 && Count <= 256 && Count % 8 == 0, "24 to 256 registers, a multiple of 8");
}

void bulk_store(void* destination, const void* source, unsigned bytes, SIMT_SITE);
void bulk_store_commit();
void wait_for_bulk_stores(unsigned groups, bool read_only);
template <int Groups>
SIMT_INLINE void bulk_store_wait() {
  wait_for_bulk_stores(Groups, false);
}
template <int Groups>
SIMT_INLINE void bulk_store_wait_read() {
  wait_for_bulk_stores(Groups, true);
}
void bulk_copy_remote(void* destination, const void* source, unsigned bytes, mbarrier* barrier, SIMT_SITE);
// red.async: an element is reduced in the shared memory of the mbarrier's block, and its bytes complete there.
void async_reduce(mbarrier* barrier, void* p, uint64_t bits, tensor_element type, tensor_reduction how, SIMT_SITE);
void bulk_copy_multicast(void* destination, const void* source, unsigned bytes, mbarrier* barrier, uint16_t ranks,
                         SIMT_SITE);
// Bulk copies of a box of a tensor, or of its pixels (cp.async.bulk.tensor).
// `ranks`: blocks of the cluster that get the box; 0: the own one.
void tensor_load(void* destination, const tensor_map* map, const tensor_place& place, mbarrier* barrier, uint16_t ranks,
                 SIMT_SITE);
SIMT_INLINE void tensor_load(void* destination, const tensor_map& map, int32_t row, int32_t col, mbarrier* barrier,
                             SIMT_SITE) {
  tensor_load(destination, &map, {2, {col, row}}, barrier, 0, site);
}
tensor_map map_of_matrix(tensor_element type, const void* data, int64_t rows, int64_t cols, int64_t pitch,
                         unsigned box_rows, unsigned box_cols, swizzle s);
template <class T>
tensor_map make_tensor_map(const T* data, int64_t rows, int64_t cols, int64_t pitch, unsigned box_rows,
                           unsigned box_cols, swizzle s) {
  static_assert(detail::is_16_bit<T>, "f16 or bf16");
  return map_of_matrix(std::is_same_v<T, f16> ? tensor_element::f16 : tensor_element::bf16, data, rows, cols, pitch,
                       box_rows, box_cols, s);
}
// In the caller's open group of bulk stores. `how` is none for a plain store.
void tensor_store(const tensor_map* map, const tensor_place& place, const void* source, tensor_reduction how,
                  SIMT_SITE);
void tensor_prefetch(const tensor_map* map, const tensor_place& place, SIMT_SITE);
// tensormap.replace.
void replace_in_map(tensor_map* map, tensor_field field, unsigned ordinal, uint64_t value, SIMT_SITE);
// fence.proxy.tensormap::generic: writes of maps become visible to copies by it if the writer has released them, and
// the copying block then acquired that map. A map that the launch does not write needs neither.
void release_maps(memory_scope scope);
void acquire_map(const tensor_map* map, memory_scope scope);
// tensormap.cp_fenceproxy, by a warp: a copy and a release.
void copy_map(tensor_map* to, const tensor_map* from, memory_scope scope, SIMT_SITE);
// A bulk store that reduces elements of the type in global memory.
void bulk_reduce(void* destination, const void* source, unsigned bytes, tensor_element type, tensor_reduction how,
                 SIMT_SITE);

}  // namespace emu
}  // namespace simt

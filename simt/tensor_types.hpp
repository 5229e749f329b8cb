// Operands of tensor-core instructions: element types, the layouts of operands in shared memory and their descriptors
// (PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"). The same on both devices.
#pragma once

#include <cstdint>

namespace simt {

#ifdef __CUDACC__
inline namespace gpu {
#else
inline namespace emu {
#endif

// f32 of which a tensor core takes the upper 19 bits. Fragments and tiles hold f32; round_tf32 rounds, else the low 13
// bits are lost.
struct tf32 {};

// Layout of an operand's 16-byte pieces in shared memory: bits 4 and up of the address are xored with bits 7 and up,
// one bit (b32), two (b64) or three (b128). The values are those of a descriptor.
enum class swizzle : uint8_t { none = 0, b128 = 1, b64 = 2, b32 = 3 };

// Along which dimension an operand's elements are neighbours. MN-major is for 16-bit types.
enum class major : uint8_t { k, mn };

// The memory that a fence between the generic and the asynchronous proxy covers.
enum class proxy_space : uint8_t { own_shared, all };

enum class register_change : uint8_t { raise, release };

// Bytes of a row of a swizzled tile: 16 (none), 32, 64 or 128.
__host__ __device__ constexpr unsigned swizzle_bytes(swizzle s) {
  return s == swizzle::none ? 16 : s == swizzle::b32 ? 32 : s == swizzle::b64 ? 64 : 128;
}

// The place of the byte at `offset` of a tile after swizzling. The tile begins at a multiple of 8 times swizzle_bytes.
__host__ __device__ constexpr unsigned swizzled(swizzle s, unsigned offset) {
  return offset ^ ((offset >> 3) & (s == swizzle::b128  ? 0x70u
                                    : s == swizzle::b64 ? 0x30u
                                    : s == swizzle::b32 ? 0x10u
                                                        : 0u));
}

// An operand in shared memory. In units of T = 16 bytes of elements, for (row of M or N, column of K):
//   K-major     none     ((8,m),(T,2)) : ((1T,stride),(1,leading))
//               b32..128 ((8,m),(T,2)) : ((row,stride),(1,T)), row = swizzle_bytes; leading counts for nothing
//   MN-major    none     ((T,1,m),(8,k)) : ((1,T,stride),(1T,leading))
//               b32..128 ((T,w,m),(8,k)) : ((1,T,leading),(row,stride)), w = row / 16
struct matrix_descriptor {
  uint64_t bits;
  // The same operand, `bytes` (a multiple of 16) further on: along K within a swizzled row, or another tile.
  __host__ __device__ constexpr matrix_descriptor advanced(unsigned bytes) const { return {bits + (bytes >> 4)}; }
};

namespace detail {

__host__ __device__ constexpr bool is_wgmma_size(int n) {
  return n == 8 || n == 16 || n == 32 || n == 64 || n == 96 || n == 128 || n == 192 || n == 256;
}

// `address`: in the shared window, a multiple of 16 below 2^18.
__host__ __device__ constexpr matrix_descriptor descriptor_of(uint32_t address, unsigned leading, unsigned stride,
                                                              swizzle s) {
  return {uint64_t{(address & 0x3ffffu) >> 4} | uint64_t{(leading & 0x3ffffu) >> 4} << 16 |
          uint64_t{(stride & 0x3ffffu) >> 4} << 32 | static_cast<uint64_t>(s) << 62};
}

}  // namespace detail
}  // inline namespace of the device
}  // namespace simt

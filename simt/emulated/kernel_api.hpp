// The interface between a running kernel and the executor: the thread's identity, shared memory, and points at which
// the scheduler may switch.
#pragma once

#include <type_traits>

#include "simt/emulated/types.hpp"
#include "simt/error.hpp"

namespace simt {
inline namespace emu {

// The source line of a call. (Not the return address: compilers duplicate calls, so that one line has several.)
struct call_site {
  const char* file = "";
  unsigned line = 0;
  static constexpr call_site current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};
#define SIMT_SITE ::simt::emu::call_site site = ::simt::emu::call_site::current()
#define SIMT_INLINE __attribute__((always_inline)) inline

// Constant within one activation of a kernel, since a fiber never changes its identity: the compiler may reuse them.
__attribute__((const)) uint3 thread_index() noexcept;
__attribute__((const)) uint3 block_index() noexcept;
__attribute__((const)) dim3 block_dimensions() noexcept;
__attribute__((const)) dim3 grid_dimensions() noexcept;

// The running block's storage for the SIMT_SHARED declaration identified by `declaration`.
void* shared_slot(const void* declaration, size_t bytes, size_t align);
void* dynamic_shared() noexcept;
bool is_shared(const void* p) noexcept;
// False in the host's own code.
bool in_kernel() noexcept;

enum class memory_scope : uint8_t { block, cluster, device };

enum class atomic_kind : uint8_t { load, store, update };

// Sequentially consistent ones are in one order, that of what is observed (PTX ISA, "Fence-SC order").
enum class fence_order : uint8_t { acquire_release, sequential };

void fence(memory_scope scope, fence_order order);
// The caller has nothing to do until another thread acts.
void spin_yield(const call_site& site);

// Bytes of a value as an integer, and back; up to 8 bytes.
template <class T>
SIMT_INLINE uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "a value of at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
SIMT_INLINE T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace emu
}  // namespace simt

#define threadIdx (::simt::emu::thread_index())
#define blockIdx (::simt::emu::block_index())
#define blockDim (::simt::emu::block_dimensions())
#define gridDim (::simt::emu::grid_dimensions())
inline constexpr int warpSize = 32;

#define SIMT_SHARED(name, ...)                                                          \
  static char simt_declaration_##name;                                                  \
  auto& name = *static_cast<::simt::identity_t<__VA_ARGS__>*>(::simt::emu::shared_slot( \
      &simt_declaration_##name, sizeof(::simt::identity_t<__VA_ARGS__>), alignof(::simt::identity_t<__VA_ARGS__>)))
#define SIMT_DYN_SHARED(T, name) T* const name = static_cast<T*>(::simt::emu::dynamic_shared())

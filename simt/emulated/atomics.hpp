// Atomics and fences. Atomics are relaxed, as CUDA's; _block narrows their scope to the block, _system is the device's.
// They live in the executor: the instrumented kernel must see one call, not the plain accesses inside.
#pragma once

#include "simt/emulated/kernel_api.hpp"

#define SIMT_ATOMIC(T, name)           \
  T name(T* address, T value);         \
  T name##_block(T* address, T value); \
  T name##_system(T* address, T value);
#define SIMT_ATOMIC_CAS(T)                           \
  T atomicCAS(T* address, T compare, T value);       \
  T atomicCAS_block(T* address, T compare, T value); \
  T atomicCAS_system(T* address, T compare, T value);
#define SIMT_ATOMIC_INTEGERS(M, name) \
  M(int, name)                        \
  M(unsigned, name)                   \
  M(unsigned long long, name)
#define SIMT_ATOMIC_LIST(M)           \
  SIMT_ATOMIC_INTEGERS(M, atomicAdd)  \
  M(float, atomicAdd)                 \
  M(double, atomicAdd)                \
  M(int, atomicSub)                   \
  M(unsigned, atomicSub)              \
  SIMT_ATOMIC_INTEGERS(M, atomicExch) \
  M(float, atomicExch)                \
  SIMT_ATOMIC_INTEGERS(M, atomicMin)  \
  M(long long, atomicMin)             \
  SIMT_ATOMIC_INTEGERS(M, atomicMax)  \
  M(long long, atomicMax)             \
  SIMT_ATOMIC_INTEGERS(M, atomicAnd)  \
  SIMT_ATOMIC_INTEGERS(M, atomicOr)   \
  SIMT_ATOMIC_INTEGERS(M, atomicXor)  \
  M(unsigned, atomicInc)              \
  M(unsigned, atomicDec)

SIMT_ATOMIC_LIST(SIMT_ATOMIC)
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)
SIMT_ATOMIC_CAS(unsigned short)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_CAS

inline void __threadfence_block() {
  simt::emu::fence(simt::emu::memory_scope::block, simt::emu::fence_order::sequential);
}
inline void __threadfence() { simt::emu::fence(simt::emu::memory_scope::device, simt::emu::fence_order::sequential); }
inline void __threadfence_system() { __threadfence(); }

namespace simt {
inline namespace emu {

// Relaxed atomic load and store (PTX ld.relaxed, st.relaxed), for polling and publishing flags.
int load_relaxed(const int* address, memory_scope scope = memory_scope::device);
unsigned load_relaxed(const unsigned* address, memory_scope scope = memory_scope::device);
unsigned long long load_relaxed(const unsigned long long* address, memory_scope scope = memory_scope::device);
void store_relaxed(int* address, int value, memory_scope scope = memory_scope::device);
void store_relaxed(unsigned* address, unsigned value, memory_scope scope = memory_scope::device);
void store_relaxed(unsigned long long* address, unsigned long long value, memory_scope scope = memory_scope::device);

// PTX ld.acquire.gpu and st.release.gpu.
template <class T>
SIMT_INLINE T load_acquire(const T* address) {
  const T value = load_relaxed(address);
  fence(memory_scope::device, fence_order::acquire_release);
  return value;
}
template <class T>
SIMT_INLINE void store_release(T* address, T value) {
  fence(memory_scope::device, fence_order::acquire_release);
  store_relaxed(address, value);
}

// PTX atom.acq_rel.gpu.add. Returns the value before.
SIMT_INLINE unsigned fetch_add(unsigned* address, unsigned value) {
  fence(memory_scope::device, fence_order::acquire_release);
  const unsigned old = atomicAdd(address, value);
  fence(memory_scope::device, fence_order::acquire_release);
  return old;
}

}  // namespace emu
}  // namespace simt

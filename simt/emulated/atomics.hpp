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
  M(float, atomicAdd)                 \
  M(double, atomicAdd)                \
  SIMT_ATOMIC_INTEGERS(M, atomicExch) \
  M(float, atomicExch)                \
  M(unsigned, atomicInc)              \
  M(unsigned, atomicDec)
// Atomics whose operation commutes with itself.
#define SIMT_COMMUTING_LIST(M)       \
  SIMT_ATOMIC_INTEGERS(M, atomicAdd) \
  M(int, atomicSub)                  \
  M(unsigned, atomicSub)             \
  SIMT_ATOMIC_INTEGERS(M, atomicMin) \
  M(long long, atomicMin)            \
  SIMT_ATOMIC_INTEGERS(M, atomicMax) \
  M(long long, atomicMax)            \
  SIMT_ATOMIC_INTEGERS(M, atomicAnd) \
  SIMT_ATOMIC_INTEGERS(M, atomicOr)  \
  SIMT_ATOMIC_INTEGERS(M, atomicXor)

SIMT_ATOMIC_LIST(SIMT_ATOMIC)
#ifdef SIMT_FLAVOUR_RACE
namespace simt {
inline namespace emu {

// The old value of an atomic, and a flag that records a use of it (certificate.hpp).
template <class T>
struct noted_value {
  T old;
  unsigned char* used;
};

// Sets the flag and returns the old value. If the caller ignores the value, an optimising compiler removes the
// instruction, which has no other result; then the flag stays.
template <class T>
SIMT_INLINE T use_noted(noted_value<T> value) {
#ifdef __x86_64__
  asm("movb $1, (%1)" : "+r"(value.old) : "r"(value.used));
#else
  *value.used = 1;
#endif
  return value.old;
}

}  // namespace emu
}  // namespace simt

#define SIMT_NOTED(T, name)                 \
  namespace simt {                          \
  inline namespace emu {                    \
  namespace noted {                         \
  noted_value<T> name(T* address, T value); \
  }                                         \
  }                                         \
  }                                         \
  SIMT_INLINE T name(T* address, T value) { return simt::use_noted(simt::noted::name(address, value)); }
#define SIMT_COMMUTING(T, name) \
  SIMT_NOTED(T, name)           \
  SIMT_NOTED(T, name##_block)   \
  SIMT_NOTED(T, name##_system)
SIMT_COMMUTING_LIST(SIMT_COMMUTING)
#undef SIMT_COMMUTING
#undef SIMT_NOTED
#else
SIMT_COMMUTING_LIST(SIMT_ATOMIC)
#endif
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

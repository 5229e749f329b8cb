// The atomics of C++ as `-fsanitize=thread` translates them (LLVM, tsan_interface_atomic.h). They are the host's:
// kernels have CUDA's own (atomics.cpp). A load may read a value that a kernel has written for it. All are sequentially
// consistent, the strongest order that a caller may ask for.
#include <cstdint>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/executor.hpp"
#include "simt/emulated/stream_clocks.hpp"

namespace simt {
inline namespace emu {

// A kernel may call one all the same.
template <class T>
inline void note_host_atomic(const volatile T* p, bool reads, const void* pc) {
  current != nullptr ? hb_choice(choice::unseen_memory, pc)
                     : hb_host_atomic(const_cast<const T*>(p), sizeof *p, reads, pc);
}

}  // namespace emu
}  // namespace simt

#define SIMT_HOST_UPDATE(n, T, name)                         \
  T __tsan_atomic##n##_##name(volatile T* p, T value, int) { \
    simt::note_host_atomic(p, true, SIMT_PC);                \
    return __atomic_##name(p, value, __ATOMIC_SEQ_CST);      \
  }
#define SIMT_HOST_EXCHANGE(n, T, strength, weak)                                                      \
  int __tsan_atomic##n##_compare_exchange_##strength(volatile T* p, T* expected, T value, int, int) { \
    simt::note_host_atomic(p, true, SIMT_PC);                                                         \
    return __atomic_compare_exchange_n(p, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define SIMT_HOST_ATOMICS(n, T)                                                                  \
  T __tsan_atomic##n##_load(const volatile T* p, int) {                                          \
    simt::note_host_atomic(p, true, SIMT_PC);                                                    \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                              \
  void __tsan_atomic##n##_store(volatile T* p, T value, int) {                                   \
    simt::note_host_atomic(p, false, SIMT_PC);                                                   \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                \
  }                                                                                              \
  T __tsan_atomic##n##_exchange(volatile T* p, T value, int) {                                   \
    simt::note_host_atomic(p, true, SIMT_PC);                                                    \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                      \
  }                                                                                              \
  SIMT_HOST_UPDATE(n, T, fetch_add)                                                              \
  SIMT_HOST_UPDATE(n, T, fetch_sub)                                                              \
  SIMT_HOST_UPDATE(n, T, fetch_and)                                                              \
  SIMT_HOST_UPDATE(n, T, fetch_or)                                                               \
  SIMT_HOST_UPDATE(n, T, fetch_xor)                                                              \
  SIMT_HOST_UPDATE(n, T, fetch_nand)                                                             \
  SIMT_HOST_EXCHANGE(n, T, strong, false)                                                        \
  SIMT_HOST_EXCHANGE(n, T, weak, true)                                                           \
  T __tsan_atomic##n##_compare_exchange_val(volatile T* p, T expected, T value, int, int) {      \
    simt::note_host_atomic(p, true, SIMT_PC);                                                    \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected;                                                                             \
  }

extern "C" {
SIMT_HOST_ATOMICS(8, uint8_t)
SIMT_HOST_ATOMICS(16, uint16_t)
SIMT_HOST_ATOMICS(32, uint32_t)
SIMT_HOST_ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
}

// Stands in for CUDA's header of this name: barriers in shared memory as functions of C.
#pragma once

#include "cuda_runtime.h"

using __mbarrier_t = unsigned long long;
using __mbarrier_token_t = unsigned long long;

namespace simt::import {

inline mbarrier& barrier_of(__mbarrier_t* barrier) { return *reinterpret_cast<mbarrier*>(barrier); }

}  // namespace simt::import

constexpr unsigned __mbarrier_maximum_count() { return (1u << 20) - 1; }
inline void __mbarrier_init(__mbarrier_t* barrier, unsigned expected, SIMT_SITE) {
  ::simt::import::barrier_of(barrier).init(expected, site);
}
inline void __mbarrier_inval(__mbarrier_t*) {}
inline __mbarrier_token_t __mbarrier_arrive(__mbarrier_t* barrier, SIMT_SITE) {
  const __mbarrier_token_t token = ::simt::import::barrier_of(barrier).state(site);
  ::simt::import::barrier_of(barrier).arrive(site);
  return token;
}
inline __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t* barrier, SIMT_SITE) {
  const __mbarrier_token_t token = ::simt::import::barrier_of(barrier).state(site);
  ::simt::import::barrier_of(barrier).arrive_and_drop({}, site);
  return token;
}
inline unsigned __mbarrier_token_pending_count(__mbarrier_token_t token) { return static_cast<unsigned>(token >> 1); }
inline bool __mbarrier_test_wait_parity(__mbarrier_t* barrier, bool parity, SIMT_SITE) {
  return ::simt::import::barrier_of(barrier).try_wait(parity, site);
}
inline bool __mbarrier_test_wait(__mbarrier_t* barrier, __mbarrier_token_t token, SIMT_SITE) {
  return ::simt::import::barrier_of(barrier).try_wait(token & 1, site);
}
inline bool __mbarrier_try_wait_parity(__mbarrier_t* barrier, bool parity, unsigned, SIMT_SITE) {
  return ::simt::import::barrier_of(barrier).try_wait(parity, site);
}
inline bool __mbarrier_try_wait(__mbarrier_t* barrier, __mbarrier_token_t token, unsigned, SIMT_SITE) {
  return ::simt::import::barrier_of(barrier).try_wait(token & 1, site);
}

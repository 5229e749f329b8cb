// Stands in for CUDA's header of this name: copies shared by the threads of a group, and the wait for them.
#pragma once

#include "simt/import/async_bytes.hpp"
#include "simt/import/cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class To, class From>
SIMT_INLINE void memcpy_async(const Group& g, To* to, const From* from, size_t bytes) {
  ::simt::import::copy_share(to, from, bytes, static_cast<unsigned>(g.thread_rank()), static_cast<unsigned>(g.size()));
  ::simt::cp_async_commit();
}
// Copies at most `to_count` elements, the room at `to`.
template <class Group, class T>
SIMT_INLINE void memcpy_async(const Group& g, T* to, size_t to_count, const T* from, size_t from_count) {
  memcpy_async(g, to, from, (to_count < from_count ? to_count : from_count) * sizeof(T));
}
template <class Group>
void wait(const Group& g, SIMT_SITE) {
  ::simt::async_wait(0);
  g.sync(site);
}
// Waits until at most Stages copies are still in flight.
template <unsigned Stages, class Group>
void wait_prior(const Group& g, SIMT_SITE) {
  ::simt::async_wait(Stages);
  g.sync(site);
}

}  // namespace cooperative_groups

// The elements of a scan that the lanes of a warp hold: loading, prefixes, storing.
#pragma once

#include <cstdint>

#include "kernels/primitives/scan.hpp"
#include "kernels/rows/row_access.hpp"
#include "simt/simt.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// One lane's part of the elements of `Lanes` neighbouring lanes: vectors, those of the lanes side by side.
//
// If the elements may begin between two 16-byte boundaries, a whole warp loads the vectors between the boundaries, and
// lanes exchange the neighbours' elements in them. Fewer lanes go element by element there.
template <class T, int Lanes, int Vectors, bool Aligned>
class lane_values {
 public:
  static constexpr int k_width = row_vector<T>::k_width;
  static constexpr int k_step = Lanes * k_width;  // from a lane's vector to its next
  __host__ __device__ static constexpr int elements() { return Vectors * k_step; }

  // `p`: the first of the lanes' elements, `count` of which exist; the others are 0.
  __device__ void load(const T* p, int count) {
    const int misalignment = Aligned ? 0 : misalignment_of(p);
    const bool by_vector = Lanes == k_warp_size || misalignment == 0;
    const int shift = Lanes == k_warp_size ? misalignment : 0;
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      const int first = first_of(k) - shift;
      if (by_vector && first >= 0 && first + k_width <= count) {
        vector_[k] = load_vector(p + first);
      } else {
#pragma unroll
        for (int c = 0; c < k_width; ++c)
          vector_[k].element[c] = exists(first + c, count) ? load_element(p + first + c) : T{0};
      }
    }
    align(count, shift, [&](int c) { return load_element(p + elements() - shift + c); });
  }

  // The same in two steps. Between them the vectors are on their way to `slots`, slots_of(blockDim.x) vectors of shared
  // memory, where each thread uses its own.
  __host__ __device__ static constexpr int slots_of(int threads) { return threads * Vectors + threads / k_warp_size; }
  __device__ static void fetch(const T* p, int count, row_vector<T>* slots) {
    static_assert(Lanes == k_warp_size, "a whole warp");
    const int misalignment = Aligned ? 0 : misalignment_of(p);
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      const int first = first_of(k) - misalignment;
      row_vector<T>* const slot = slots + slot_of(k);
      if (first >= 0 && first + k_width <= count) {
        simt::cp_async<sizeof(*slot)>(slot, p + first);
      } else {
#pragma unroll
        for (int c = 0; c < k_width; ++c)
          if (exists(first + c, count)) simt::cp_async<sizeof(T)>(slot->element + c, p + first + c);
      }
    }
    if (!Aligned && lane() == Lanes - 1) {
#pragma unroll
      for (int c = 0; c < k_width - 1; ++c)
        if (is_behind(c, count, misalignment))
          simt::cp_async<sizeof(T)>(slots[slot_behind()].element + c, p + elements() - misalignment + c);
    }
    simt::cp_async_commit();
  }
  __device__ void take(const T* p, int count, const row_vector<T>* slots) {
    const int misalignment = Aligned ? 0 : misalignment_of(p);
    simt::cp_async_wait<0>();
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      const int first = first_of(k) - misalignment;
      const row_vector<T>* const slot = slots + slot_of(k);
      if (first >= 0 && first + k_width <= count) {
        vector_[k] = *slot;
      } else {
#pragma unroll
        for (int c = 0; c < k_width; ++c) vector_[k].element[c] = exists(first + c, count) ? slot->element[c] : T{0};
      }
    }
    align(count, misalignment, [&](int c) { return slots[slot_behind()].element[c]; });
  }

  // Forms the prefixes and returns the sum of the lanes' elements. A term passes through at most 8 + Vectors additions
  // on its way to that sum: 3 in its vector, 5 over the lanes, and one for each later vector.
  __device__ T scan() {
    const plus_of<T> plus{};
    T carry = 0;
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
#pragma unroll
      for (int c = 1; c < k_width; ++c) vector_[k].element[c] += vector_[k].element[c - 1];
      const T inclusive = lane_scan<Lanes>(vector_[k].element[k_width - 1], plus);
      before_[k] = carry + lane_exclusive<Lanes>(inclusive, plus);
      carry += shuffle_from(inclusive, Lanes - 1, Lanes);
    }
    return carry;
  }

  // Writes finish(prefix within the lanes' elements) to the places from which the elements came.
  template <class Finish>
  __device__ void store(T* p, int count, bool exclusive, Finish&& finish) const {
    if constexpr (Aligned) {
      store_shifted<0>(p, count, exclusive, finish, true);
    } else if constexpr (Lanes == k_warp_size) {
      const int misalignment = misalignment_of(p);
      if (misalignment == 0) return store_shifted<0>(p, count, exclusive, finish, true);
      if (misalignment == 1) return store_shifted<1>(p, count, exclusive, finish, true);
      if constexpr (k_width > 2) {
        if (misalignment == 2) return store_shifted<2>(p, count, exclusive, finish, true);
        return store_shifted<3>(p, count, exclusive, finish, true);
      }
    } else {
      store_shifted<0>(p, count, exclusive, finish, misalignment_of(p) == 0);
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % Lanes; }
  __device__ static int first_of(int k) { return k * k_step + lane() * k_width; }
  __device__ static bool exists(int i, int count) { return i >= 0 && i < count; }

  __device__ static int slot_of(int k) { return k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x); }
  __device__ static int slot_behind() {
    return static_cast<int>(blockDim.x) * Vectors + static_cast<int>(threadIdx.x) / k_warp_size;
  }

  // If vectors begin `misalignment` elements early, there is one more vector after the last, whose first elements
  // belong to the last lane. The lane reads them itself, because in place it also writes there. True if element c is
  // one of these.
  __device__ static bool is_behind(int c, int count, int misalignment) {
    return c < misalignment && elements() - misalignment + c < count;
  }

  // Converts vectors that begin `misalignment` elements early to those of the lane; `load_behind(c)`: element c of the
  // vector after the last.
  template <class Load>
  __device__ void align(int count, int misalignment, Load&& load_behind) {
    if (Aligned || Lanes < k_warp_size || misalignment == 0) return;
    row_vector<T> behind{};
    if (lane() == Lanes - 1) {
#pragma unroll
      for (int c = 0; c < k_width - 1; ++c)
        if (is_behind(c, count, misalignment)) behind.element[c] = load_behind(c);
    }
    if (misalignment == 1) shift<1>(behind);
    if constexpr (k_width > 2) {
      if (misalignment == 2) shift<2>(behind);
      if (misalignment == 3) shift<3>(behind);
    }
  }

  template <int Misalignment>
  __device__ void shift(const row_vector<T>& behind) {
    const int source = (lane() + 1) % Lanes;
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      T next[Misalignment];
#pragma unroll
      for (int c = 0; c < Misalignment; ++c) {
        const bool is_last = k + 1 == Vectors;
        const T later = vector_[is_last ? k : k + 1].element[c];
        next[c] = shuffle_from(lane() == 0 ? later : vector_[k].element[c], source);
        if (is_last && lane() == Lanes - 1) next[c] = behind.element[c];
      }
#pragma unroll
      for (int c = 0; c < k_width; ++c)
        vector_[k].element[c] = c + Misalignment < k_width ? vector_[k].element[(c + Misalignment) % k_width]
                                                           : next[(c + Misalignment) % k_width % Misalignment];
    }
  }

  // The vectors that begin `Misalignment` elements early.
  template <int Misalignment, class Finish>
  __device__ void store_shifted(T* p, int count, bool exclusive, Finish& finish, bool by_vector) const {
    const int source = (lane() + Lanes - 1) % Lanes;
    T kept[Misalignment + 1] = {};  // the last elements of the lane's previous vector
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      T mine[k_width];
#pragma unroll
      for (int c = 0; c < k_width; ++c) {
        const T shifted = c == 0 ? T{0} : vector_[k].element[c == 0 ? 0 : c - 1];
        mine[c] = finish(before_[k] + (exclusive ? shifted : vector_[k].element[c]));
      }
      row_vector<T> out;
#pragma unroll
      for (int c = 0; c < k_width; ++c) {
        if (c < Misalignment) {
          const T last = mine[k_width - Misalignment + c];
          out.element[c] = shuffle_from(lane() == Lanes - 1 ? kept[c] : last, source);
          kept[c] = last;
        } else {
          out.element[c] = mine[c - Misalignment];
        }
      }
      const int first = first_of(k) - Misalignment;
      if (by_vector && first >= 0 && first + k_width <= count) {
        store_vector(p + first, out);
      } else {
#pragma unroll
        for (int c = 0; c < k_width; ++c)
          if (exists(first + c, count)) store_element(p + first + c, out.element[c]);
      }
    }
    if (lane() == Lanes - 1) {
#pragma unroll
      for (int c = 0; c < Misalignment; ++c)
        if (elements() - Misalignment + c < count) store_element(p + elements() - Misalignment + c, kept[c]);
    }
  }

  row_vector<T> vector_[Vectors];  // the elements, then the prefixes within the vector
  T before_[Vectors];              // the sum of everything before the vector
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

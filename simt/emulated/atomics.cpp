// The atomics of kernels. Out of line, so that an instrumented kernel shows the detector one atomic access each.
#include "simt/emulated/atomics.hpp"

#include <cstring>
#include <type_traits>

#include "simt/emulated/certificate.hpp"
#include "simt/emulated/explore.hpp"
#include "simt/emulated/happens_before.hpp"
#include "simt/emulated/intrinsics.hpp"
#include "simt/emulated/parts.hpp"

namespace simt {
inline namespace emu {
namespace {

// The kind of an atomic before its turn: a compare and swap may yet succeed.
template <class Kind>
atomic_kind expected_kind(const Kind& kind_of, const void* p) {
  if constexpr (std::is_convertible_v<Kind, atomic_kind (*)(const void*)>) return kind_of(p);
  return atomic_kind::update;
}

// A switch may happen, then *p becomes operation(*p) in one step, of the kind kind_of(p). Returns the old value.
template <class T, class Kind, class Operation>
T atomically(T* p, memory_scope scope, const void* pc, Kind kind_of, Operation operation,
             commuting commutes = commuting::no) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof(T) != 0) detail::check_alignment(p, sizeof(T));
  access_point();
  if (explores()) explore_point(p, sizeof(T), expected_kind(kind_of, p), commutes, pc);
  const atomic_kind kind = kind_of(p);
  if (commutes == commuting::no) hb_choice(kind == atomic_kind::update ? choice::atomic : choice::atomic_access, pc);
  hb_atomic(*current, p, sizeof(T), scope, kind, pc);
  if (commutes == commuting::no && !is_shared(p)) note_effect_of_order();
  const T before = *p;
  const T after = operation(before);
  *p = after;
  const bool has_changed = std::memcmp(&before, &after, sizeof(T)) != 0;
  if (explores()) explore_executed(kind, has_changed);
  if (has_changed || kind != atomic_kind::store) atomic_done(has_changed, p, pc, commutes == commuting::no);
  return before;
}

template <atomic_kind Kind>
atomic_kind always(const void*) {
  return Kind;
}

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}
template <class T>
T difference(T a, T b) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
}

}  // namespace

void fence(memory_scope scope, fence_order order) { hb_fence(*current, scope, order); }

namespace detail {

void check_alignment(const void* p, size_t align) {
  fail("misaligned", [&] {
    return describe(*current) + " accesses " + std::to_string(align) + " bytes at an address that is " +
           std::to_string(reinterpret_cast<uintptr_t>(p) % align) + " modulo " + std::to_string(align);
  });
}

}  // namespace detail

#define SIMT_RELAXED(T)                                                                                         \
  T load_relaxed(const T* p, memory_scope scope) {                                                              \
    return atomically(const_cast<T*>(p), scope, SIMT_PC, always<atomic_kind::load>, [](T old) { return old; }); \
  }                                                                                                             \
  void store_relaxed(T* p, T value, memory_scope scope) {                                                       \
    atomically(p, scope, SIMT_PC, always<atomic_kind::store>, [value](T) { return value; });                    \
  }
SIMT_RELAXED(int)
SIMT_RELAXED(unsigned)
SIMT_RELAXED(unsigned long long)

}  // namespace emu
}  // namespace simt

using simt::memory_scope;

// An integer atomic whose operation commutes with its like. In the race flavour the header's function of this name
// (atomics.hpp) calls it and sets the flag if the result is used.
#ifdef SIMT_FLAVOUR_RACE
#define SIMT_DEFINE_COMMUTING_IN(T, name, scope, commutes, expression)                               \
  simt::noted_value<T> simt::noted::name(T* p, T v) {                                                \
    unsigned char* const used = simt::hb_commutes(p, sizeof(T), simt::commuting::commutes, SIMT_PC); \
    const T old = simt::atomically(                                                                  \
        p, memory_scope::scope, SIMT_PC, simt::always<simt::atomic_kind::update>,                    \
        [v](T old) -> T { return expression; }, simt::commuting::commutes);                          \
    return {old, used};                                                                              \
  }
#else
#define SIMT_DEFINE_COMMUTING_IN(T, name, scope, commutes, expression)                                \
  T name(T* p, T v) {                                                                                 \
    return simt::atomically(p, memory_scope::scope, SIMT_PC, simt::always<simt::atomic_kind::update>, \
                            [v](T old) -> T { return expression; });                                  \
  }
#endif
#define SIMT_DEFINE_COMMUTING(T, name, commutes, expression)               \
  SIMT_DEFINE_COMMUTING_IN(T, name, device, commutes, expression)          \
  SIMT_DEFINE_COMMUTING_IN(T, name##_system, device, commutes, expression) \
  SIMT_DEFINE_COMMUTING_IN(T, name##_block, block, commutes, expression)
#define SIMT_DEFINE_COMMUTING_INTEGERS(name, commutes, commutes_unsigned, expression) \
  SIMT_DEFINE_COMMUTING(int, name, commutes, expression)                              \
  SIMT_DEFINE_COMMUTING(unsigned, name, commutes_unsigned, expression)                \
  SIMT_DEFINE_COMMUTING(unsigned long long, name, commutes_unsigned, expression)

#define SIMT_DEFINE_IN(T, name, scope, expression)                                                    \
  T name(T* p, T v) {                                                                                 \
    return simt::atomically(p, memory_scope::scope, SIMT_PC, simt::always<simt::atomic_kind::update>, \
                            [v](T old) -> T { return expression; });                                  \
  }
#define SIMT_DEFINE(T, name, expression)               \
  SIMT_DEFINE_IN(T, name, device, expression)          \
  SIMT_DEFINE_IN(T, name##_system, device, expression) \
  SIMT_DEFINE_IN(T, name##_block, block, expression)
#define SIMT_DEFINE_INTEGERS(name, expression) \
  SIMT_DEFINE(int, name, expression)           \
  SIMT_DEFINE(unsigned, name, expression)      \
  SIMT_DEFINE(unsigned long long, name, expression)

SIMT_DEFINE_COMMUTING_INTEGERS(atomicAdd, add, add, simt::sum(old, v))
SIMT_DEFINE(float, atomicAdd, old + v)
SIMT_DEFINE(double, atomicAdd, old + v)
SIMT_DEFINE_COMMUTING(int, atomicSub, add, simt::difference(old, v))
SIMT_DEFINE_COMMUTING(unsigned, atomicSub, add, simt::difference(old, v))
SIMT_DEFINE_INTEGERS(atomicExch, ((void)old, v))
SIMT_DEFINE(float, atomicExch, ((void)old, v))
SIMT_DEFINE_COMMUTING_INTEGERS(atomicMin, min, unsigned_min, old < v ? old : v)
SIMT_DEFINE_COMMUTING(long long, atomicMin, min, old < v ? old : v)
SIMT_DEFINE_COMMUTING_INTEGERS(atomicMax, max, unsigned_max, old > v ? old : v)
SIMT_DEFINE_COMMUTING(long long, atomicMax, max, old > v ? old : v)
SIMT_DEFINE_COMMUTING_INTEGERS(atomicAnd, bit_and, bit_and, old& v)
SIMT_DEFINE_COMMUTING_INTEGERS(atomicOr, bit_or, bit_or, old | v)
SIMT_DEFINE_COMMUTING_INTEGERS(atomicXor, bit_xor, bit_xor, old ^ v)
SIMT_DEFINE(unsigned, atomicInc, old >= v ? 0 : old + 1)
SIMT_DEFINE(unsigned, atomicDec, old == 0 || old > v ? v : old - 1)

#define SIMT_DEFINE_CAS_IN(T, name, scope)                                              \
  T name(T* p, T compare, T v) {                                                        \
    return simt::atomically(                                                            \
        p, memory_scope::scope, SIMT_PC,                                                \
        [compare](const T* now) {                                                       \
          simt::hb_compares();                                                          \
          return *now == compare ? simt::atomic_kind::update : simt::atomic_kind::load; \
        },                                                                              \
        [compare, v](T old) -> T { return old == compare ? v : old; });                 \
  }
#define SIMT_DEFINE_CAS(T)                        \
  SIMT_DEFINE_CAS_IN(T, atomicCAS, device)        \
  SIMT_DEFINE_CAS_IN(T, atomicCAS_system, device) \
  SIMT_DEFINE_CAS_IN(T, atomicCAS_block, block)
SIMT_DEFINE_CAS(int)
SIMT_DEFINE_CAS(unsigned)
SIMT_DEFINE_CAS(unsigned long long)
SIMT_DEFINE_CAS(unsigned short)

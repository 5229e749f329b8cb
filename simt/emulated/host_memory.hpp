// Checks of pointers in foreign kernels: accesses to host memory, or to another allocation than the pointer's own.
#pragma once

#include <cstddef>
#include <type_traits>

namespace simt {
inline namespace emu {

// In launches of this host thread, whoever touches [p, p + bytes) is at fault (race flavour), unless that is device
// memory. `argument` counts from 1.
void forbid_access(const void* p, size_t bytes, int argument);
// Takes back what this host thread has forbidden.
void allow_access();

// A kernel is about to reach `at` by an index of a pointer that is `from`: at fault where they lie in different live
// allocations (race flavour).
#ifdef SIMT_FLAVOUR_RACE
void check_index(const void* from, const void* at);
#else
inline void check_index(const void*, const void*) {}
#endif

// The size of an element that a pointer points to; 1 if the type is incomplete.
template <class T, class = void>
constexpr size_t element_bytes = 1;
template <class T>
constexpr size_t element_bytes<T, std::void_t<decltype(sizeof(T))>> = sizeof(T);

// While it lives, launches must not touch what the arguments that are pointers point to, where that is the host's: the
// first elements, for of the rest nobody knows how long it is.
class host_pointers {
 public:
  template <class... Arguments>
  explicit host_pointers(const Arguments&... arguments) {
    [[maybe_unused]] int argument = 0;
    (forbid(arguments, ++argument), ...);
  }
  ~host_pointers() { allow_access(); }
  host_pointers(const host_pointers&) = delete;
  host_pointers& operator=(const host_pointers&) = delete;

 private:
  template <class Argument>
  static void forbid(const Argument& a, int argument) {
    using element = std::remove_cv_t<std::remove_pointer_t<Argument>>;
    if constexpr (std::is_pointer_v<Argument> && std::is_void_v<element>)
      forbid_access(const_cast<const element*>(a), 1, argument);
    else if constexpr (std::is_pointer_v<Argument> && std::is_object_v<element>)
      forbid_access(const_cast<const element*>(a), element_bytes<element>, argument);
  }
};

}  // namespace emu
}  // namespace simt

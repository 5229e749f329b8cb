// Flaw: an f64 array handed to an f32 kernel through an untyped pointer. Ours must not take it: that this file compiles
// is the test.
#include <type_traits>
#include <utility>

#include "kernels/sigmoid/sigmoid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {
namespace {

template <class T, class = void>
struct takes : std::false_type {};
template <class T>
struct takes<T, std::void_t<decltype(sigmoid(std::declval<const T*>(), std::declval<T*>(), int64_t{}, 0.0f, 1.0f,
                                             std::declval<simt::stream_t>()))>> : std::true_type {};

static_assert(takes<float>::value && takes<simt::f16>::value && takes<simt::bf16>::value, "the types of the contract");
static_assert(!takes<double>::value && !takes<int>::value && !takes<void>::value, "no other type has an overload");

}  // namespace
}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

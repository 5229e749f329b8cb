// {fmt}, compiled once. Debian has it as a shared library, which a bundle would have to bring along, or as headers
// alone, from which every source compiles all of it anew (2 s of 4).
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// Definitions that the headers of {fmt} 8 and 9 leave to one source.
template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref place) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref place) -> char;

}  // namespace detail
FMT_END_NAMESPACE

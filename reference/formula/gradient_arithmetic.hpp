// Trees of sums and products without trivial terms; only for the sources of gradient.hpp.
#pragma once

#include <string>
#include <string_view>

#include "reference/formula/tree.hpp"

namespace warpcheck::formula::derivation {

inline expr literal(int64_t n) { return make_number(n); }
inline bool is_number(const expr& e, std::string_view text) { return e->what == kind::number && e->text == text; }
inline bool is_mask(const expr& e) { return e->what == kind::choose && is_number(e->args[2], "0"); }

expr negated(const expr& a);
expr times(const expr& a, const expr& b);
expr over(const expr& a, const expr& b);
expr plus(const expr& a, const expr& b);
expr minus(const expr& a, const expr& b);
expr one_minus(const expr& a);
expr squared(const expr& a);
expr call(std::string_view f, const expr& a);
// if condition then g else 0
expr masked(const expr& condition, const expr& g);
// a and b; a may be null
expr both(const expr& a, const expr& b);
expr opposite(const formula_operator& op, const expr& condition);

}  // namespace warpcheck::formula::derivation

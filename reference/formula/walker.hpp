// Evaluates a program on demand in an algebra: elements of definitions are computed at their first use and stored.
//
// An algebra A has a type `value` and
//   value constant(const code&); value whole(int64_t); value load(const code&, double element)
//   value outside(value), beyond a tensor; value negate(value)
//   value binary(form, value, value, bool are_same); value power(value, int)
//   value call(function, value); value call(function, value, value); value cast(value, number_type)
//   value stored(value, number_type); value as_output(value, number_type); value neutral(reduction)
//   value at_most_zero(value), of x - max(x); value holds_one(value), of a sum that has the term exp(0)
//   truth compare(kind, value, value); value choose(truth, value then, value otherwise); int64_t index_of(value)
//   a type `total` of (A&, reduction) with add(value, index) and result(), which scans call after each term
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reference/formula/program.hpp"

namespace warpcheck::formula {

// The exact value of a condition, and if it is certain: a kernel's condition then has the same value.
struct truth {
  bool holds = false;
  bool exact_is_sure = true;
  bool computed_is_sure = true;

  bool is_sure() const { return exact_is_sure && computed_is_sure; }
  friend truth operator!(truth a) { return {!a.holds, a.exact_is_sure, a.computed_is_sure}; }
  // Certain if both are, or if one of them decides the result and is certain.
  friend truth operator&&(truth a, truth b) {
    const auto sure = [&](bool of_a, bool of_b) { return (of_a && of_b) || (of_a && !a.holds) || (of_b && !b.holds); };
    return {a.holds && b.holds, sure(a.exact_is_sure, b.exact_is_sure), sure(a.computed_is_sure, b.computed_is_sure)};
  }
  friend truth operator||(truth a, truth b) { return !(!a && !b); }
};

template <class T>
bool compare_values(kind sign, const T& a, const T& b) {
  switch (sign) {
    case kind::less: return a < b;
    case kind::less_equal: return a <= b;
    case kind::greater: return a > b;
    case kind::greater_equal: return a >= b;
    case kind::equal: return a == b;
    default: return a != b;
  }
}

inline constexpr int64_t k_most_kept = int64_t{1} << 26;  // elements of one definition

template <class A>
class walker {
 public:
  using value = typename A::value;

  walker(program& p, A algebra)
      : program_(p),
        algebra_(std::move(algebra)),
        frame_(static_cast<size_t>(p.slots())),
        kept_(p.definitions().size()),
        scans_(static_cast<size_t>(p.scans())),
        reductions_(static_cast<size_t>(p.kept_reductions())) {
    for (const code* c : p.constants()) constants_.push_back(algebra_.constant(*c));
  }

  A& algebra() { return algebra_; }
  // Element `i` of a definition as its formula gives it, without the rounding of an output.
  value element(const definition_code& d, int64_t i) {
    const bool keeps = d.elements <= k_most_kept;
    store& s = kept_[static_cast<size_t>(d.id)];
    if (keeps && s.known.empty()) s.known.resize(static_cast<size_t>(d.elements)), s.values.resize(s.known.size());
    const auto at = static_cast<size_t>(i);
    if (keeps && s.known[at]) return s.values[at];
    set_frame(d, i);
    value v = run(*d.value);
    if (d.source->type) v = algebra_.stored(v, *d.source->type);
    if (keeps) s.values[at] = v, s.known[at] = true;
    return v;
  }
  // Calls use(value, index) with each term of a definition that is a reduction, in order.
  template <class Use>
  void terms(const definition_code& d, int64_t i, Use use) {
    set_frame(d, i);
    const code& c = *d.value;
    each(*c.range, [&](truth t) {
      use(term(c, t), frame_[static_cast<size_t>(c.range->indices[0].slot)]);
      return true;
    });
  }
  int64_t operations() const { return operations_; }  // nodes that were evaluated; those of a definition count once

 private:
  struct store {
    std::vector<value> values;
    std::vector<bool> known;
  };
  // Values of a reduction by the indices that it depends on. Each key has one place, which stores its last key.
  struct reduction_store {
    std::vector<int64_t> keys;
    std::vector<value> values;
  };

  void set_frame(const definition_code& d, int64_t i) {
    for (size_t k = d.slots.size(); k-- > 0;) {
      frame_[static_cast<size_t>(d.slots[k])] = i % d.sizes[k];
      i /= d.sizes[k];
    }
  }

  int64_t whole(const whole_code& w) {
    using form = whole_code::form;
    if (w.what == form::affine) {
      int64_t sum = w.base;
      for (const whole_code::term& t : w.terms) sum += t.factor * frame_[static_cast<size_t>(t.slot)];
      return sum;
    }
    const auto arg = [&](size_t i) { return whole(w.args[i]); };
    switch (w.what) {
      case form::negate: return -arg(0);
      case form::add: return arg(0) + arg(1);
      case form::subtract: return arg(0) - arg(1);
      case form::multiply: return multiplied(arg(0), arg(1));
      case form::divide: return floor_divide(arg(0), arg(1));
      case form::remainder: {
        const int64_t a = arg(0), b = arg(1);
        return a - floor_divide(a, b) * b;
      }
      case form::min: return std::min(arg(0), arg(1));
      case form::max: return std::max(arg(0), arg(1));
      case form::load: {
        const std::optional<int64_t> at = offset_of(w.args, w.integers->shape);
        return at ? w.integers->integers[static_cast<size_t>(*at)] : 0;
      }
      default: {
        const std::optional<int64_t> at = offset_of(w.args, w.chosen->sizes);
        return at ? algebra_.index_of(nested(*w.chosen, *at)) : 0;
      }
    }
  }
  std::optional<int64_t> offset_of(const std::vector<whole_code>& subscripts, const std::vector<int64_t>& shape) {
    int64_t offset = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t at = whole(subscripts[i]);
      if (at < 0 || at >= shape[i]) return std::nullopt;
      offset = offset * shape[i] + at;
    }
    return offset;
  }
  // Returns -1 if a subscript is outside.
  int64_t locate(const access& a) {
    if (a.checked.empty()) return whole(a.offset);
    int64_t offset = 0;
    for (const access::dimension& d : a.checked) {
      const int64_t at = whole(d.subscript);
      if (at < 0 || at >= d.size) return -1;
      offset += at * d.stride;
    }
    return offset;
  }
  // An element of another definition; each has slots of its own.
  value nested(const definition_code& d, int64_t at) {
    value v = element(d, at);
    if (d.output && !is_integer(d.output->type)) v = algebra_.as_output(v, d.output->type);
    return v;
  }

  value run(const code& c) {
    using form = code::form;
    ++operations_;
    switch (c.what) {
      case form::constant:
      case form::scalar: return constants_[static_cast<size_t>(c.constant)];
      case form::whole: return algebra_.whole(whole(c.whole));
      case form::load: {
        const int64_t at = locate(c.place);
        if (at < 0) return outside(c);
        return algebra_.load(c, c.from->values[static_cast<size_t>(at)]);
      }
      case form::define: {
        const int64_t at = locate(c.place);
        return at < 0 ? outside(c) : nested(*c.defined, at);
      }
      case form::negate: return algebra_.negate(run(*c.args[0]));
      case form::add:
      case form::multiply:
      case form::divide: {
        const value a = run(*c.args[0]);
        return algebra_.binary(c.what, a, run(*c.args[1]), c.args[0] == c.args[1]);
      }
      case form::subtract: {
        const value a = run(*c.args[0]);
        const value v = algebra_.binary(c.what, a, run(*c.args[1]), false);
        if (!c.below_maximum) return v;
        const truth t = c.takes_part ? test(*c.takes_part) : truth{true};
        return t.holds && t.is_sure() ? algebra_.at_most_zero(v) : v;
      }
      case form::power: return algebra_.power(run(*c.args[0]), c.exponent);
      case form::call: {
        const value a = run(*c.args[0]);
        return c.args.size() == 1 ? algebra_.call(c.of, a) : algebra_.call(c.of, a, run(*c.args[1]));
      }
      case form::choose: {
        const truth t = test(*c.condition);
        if (t.is_sure()) return run(*c.args[t.holds ? 0 : 1]);
        const value a = run(*c.args[0]);
        return algebra_.choose(t, a, run(*c.args[1]));
      }
      case form::cast: return algebra_.cast(run(*c.args[0]), c.type);
      case form::truth: {
        const truth t = test(*c.condition);
        return t.is_sure() ? algebra_.whole(t.holds ? 1 : 0) : algebra_.choose(t, algebra_.whole(1), algebra_.whole(0));
      }
      case form::scan: return scan(c);
      default: return reduce(c);
    }
  }
  value outside(const code& c) { return algebra_.outside(c.outside ? run(*c.outside) : algebra_.whole(0)); }

  // Runs over the indices of a loop. `body` gets the condition that they take part, unless they certainly do not, and
  // returns false to end the loop.
  template <class Body>
  bool each(const loop& l, Body&& body, size_t depth = 0) {
    if (depth == l.indices.size()) {
      if (!l.where) return body(truth{true});
      const truth t = test(*l.where);
      return !t.holds && t.is_sure() ? true : body(t);
    }
    const loop::index& i = l.indices[depth];
    int64_t from = 0, below = i.size;
    for (const whole_code& w : i.from) from = std::max(from, whole(w));
    for (const whole_code& w : i.below) below = std::min(below, whole(w));
    for (int64_t k = from; k < below; ++k) {
      frame_[static_cast<size_t>(i.slot)] = k;
      if (!each(l, body, depth + 1)) return false;
    }
    return true;
  }

  // Computes the whole sum of products at once, if the algebra can.
  template <class Total>
  bool dot(const code& c, Total& total) {
    const loop::index& i = c.range->indices[0];
    int64_t from = 0, below = i.size;
    for (const whole_code& w : i.from) from = std::max(from, whole(w));
    for (const whole_code& w : i.below) below = std::min(below, whole(w));
    if (below <= from) return false;
    frame_[static_cast<size_t>(i.slot)] = from;
    const code &a = *c.args[0]->args[0], &b = *c.args[0]->args[1];
    const double* const x = a.from->values.data() + whole(a.place.offset);
    const double* const z = b.from->values.data() + whole(b.place.offset);
    if (!total.add_products(x, c.dot_steps[0], z, c.dot_steps[1], below - from)) return false;
    operations_ += 4 * (below - from);
    return true;
  }
  // A term that may not take part is either itself or the neutral value.
  value term(const code& c, truth t) {
    const value v = run(*c.args[0]);
    return t.is_sure() ? v : algebra_.choose(t, v, algebra_.neutral(c.by));
  }
  int64_t key_of(const code& c) const {
    int64_t key = 0;
    for (size_t i = 0; i < c.key_slots.size(); ++i)
      key = key * c.key_sizes[i] + frame_[static_cast<size_t>(c.key_slots[i])];
    return key;
  }
  value reduce(const code& c) {
    if (c.kept_id < 0) return reduced(c);
    reduction_store& s = reductions_[static_cast<size_t>(c.kept_id)];
    if (s.keys.empty()) {
      int64_t n = 1;
      for (const int64_t size : c.key_sizes) n = std::min(n * size, k_most_reductions);
      s.keys.assign(static_cast<size_t>(n), -1);
      s.values.resize(s.keys.size());
    }
    const int64_t key = key_of(c);
    const size_t at = static_cast<size_t>(key) % s.keys.size();
    if (s.keys[at] != key) {
      s.values[at] = reduced(c);
      s.keys[at] = key;
    }
    return s.values[at];
  }
  value reduced(const code& c) {
    typename A::total total(algebra_, c.by);
    if constexpr (requires { total.add_products(nullptr, 0, nullptr, 0, 0); })
      if (c.is_dot && dot(c, total)) return total.result();
    int64_t terms = 0;
    each(*c.range, [&](truth t) {
      total.add(term(c, t), frame_[static_cast<size_t>(c.range->indices[0].slot)]);
      ++terms;
      return true;
    });
    value v = total.result();
    return c.holds_one && terms > 0 ? algebra_.holds_one(v) : v;
  }

  // Stores one line of prefixes for each setting of the other indices that the terms depend on.
  value scan(const code& c) {
    auto& lines = scans_[static_cast<size_t>(c.scan_id)];
    const int64_t last = frame_[static_cast<size_t>(c.scan_slot)], n = c.range->indices[0].size;
    const int64_t key = key_of(c);
    auto found = lines.find(key);
    if (found == lines.end()) {
      if (lines.size() * static_cast<size_t>(n) > k_most_scanned) lines.clear();
      found = lines.emplace(key, prefixes(c, n)).first;
    }
    return found->second[static_cast<size_t>(last)];
  }
  std::vector<value> prefixes(const code& c, int64_t n) {
    std::vector<value> values(static_cast<size_t>(n));
    typename A::total total(algebra_, c.by);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = c.is_backward ? n - 1 - i : i;
      frame_[static_cast<size_t>(c.range->indices[0].slot)] = k;
      const value now = run(*c.args[0]);
      if (c.is_strict) values[static_cast<size_t>(k)] = total.result();
      total.add(now, k);
      if (!c.is_strict) values[static_cast<size_t>(k)] = total.result();
    }
    return values;
  }

  truth test(const condition_code& c) {
    using form = condition_code::form;
    switch (c.what) {
      case form::compare_whole: return {compare_values(c.sign, whole(c.whole[0]), whole(c.whole[1]))};
      case form::compare: {
        const value a = run(*c.values[0]);
        return algebra_.compare(c.sign, a, run(*c.values[1]));
      }
      case form::both: {
        const truth a = test(c.parts[0]);
        return !a.holds && a.is_sure() ? a : a && test(c.parts[1]);
      }
      case form::either: {
        const truth a = test(c.parts[0]);
        return a.holds && a.is_sure() ? a : a || test(c.parts[1]);
      }
      case form::negation: return !test(c.parts[0]);
      case form::any:
      case form::all: {
        const bool is_any = c.what == form::any;
        truth t = {!is_any};
        each(*c.range, [&](truth) {
          t = is_any ? t || test(c.parts[0]) : t && test(c.parts[0]);
          return !(t.is_sure() && t.holds == is_any);
        });
        return t;
      }
      default: return algebra_.compare(kind::not_equal, run(*c.values[0]), algebra_.whole(0));
    }
  }

  static constexpr size_t k_most_scanned = size_t{1} << 22;  // elements of kept lines
  static constexpr int64_t k_most_reductions = int64_t{1} << 20;

  program& program_;
  A algebra_;
  std::vector<int64_t> frame_;
  std::vector<value> constants_;
  std::vector<store> kept_;
  std::vector<std::unordered_map<int64_t, std::vector<value>>> scans_;  // lines by the indices that they depend on
  std::vector<reduction_store> reductions_;
  int64_t operations_ = 0;
};

}  // namespace warpcheck::formula

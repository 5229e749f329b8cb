#include "properties/engine/cases/offer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/shrinking/shrink_steps.hpp"

namespace warpcheck::engine {
namespace {

// An integer scalar of this few values has one trait for each value.
constexpr double k_few_values = 16;
constexpr int64_t k_full_alignment = 256;   // bytes or elements: of a tensor without an offset
constexpr double k_small_product = 0x1p18;  // of extents: three of 64

bool has_few_values(const scalar_rule& s) {
  return !s.names.empty() || (s.is_integer && s.most - s.least < k_few_values);
}

// Returns all values of a scalar that has few; of any other number 1, for 0 is most often the default.
std::vector<std::string> few_values_of(const scalar_rule& s) {
  if (!s.names.empty()) return s.names;
  if (!has_few_values(s)) return {"1"};
  std::vector<std::string> values;
  for (double v = s.least; v <= s.most; ++v) values.push_back(format_number(v));
  return values;
}

// True if the scalar has this value in the case; NaN equals itself.
bool is_value(const scalar_rule& s, const trial_case& c, const std::string& value) {
  const auto given = c.knobs.find(s.name);
  const double own = given == c.knobs.end() ? s.usual : passed_value(s, given->second);
  const double other = passed_value(s, value);
  return own == other || (std::isnan(own) && std::isnan(other));
}

bool is_apart(const tensor_spec& t) { return t.rows() > 1 && t.cols() > 0 && t.ld > t.cols(); }

// True if the call passes so large a distance, which a candidate may refuse for a single row, too.
bool is_distant(const tensor_spec& t, int64_t size) { return t.elements() > 0 && t.ld > std::max(size, t.cols()); }

// Returns the distance of the tensor's address from a fully aligned one, in bytes.
int64_t misalignment_of(const trial_case& c, const tensor_spec& t) {
  const tensor_spec* const host = t.beside.empty() ? nullptr : c.find(t.beside);
  return (host ? host->offset + host->cols() : t.offset) * static_cast<int64_t>(size_of(t.type));
}

// True if the tensor has elements at the address and the distance between rows that the call passes.
bool has_layout(const tensor_spec& t) { return t.elements() > 0 && !t.is_workspace(); }

// True if the call has the tensor, even without elements if the case's sizes are 0.
bool is_listed(const trial_case& c, const std::string& name) {
  const tensor_spec* const t = c.find(name);
  return t && (t->elements() > 0 || !find_description(c.op)->lists_all_tensors);
}

// True if the element type of the tensor counts. An optional one without elements is absent.
bool is_typed(const trial_case& c, const tensor_spec& t) {
  const description* const d = find_description(c.op);
  const call_form* const form = d ? d->form_of(c) : nullptr;
  const tensor_rule* const rule = form ? form->find(t.name) : nullptr;
  return t.elements() > 0 || (rule && !rule->is_optional);
}

// True if the call leaves out an optional tensor that it could have.
bool leaves_out(const trial_case& c, const std::string& name) {
  const description* const d = find_description(c.op);
  const call_form* const form = d ? d->form_of(c) : nullptr;
  const tensor_rule* const rule = form ? form->find(name) : nullptr;
  if (!rule || !rule->is_optional || is_listed(c, name)) return false;
  if (rule->before.empty() && !why_absent(c, *rule).empty()) return false;
  const std::vector<int64_t> shape = shape_by(c, name, sizes_of(*d, c));
  return std::ranges::find(shape, 0) == shape.end();
}

std::vector<std::string_view> factors_of(const trait& t) { return trimmed_parts(t.name, "*"); }
std::vector<std::string_view> compared_by(const trait& t) { return trimmed_parts(t.name, k_differs); }

// Returns 0 for an extent that the case does not have.
int64_t extent_size(const trial_case& c, std::string_view name) {
  const description* const d = find_description(c.op);
  return d ? size_in(sizes_of(*d, c), name) : 0;
}

int64_t product_of(const trial_case& c, const trait& t) {
  int64_t product = 1;
  for (const std::string_view factor : factors_of(t)) product *= extent_size(c, factor);
  return product;
}

bool are_different(const trial_case& c, const trait& t) {
  const std::vector<std::string_view> extents = compared_by(t);
  return std::ranges::any_of(
      extents, [&](std::string_view extent) { return extent_size(c, extent) != extent_size(c, extents.front()); });
}

// ---- cases without a trait ----

void settle(const description& d, trial_case& c) {
  if (d.mend) d.mend(c);
  follow(c);
}

// Returns the tensor whose memory this one shares.
std::string owner_of(const trial_case& c, const std::string& tensor) {
  const tensor_spec& t = c.at(tensor);
  return !t.in_place.empty() ? t.in_place : t.same.empty() ? tensor : t.same;
}

void close_gap(trial_case& c, const std::string& tensor) {
  const std::string owner = owner_of(c, tensor);
  if (const tensor_spec* guest = guest_of(c, c.at(owner))) move_apart(c, guest->name);
  move_apart(c, owner);
  set_layout(c, owner, c.at(owner).cols(), c.at(owner).offset);
}

void move_to(trial_case& c, const std::string& tensor, int64_t bytes) {
  if (!c.at(tensor).beside.empty()) move_apart(c, tensor);
  const std::string owner = owner_of(c, tensor);
  const tensor_spec& t = c.at(owner);
  set_layout(c, owner, t.ld, bytes / static_cast<int64_t>(size_of(t.type)));
}

void spread(trial_case& c, const std::string& tensor, int64_t ld) {
  const tensor_spec& t = c.at(tensor);
  const std::string owner = t.beside.empty() ? owner_of(c, tensor) : t.beside;
  set_layout(c, owner, ld, c.at(owner).offset);
}

// Returns the smallest distance with a gap between the tensor's rows that has the same alignment.
int64_t near_distance(const tensor_spec& t) {
  constexpr int64_t k_alignment = 64;
  return t.cols() + 1 + (t.ld - t.cols() - 1) % k_alignment;
}

int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

void leave_out(const description& d, trial_case& c, const std::string& name) {
  for (const tensor_spec& t : c.tensors)
    if (t.in_place == name || t.same == name || t.beside == name) move_apart(c, t.name);
  move_apart(c, name);
  if (!d.lists_all_tensors) {
    std::erase_if(c.tensors, [&](const tensor_spec& t) { return t.name == name; });
    return;
  }
  tensor_spec& t = *c.find(name);
  t.shape.assign(t.shape.size(), 0);
  t.ld = t.offset = 0;
  t.fill.edits.clear();
}

void put_in(const description& d, trial_case& c, const std::string& name) {
  const tensor_rule* const rule = d.form_of(c)->find(name);
  if (!rule) return;
  if (tensor_spec* const t = c.find(name)) {  // without elements
    t->shape = shape_by(c, name, sizes_of(d, c));
    t->ld = t->cols();
    return;
  }
  const dtype type = rule->types == 0 ? c.tensors.front().type : types_of(*rule).front();
  recipe fill;
  if (rule->is_input) fill = is_float(type) ? make_recipe("uniform", {1, -1, 1}) : make_recipe("constant", {0});
  add_tensor(c, name, type, std::move(fill));
}

bool is_case(const description& d, const trial_case& c) { return what_is_wrong(d, c, false).empty(); }

trial_case with_value(const description& d, trial_case c, const std::string& scalar, const std::string& value) {
  const sizes of = sizes_of(d, c);
  set_knob(c, scalar, value);
  reshape(d, c, of);  // a scalar may transpose a shape
  return c;
}

std::vector<trial_case> of_other_value(const description& d, const trial_case& c, const trait& t) {
  std::vector<trial_case> found;
  const scalar_rule* const s = find_scalar(c, t.name);
  if (!s) return found;
  const bool is_equal = t.kind == trait::equal;
  std::vector<std::string> values = {is_equal ? usual_text(*s) : t.value};
  if (is_equal)
    for (std::string& value : few_values_of(*s)) values.push_back(std::move(value));
  for (const std::string& value : values) found.push_back(with_value(d, c, t.name, value));
  return found;
}

// Cases with the optional tensor: as they are, then with another value of one scalar, because some forbid the tensor.
std::vector<trial_case> of_present(const description& d, const trial_case& c, const std::string& name) {
  std::vector<trial_case> found = {c};
  for (const scalar_rule& s : d.form_of(c)->scalars)
    for (const std::string& value : few_values_of(s)) found.push_back(with_value(d, c, s.name, value));
  for (trial_case& other : found) put_in(d, other, name);
  return found;
}

std::vector<trial_case> of_other_types(const description& d, const trial_case& c, const trait& t) {
  std::vector<trial_case> found;
  const call_form* const form = d.form_of(c);
  for (const dtype type : types_of(*form->find(t.name))) {
    trial_case other = c;
    other.find(t.name)->type = type;
    found.push_back(std::move(other));
  }
  return found;
}

// Cases whose extent, or product of extents, is a multiple: one extent changes.
std::vector<trial_case> of_multiples(const trial_case& c, const trait& t) {
  std::vector<trial_case> found;
  const std::vector<std::string_view> factors = factors_of(t);
  for (auto changed = factors.rbegin(); changed != factors.rend(); ++changed) {
    int64_t others = 1;
    for (const std::string_view factor : factors)
      if (factor != *changed) others *= extent_size(c, factor);
    const int64_t size = extent_size(c, *changed), unit = t.size / std::gcd(t.size, others);
    for (const int64_t multiple : {rounded_up(size, unit), size / unit * unit})
      found.push_back(resized(c, {std::string(*changed)}, multiple));
  }
  return found;
}

double product_of_extents(const trial_case& c) {
  double product = 1;
  for (const auto& [name, size] : sizes_of(*find_description(c.op), c)) product *= static_cast<double>(size);
  return product;
}

// Cases whose extents are equal: first of a large size with which the case is small or costs no more than this one,
// then of the size of each extent.
std::vector<trial_case> of_equal_extents(const trial_case& c, const trait& t) {
  const std::vector<std::string_view> names = compared_by(t);
  const axis extents(names.begin(), names.end());
  std::vector<int64_t> all;
  for (const std::string& extent : extents) all.push_back(extent_size(c, extent));
  const auto [least, largest] = std::ranges::minmax_element(all);
  const double most = std::max(product_of_extents(c), k_small_product);
  int64_t size = *least;
  for (int64_t step = *largest - size; step > 0 && *least > 0; step /= 2)  // a case without elements stays one
    if (product_of_extents(resized(c, extents, size + step)) <= most) size += step;
  std::vector<trial_case> found = {resized(c, extents, size)};
  for (const int64_t own : all) found.push_back(resized(c, extents, own));
  return found;
}

std::vector<trial_case> nearby(const description& d, const trial_case& c, const trait& t) {
  trial_case other = c;
  switch (t.kind) {
    case trait::present: leave_out(d, other, t.name); break;
    case trait::absent: return of_present(d, c, t.name);
    case trait::equal:
    case trait::unequal: return of_other_value(d, c, t);
    case trait::typed: return of_other_types(d, c, t);
    case trait::apart: close_gap(other, t.name); break;
    case trait::distant: spread(other, t.name, near_distance(c.at(t.name))); break;
    case trait::among:
    case trait::same: move_apart(other, t.name); break;
    case trait::more:
    case trait::fewer: return {resized(c, {t.name}, t.size)};
    case trait::not_multiple: return of_multiples(c, t);
    case trait::different: return of_equal_extents(c, t);
    case trait::misaligned: move_to(other, t.name, 0); break;
    case trait::uneven: spread(other, t.name, rounded_up(c.at(t.name).ld, t.size)); break;
  }
  return {std::move(other)};
}

// The neighbours for another value of the scalar, each with an optional tensor that the value may need.
std::vector<trial_case> nearby_with_tensors(const description& d, const trial_case& c, const trait& t) {
  std::vector<trial_case> found;
  for (const trial_case& other : of_other_value(d, c, t))
    for (const tensor_rule& rule : d.form_of(other)->tensors)
      if (rule.is_optional && !is_listed(other, rule.name) && why_absent(other, rule).empty()) {
        found.push_back(other);
        put_in(d, found.back(), rule.name);
      }
  return found;
}

}  // namespace

bool has(const trial_case& c, const trait& t) {
  switch (t.kind) {
    case trait::present: return is_listed(c, t.name);
    case trait::absent: return leaves_out(c, t.name);
    case trait::equal:
    case trait::unequal: {
      const scalar_rule* const s = find_scalar(c, t.name);
      return s && is_value(*s, c, t.value) == (t.kind == trait::equal);
    }
    case trait::typed: {
      const tensor_spec* const tensor = c.find(t.name);
      return tensor && is_typed(c, *tensor) && name_of(tensor->type) == t.value;
    }
    case trait::apart: return c.find(t.name) && is_apart(*c.find(t.name));
    case trait::distant: return c.find(t.name) && is_distant(*c.find(t.name), t.size);
    case trait::among: return c.find(t.name) && c.find(t.name)->beside == t.value;
    case trait::same: return c.find(t.name) && c.find(t.name)->same == t.value;
    case trait::more: return extent_size(c, t.name) > t.size;
    case trait::fewer: return extent_size(c, t.name) < t.size;
    case trait::not_multiple: return product_of(c, t) % t.size != 0;
    case trait::misaligned: {
      const tensor_spec* const tensor = c.find(t.name);
      return tensor && has_layout(*tensor) && misalignment_of(c, *tensor) % t.size != 0;
    }
    case trait::uneven: {
      const tensor_spec* const tensor = c.find(t.name);
      return tensor && has_layout(*tensor) && tensor->shape.size() > 1 && tensor->ld % t.size != 0;
    }
    case trait::different: return are_different(c, t);
  }
  return false;
}

std::vector<trait> traits_of(const trial_case& c) {
  std::vector<trait> found;
  const description* const d = find_description(c.op);
  const call_form* const form = d ? d->form_of(c) : nullptr;
  if (!form) return found;
  for (const tensor_spec& t : c.tensors)
    if (form->find(t.name)->is_optional && is_listed(c, t.name) && !t.is_workspace())
      found.push_back({trait::present, t.name, "", 0});
  for (const tensor_spec& t : c.tensors) {
    if (!t.beside.empty()) found.push_back({trait::among, t.name, t.beside, 0});
    if (!t.same.empty()) found.push_back({trait::same, t.name, t.same, 0});
  }
  for (const tensor_spec& t : c.tensors) {
    if (is_distant(t, INT32_MAX)) found.push_back({trait::distant, t.name, "", INT32_MAX});
    if (is_apart(t)) found.push_back({trait::apart, t.name, "", 0});
  }
  for (const scalar_rule& s : form->scalars) {
    if (has_few_values(s)) {
      for (const std::string& v : few_values_of(s))
        if (is_value(s, c, v)) found.push_back({trait::equal, s.name, v, 0});
    } else if (!is_value(s, c, usual_text(s))) {
      found.push_back({trait::unequal, s.name, usual_text(s), 0});
    }
  }
  for (const tensor_spec& t : c.tensors)
    if (&t != c.tensors.data() && types_of(*form->find(t.name)).size() > 1 && is_typed(c, t))
      found.push_back({trait::typed, t.name, std::string(name_of(t.type)), 0});
  return found;
}

std::vector<std::pair<trait, trial_case>> of_other_values(const trial_case& c) {
  std::vector<std::pair<trait, trial_case>> found;
  const description& d = *find_description(c.op);
  for (const scalar_rule& s : d.form_of(c)->scalars) {
    if (!has_few_values(s)) continue;
    for (const std::string& value : few_values_of(s)) {
      const trait t{trait::equal, s.name, value, 0};
      trial_case other = c;
      if (has(c, t)) continue;
      set_knob(other, s.name, value);
      if (!d.form_of(other)) continue;
      reshape(d, other, sizes_of(d, c));
      settle(d, other);
      if (has(other, t) && is_case(d, other)) found.emplace_back(t, std::move(other));
    }
  }
  return found;
}

std::vector<trait> alignments_of(const trial_case& c) {
  std::vector<trait> found;
  for (const trait::kind_type kind : {trait::misaligned, trait::uneven})
    for (const tensor_spec& t : c.tensors)
      if (trait one{kind, t.name, "", k_full_alignment}; has(c, one)) found.push_back(std::move(one));
  return found;
}

int64_t least_alignment(const trial_case& c, const trait& t,
                        const std::function<bool(const trial_case&)>& is_answered) {
  const tensor_spec& tensor = c.at(t.name);
  const bool is_address = t.kind == trait::misaligned;
  for (int64_t n = is_address ? 2 * static_cast<int64_t>(size_of(tensor.type)) : 2; n < t.size; n *= 2) {
    trial_case other = c;
    if (is_address)
      move_to(other, t.name, n);
    else
      spread(other, t.name, n * (rounded_up(tensor.ld, n) / n | 1));
    settle(*find_description(c.op), other);
    if (is_case(*find_description(c.op), other) && is_answered(other)) return n;
  }
  return t.size;
}

std::vector<trial_case> without(const trial_case& c, const trait& t) {
  std::vector<trial_case> found;
  const description* const d = find_description(c.op);
  if (!d || !d->form_of(c)) return found;
  const auto keep = [&](std::vector<trial_case> others) {
    for (trial_case& other : others) {
      settle(*d, other);
      if (!has(other, t) && is_case(*d, other)) found.push_back(std::move(other));
    }
  };
  keep(nearby(*d, c, t));
  if (found.empty() && (t.kind == trait::equal || t.kind == trait::unequal)) keep(nearby_with_tensors(*d, c, t));
  return found;
}

namespace {

bool has_all(const trial_case& c, const trait_set& traits) {
  return std::ranges::all_of(traits, [&](const trait& t) { return has(c, t); });
}

}  // namespace

const trait_set* offer::missing(const trial_case& c) const {
  const auto found = std::ranges::find_if(lacks, [&](const trait_set& traits) { return has_all(c, traits); });
  return found == lacks.end() ? nullptr : &*found;
}

bool bring_within(const offer& o, trial_case& c, std::vector<std::string>& taken) {
  // Each step removes at least one trait and may add another one, because a scalar always has some value.
  const size_t most_steps = 4 * o.lacks.size() + 4;
  for (size_t step = 0; step < most_steps; ++step) {
    const trait_set* const lacked = o.missing(c);
    if (!lacked) return true;
    taken.push_back(text_of(*lacked));
    std::vector<trial_case> others;
    for (const trait& t : *lacked)
      for (trial_case& other : without(c, t)) others.push_back(std::move(other));
    if (others.empty()) return false;
    // The first of those with the fewest lacked sets. Another choice could return to a lacked value of a scalar.
    c = std::move(*std::ranges::min_element(others, {}, [&](const trial_case& other) {
      return std::ranges::count_if(o.lacks, [&](const trait_set& traits) { return has_all(other, traits); });
    }));
  }
  return false;
}

namespace {

using offer_key = std::tuple<std::string, std::string, std::string, dtype>;
std::map<offer_key, offer>& remembered_offers() {
  static std::map<offer_key, offer> offers;
  return offers;
}

}  // namespace

void remember_offer(std::string_view candidate, std::string_view op, std::string_view device, dtype type, offer o) {
  remembered_offers()[{std::string(candidate), std::string(op), std::string(device), type}] = std::move(o);
}

const offer* known_offer(const trial_case& c) {
  if (c.tensors.empty()) return nullptr;
  const auto found = remembered_offers().find({c.knob("candidate"), c.op, c.knob("device"), c.tensors.front().type});
  return found == remembered_offers().end() ? nullptr : &found->second;
}

}  // namespace warpcheck::engine

#include "reference/formula/gradient_inlining.hpp"

#include <algorithm>

namespace warpcheck::formula::derivation {
namespace {

bool has_reduction(const expr& e) {
  bool found = false;
  walk(e, [&](const expr& n) { found = found || n->what == kind::reduce; });
  return found;
}

// True if the definition only renames a value or a number.
bool is_alias(const definition& d) {
  const expr& e = d.value;
  if (e->what == kind::number || e->what == kind::name) return true;
  return e->what == kind::at && !e->other &&
         std::ranges::all_of(e->args, [](const expr& a) { return a->what == kind::name; });
}

struct reads {
  int count = 0;
  bool in_reduction = false;
};

void count_reads(const expr& e, const std::string& name, bool in_reduction, reads& found) {
  if (!e) return;
  if ((e->what == kind::name || e->what == kind::at) && e->text == name) {
    ++found.count;
    found.in_reduction = found.in_reduction || in_reduction;
  }
  for (const expr& a : e->args) count_reads(a, name, in_reduction || e->what == kind::reduce, found);
  count_reads(e->other, name, in_reduction || e->what == kind::reduce, found);
}

bool may_inline(const definition& d, const std::vector<definition>& all, size_t at) {
  if (is_alias(d)) return true;
  reads found;
  const definition* reader = nullptr;
  for (size_t i = at + 1; i < all.size(); ++i) {
    const int before = found.count;
    count_reads(all[i].value, d.name, false, found);
    if (found.count > before) reader = &all[i];
  }
  return found.count == 1 && !found.in_reduction &&
         (!has_reduction(d.value) || reader->indices.size() == d.indices.size());
}

expr inlined(const expr& e, const definition& d) {
  if (!e) return e;
  if ((e->what == kind::name || e->what == kind::at) && e->text == d.name) {
    replacements indices;
    for (size_t i = 0; i < d.indices.size(); ++i) indices.emplace_back(d.indices[i].index, e->args[i]);
    return substitute(d.value, indices);
  }
  return with_children(e, [&](const expr& a) { return inlined(a, d); });
}

// True if the value binds an index whose name the reader uses.
bool would_capture(const definition& d, const definition& reader) {
  bool captures = false;
  walk(d.value, [&](const expr& e) {
    for (const binder& b : e->bound) {
      captures = captures || std::ranges::any_of(reader.indices, [&](const binder& r) { return r.index == b.index; });
      walk(reader.value, [&](const expr& r) {
        for (const binder& other : r->bound) captures = captures || other.index == b.index;
      });
    }
  });
  return captures;
}

}  // namespace

void inline_definitions(const formula_operator& op, std::vector<definition>& definitions) {
  for (size_t i = 0; i < definitions.size();) {
    const definition d = definitions[i];
    bool inlines = !op.find_output(d.name) && !d.type && may_inline(d, definitions, i);
    for (size_t j = i + 1; j < definitions.size() && inlines; ++j)
      if (mentions(definitions[j].value, d.name) && would_capture(d, definitions[j])) inlines = false;
    if (!inlines) {
      ++i;
      continue;
    }
    definitions.erase(definitions.begin() + static_cast<std::ptrdiff_t>(i));
    for (size_t j = i; j < definitions.size(); ++j) definitions[j].value = inlined(definitions[j].value, d);
  }
}

}  // namespace warpcheck::formula::derivation

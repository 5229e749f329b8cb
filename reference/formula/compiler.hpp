// Makes a program of a formula: resolves names, subscripts and the shapes of loops.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reference/formula/program.hpp"

namespace warpcheck::formula {

class compiler {
 public:
  explicit compiler(program& p) : p_(p) {}
  void run();

 private:
  struct scope_index {
    std::string name;
    int slot;
    int64_t size;
  };

  const scope_index* find_index(const std::string& name) const;
  int add_index(const std::string& name, int64_t size);
  int64_t extent_of(const binder& b, const expr& e) const;

  whole_code whole(const expr& e) const;
  whole_code whole_at(const expr& e) const;
  access access_of(const std::vector<expr>& subscripts, const std::vector<int64_t>& shape) const;

  code* value(const expr& e);
  code* value_name(const expr& e);
  code* value_at(const expr& e, const std::vector<expr>& subscripts);
  code* value_reduce(const expr& e);
  code* value_power(const expr& e);
  code* new_code(code::form what);
  code* constant(std::string text);
  code* binary(code::form what, const expr& e);

  std::unique_ptr<condition_code> condition(const expr& e);
  condition_code condition_of(const expr& e);
  std::shared_ptr<loop> loop_of(const expr& e);
  bool as_limit(const expr& e, const std::vector<binder>& bound, loop& l) const;
  code* scan_of(const expr& e);
  void find_dot(code& c) const;
  void find_keys(code& c, const expr& e) const;
  void keep_reduction(code& c, const expr& e);

  // Finds out if x - top is x minus the maximum over x, and the condition under which x takes part in it.
  void find_maximum(code& difference, const expr& x, const expr& top);
  bool sums_the_maximum(const expr& e) const;

  program& p_;
  std::vector<scope_index> scope_;
};

// Facts about `x - top` if top is `max(c, ... where ...) f(c, ...)`, directly or by a definition, and x is f somewhere.
struct maximum_match {
  expr top;              // the reduction; null: there is no match
  expr takes_part;       // the condition there; null: always true
  std::vector<expr> at;  // the subscripts that stand for c, ...
};
maximum_match match_maximum(const formula_operator& op, const expr& x, const expr& top);

}  // namespace warpcheck::formula

// Explains a case in words: the inputs, the demands of the contract and their reasons, the candidate's outputs, and the
// first step of a plain implementation that departs. It decides no verdict.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "properties/engine/cases/case.hpp"
#include "properties/engine/cases/host_tensor.hpp"
#include "properties/engine/trials/verdict.hpp"
#include "reference/numerics/bound_term.hpp"
#include "reference/numerics/model_step.hpp"

namespace warpcheck::engine {

// One row of the first output, and element `i` of it.
struct explained_row {
  std::vector<double> exact, bound;          // of every element of the row
  std::string formula, numbers;              // of element i: in symbols, and with its numbers
  std::string bound_formula;                 // the reason of the bound
  std::vector<reference::bound_term> terms;  // parts whose sum is the bound; none if only one value passes
  std::vector<reference::model_step> steps;  // those of the model, in their order
  std::string departs;  // the first step that departs, in words; empty if none does or none is known
};

// The call that is explained: its inputs and outputs by name, as the candidate had them.
struct observed_call {
  const trial_case& c;  // a related call has its own, whose knobs and shapes may differ from the case's
  const tensor_map& inputs;
  const tensor_map* outputs;   // null if the call returned none
  const worst_element* worst;  // of these outputs, as the report names it; null if it names none of them
};
// One row of an output (or another list of numbers that the operator explains), and its call.
struct explained_call {
  std::string output;           // its name
  std::string element_name;     // "y[3]"
  std::string row_name;         // "the row"
  std::string item = "column";  // what its elements are counted by
  int64_t row = 0, element = 0;
  std::vector<double> input;       // drawn beside it; may be empty
  std::vector<double> actual;      // empty if the call returned none
  explained_row values;            // without exact values there is no explanation
  std::vector<std::string> about;  // sentences on the case
};
using call_explainer = std::function<explained_call(const observed_call&)>;

// The row that is explained, for operators of one input and one output, row by row.
struct row_call {
  const trial_case& c;
  const std::vector<double>& x;       // the row of the first input
  dtype output = dtype::f32;          // of the first output
  int64_t i = 0;                      // the element
  const std::vector<double>& actual;  // the candidate's row; empty if the call returned none
};
using row_explainer = std::function<explained_row(const row_call&)>;

// The hook of an operator: one function, registered once, before main.
struct explainer_registration {
  explainer_registration(std::string op, call_explainer explainer);
  explainer_registration(std::string op, row_explainer explainer);
};

// error / bound; 0 for the exact value, infinite if no error is allowed.
double share_of_bound(double actual, double exact, double bound);

struct explanation_section {
  std::string title;
  std::vector<std::string> sentences;
  std::vector<std::vector<std::string>> table;  // its head first; empty: none
};

struct explanation {
  std::vector<explanation_section> sections;
  std::string departs;  // the sentence on the first step that departs; empty if none does or none is known
  // The row that is explained; empty if there is none.
  std::string output;
  int64_t row = 0, element = 0;
  std::vector<double> input, exact, bound, actual;
};
// Explains a case whose report is `r`; the case runs once more, in a process of its own, which has `timeout_seconds`
// and ends once `stop` is true. If that run throws, the explanation contains the error.
explanation explain(const trial_case& c, const case_report& r, double timeout_seconds,
                    const std::function<bool()>& stop = {});
// The sections as a list of {"title", "sentences", "table"}.
nlohmann::json sections_json(const explanation& e);

}  // namespace warpcheck::engine

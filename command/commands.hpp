// The commands of `warpcheck`, one function each; main.cpp parses their options.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace warpcheck::cli {

// Exit codes of every command.
enum exit_code : int { k_pass = 0, k_violation = 1, k_usage = 2, k_environment = 3, k_interrupted = 130 };

struct verify_options {
  std::vector<std::string> operators;   // empty: all
  std::vector<std::string> properties;  // empty: all
  std::vector<std::string> without;     // NAME:REASON, properties that the run leaves out
  std::vector<std::string> dtypes;      // empty: all that the candidate offers
  std::string device = "auto";
  std::string candidate = "builtin";
  std::vector<std::string> inputs;  // own arrays instead of generated cases (own_input.hpp)
  std::string json;                 // path of the machine-readable result; empty: none
  std::string junit;                // path of the same as JUnit XML
  std::string journal;
  std::string regressions;  // folder of counterexamples to replay first; empty: golden/regressions, if present
  std::string shard = "0/1";
  std::string size = "ci";
  std::string seed = "1";
  int64_t cases = 100;
  int64_t max_rows = std::numeric_limits<int64_t>::max();  // of a generated input
  int64_t max_cols = std::numeric_limits<int64_t>::max();
  int workers = 0;
  std::optional<double> timeout;        // of a case of up to 2^24 elements, in proportion beyond; none: see timeout_of
  double shrink_seconds = 20;           // for shrinking one failure
  bool allow_skips = false;             // true if more than a tenth of the cases may be skipped
  bool accepts_nondeterminism = false;  // true if launches may differ in bits, as those with float atomics do
  bool fail_fast = false;               // true if the first failure ends the run
  bool keep_going = false;              // true if failures end no property
  bool resume = false;
  bool mps = false;  // true if the workers share the GPU through a daemon of this run
};
int verify(const verify_options& options);

struct fuzz_options {
  verify_options what;  // operators, properties, dtypes, device, candidate, sizes, seed, shard, workers, results
  std::string out;
  std::string time;   // "90", "90s", "10m", "8h"; empty: no limit
  int64_t cases = 0;  // per (property, dtype); 0: no limit
};
int fuzz(const fuzz_options& options);

struct replay_options {
  std::string line;
  std::string arrays;     // a folder for the inputs; empty: none. With a folder nothing is run
  std::string device;     // empty: that of the line
  std::string candidate;  // empty: that of the line
  bool is_isolated = true;
  std::string json;
  std::optional<double> timeout;
};
int replay(const replay_options& options);

struct explain_options {
  std::string line;
  std::string device;     // empty: that of the line
  std::string candidate;  // empty: that of the line
  bool is_isolated = true;
  std::string json;
  std::string plot;    // an SVG of the row; empty: none
  std::string python;  // for the plot, as in report_options
  std::optional<double> timeout;
};
int explain(const explain_options& options);

struct report_options {
  std::vector<std::string> verify, fuzz, bench, mutants;  // JSON of these commands; bench: of benchmarks, or baselines
  std::string history;                                    // nightly.db; empty: none
  std::string out;                                        // the page
  std::string title;                                      // of the page
  std::string python;                                     // with Jinja2 and matplotlib; empty: see docs/report.md
};
int report(const report_options& options);

struct list_options {
  std::string op;    // empty: lists the operators
  std::string json;  // path of the machine-readable list; empty: none
  bool distributions = false;
  bool verdicts = false;
};
int list(const list_options& options);

struct doctor_options {
  std::string json;  // path of the machine-readable list; empty: none
};
int doctor(const doctor_options& options);

struct golden_options {
  std::string folder;                  // empty: golden, or that of the plug-in whose operators are named
  std::vector<std::string> operators;  // empty: all, or those of the plug-ins
  std::string device = "auto";
  std::string candidate = "builtin";
  bool ratchet = false;  // true if a candidate that is not built in must be as accurate as the error profiles, too
  double timeout = 60;
};
int golden_check(const golden_options& options);
int golden_regenerate(const golden_options& options);

// `warpcheck run`: the exact value and the bound of a formula for given arrays.
struct run_formula_options {
  std::string formula;
  std::vector<std::string> inputs;   // NAME=FILE.npy
  std::vector<std::string> values;   // NAME=NUMBER: a scalar, or an extent that no input has
  std::vector<std::string> outputs;  // NAME=FILE.npy, or FILE.npy if there is one output: the exact values
  std::vector<std::string> bounds;   // the same for the bounds
};
int run_formula(const run_formula_options& o);

// `warpcheck format` and `gradient`, of formulas (formula_arguments.hpp).
// Prints the operators in their canonical form.
int format_formulas(const std::string& argument);
// Prints the backward operator of each as a formula. Throws usage_error if an expression has no rule.
int print_gradients(const std::string& argument);

// `warpcheck judge`: judges given arrays, call after call, for programs that have them (python/warpcheck/judging.py).
// Reads requests from standard input, a line of JSON each, and answers each with a line of JSON, until the input ends.
//
// A request: {"operator": "softmax", "inputs": [ARRAY, ...], "outputs": [ARRAY, ...], "scalars": {"alpha": "2"},
// "exact": [FILE, ...]}. An ARRAY is {"dtype": "f32", "shape": [3, 65], "file": PATH}, with "name" if its place does
// not determine the tensor of the description. The file holds its elements, row after row. Without outputs, only exact
// values and bounds are asked for: for each output of the case in order, the file of "exact" gets the exact value of
// every element, then its bound, as doubles; NaN where the operator's property judges no such element.
//
// The answer: {"report": case report, "outputs": [{"name", "shape"}]}, or {"error": sentence} for a request that the
// description does not allow.
int judge();

}  // namespace warpcheck::cli

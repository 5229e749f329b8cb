// Matrix products: the meaning of a case's tensors and knobs, calls of a candidate, judgement of its results, and
// generation of cases. The contract is kernels/matmul/matmul.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/property_list.hpp"
#include "properties/engine/trials/trial.hpp"
#include "reference/matmul/matmul.hpp"

namespace warpcheck {

enum class product_mode { ieee, tf32x3, bf16x6 };  // the scalar `mode`

// A matrix of raw elements, row after row.
struct product_matrix {
  dtype type = dtype::f32;
  int64_t rows = 0, cols = 0;
  std::vector<uint64_t> bits;

  product_matrix() = default;
  product_matrix(dtype of_type, int64_t of_rows, int64_t of_cols, double value = 0);
  uint64_t& at(int64_t row, int64_t col) { return bits[static_cast<size_t>(row * cols + col)]; }
  uint64_t at(int64_t row, int64_t col) const { return bits[static_cast<size_t>(row * cols + col)]; }
  double value(int64_t row, int64_t col) const { return engine::decode(type, at(row, col)); }
  void set(int64_t row, int64_t col, double value) { at(row, col) = engine::encode(type, value); }
  // Values of the element type, rounded at most by it, so that products of powers of two stay exact.
  void fill(const std::function<double(int64_t row, int64_t col)>& value);
  product_matrix transposed() const;
};

// The call behind a case; a check may change any of it and ask again. Extents are those of a, b and c.
struct matmul_problem {
  explicit matmul_problem(const engine::trial_case& c);
  matmul_problem(const engine::trial_case& c, const engine::tensor_map& inputs);

  product_matrix a, b;     // op(A), m x k, and op(B), k x n
  product_matrix c, bias;  // what is there before, where beta is not 0; one row, or no elements
  dtype output = dtype::f32;
  bool ta = false, tb = false;  // how a and b are stored
  float alpha = 1, beta = 0;
  bool sigmoid = false;
  float mu = 0, sigma = 1;
  product_mode mode = product_mode::ieee;
  bool rows_alone = false;
  std::string variant;  // "auto" or the one that is forced
  // The workspace: as the case has it, none, or longer than it need be.
  enum class space : uint8_t { as_given, own, longer };
  space work = space::as_given;

  int64_t m() const { return a.rows; }
  int64_t n() const { return b.cols; }
  int64_t k() const { return a.cols; }
  dtype type() const { return a.type; }
  bool has_bias() const { return !bias.bits.empty(); }
  bool is_ieee() const { return type() == dtype::f32 && mode == product_mode::ieee; }
  reference::dot_arithmetic arithmetic() const;
  reference::dot_slices plan() const;  // matmul_plan of the contract
  reference::matmul_setting setting() const;
  // Replaces op(A) and op(B). A bias, and what beta multiplies, become zeros of the new size, which change no sum.
  void set_operands(product_matrix of_a, product_matrix of_b);
  // The call as a case, with inputs to be given.
  engine::trial_case call() const;

 private:
  engine::trial_case case_;
};

// The way of a related call: that of the case, or once on one schedule without the detectors, which cost most.
enum class asked { in_full, once };
engine::host_tensor ask(engine::trial& t, const matmul_problem& p, asked how = asked::once);
// True if the call lies within the candidate's offer.
bool is_offered(const engine::trial& t, const matmul_problem& p);
// The same, with the variant that ran and the one that the dispatch publishes.
engine::run_result ask_run(engine::trial& t, const matmul_problem& p, asked how = asked::once);

// judge(row, column, operands) for every element of C, row after row.
void for_each_element(const matmul_problem& p,
                      const std::function<void(int64_t, int64_t, const reference::matmul_operands&)>& judge);
// Every element against its bound.
void judge_bound(engine::trial& t, const matmul_problem& p, const engine::host_tensor& c);
// Runs the case and judges every element against its bound.
void check_product(engine::trial& t);
// For chains of FMAs without a sigmoid: compares with the bits that the plan fixes. Only our order of additions gives
// them, so two properties require them, and the others accept any order.
void judge_bits(engine::trial& t, const matmul_problem& p, const engine::host_tensor& c);
// Every element against a value that it has to have; a zero's sign is open.
void judge_value(engine::trial& t, const engine::host_tensor& c, int64_t row, int64_t col, double expected);
// Elements of the same place, or of (row, col) in one and other(row, col) in the other, have the same bits. zeros:
// those of both signs are the same.
enum class zeros { differ, are_equal };
void require_same(engine::trial& t, const engine::host_tensor& one, const engine::host_tensor& other,
                  const std::string& what, zeros signs = zeros::differ);
void require_same_element(engine::trial& t, const engine::host_tensor& one, int64_t row, int64_t col,
                          const engine::host_tensor& other, int64_t other_row, int64_t other_col,
                          const std::string& what, zeros signs = zeros::differ);

engine::bench_list matmul_bench_list();

// ---- cases ----

// The extents of a case.
struct product_sizes {
  int64_t m, n, k;
};
// Modes whose kernels a candidate publishes: ieee, and those of split operands that a variant bears the name of. One
// that publishes no variants is asked for all. 16-bit types have ieee alone.
std::vector<product_mode> modes_of(const engine::target& t);
std::string_view name_of(product_mode mode);
// Multiplications that one generated case may make on the device.
int64_t max_multiplications(const engine::target& t);
product_sizes draw_product_sizes(engine::draw& d, const engine::target& t);
// Smallest k from `from` on whose last slice has one element, where the plan cuts within the next 200; else `from`.
int64_t one_past_a_slice(const engine::target& t, product_mode mode, int64_t m, int64_t n, int64_t from);
// The mode of case `index`: by turns.
product_mode mode_by_turns(const engine::target& t, const engine::draw& d);

// A product of these sizes and fills (of a and b as they are stored by ta and tb), in a mode by turns, of C as drawn
// from nothing: alpha 1, beta 0, no bias, dense, a workspace.
engine::trial_case product_case(const engine::target& t, engine::draw& d, const product_sizes& of, engine::recipe a,
                                engine::recipe b);
void transpose(engine::trial_case& c, bool ta, bool tb);
void draw_storage(engine::draw& d, engine::trial_case& c);  // one of the four pairs
// Sets knobs and the tensors that follow from them.
void set_scalars(engine::trial_case& c, float alpha, float beta, engine::recipe before);
void set_bias(engine::trial_case& c, engine::recipe bias);
void set_output(engine::trial_case& c, dtype type);
// Rows of 16-bit operands that begin at multiples of 16 bytes, with gaps: kernels may multiply them without packing.
void align_rows(engine::trial_case& c);
void force_a_variant(engine::draw& d, const engine::target& t, engine::trial_case& c);
// alpha, beta, bias, without sigmoid or with.
enum class layers { linear, any };
void draw_scalars(engine::draw& d, engine::trial_case& c, layers which);
// Gaps of 0, 1, 3 and 32 elements and bases off by 0 to 3, of each tensor on its own.
void draw_product_layout(engine::draw& d, engine::trial_case& c);
// Operands with a reason to be multiplied wrongly, each explained in draw_operands.
enum class operands { any, finite, moderate };
engine::trial_case drawn_product(const engine::target& t, engine::draw& d, const product_sizes& of, operands which);
// All of it: sizes, operands, scalars, layout, a variant every third time.
engine::trial_case matmul_case(const engine::target& t, engine::draw& d, operands which, layers scalars);

inline engine::property_list matmul_list() { return {"matmul", {dtype::f32, dtype::f16, dtype::bf16}}; }
inline bool is_without_sigmoid(const engine::trial_case& c) { return c.knob("sigmoid") != "1"; }

}  // namespace warpcheck

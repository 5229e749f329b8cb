// Work without an order of steps: the products of all steps of a chunk at once, by kernels/matmul/matmul.hpp if their
// operands lie in rows (on tensor cores if the precision allows it), otherwise by products.hpp; sums over rows; zeros
// for steps that a row does not have.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/gru/gru.hpp"
#include "kernels/gru/operand.hpp"
#include "kernels/gru/products.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/primitives/grid.hpp"

namespace warpcheck {
inline namespace SIMT_DEVICE_NS {

// Rows of one product: of a sum over rows, to which the next product adds, and of a result on tensor cores, whose
// panels need memory.
constexpr int64_t k_gru_rows_of_product = 8192;
// One chain for each sum, so a row's sum does not depend on the number of rows.
constexpr matmul_options k_gru_chains{matmul_mode::ieee, false, true};
constexpr matmul_options k_gru_rows_alone{matmul_mode::ieee, true, false};

// The options in the configuration's precision, and the bytes of workspace that a product then needs.
inline matmul_options gru_options(const gru_config& c, matmul_options options) {
  options.mode = gru_matmul_mode(c.precision);
  return options;
}
inline int64_t gru_product_bytes(const gru_config& c, matmul_options options, int64_t m, int64_t n, int64_t k) {
  return matmul_work_bytes<float, float>(gru_options(c, options), m, n, k);
}
// The longest chains of additions and of tensor-core steps of a product, which the plan declares.
struct gru_chain_lengths {
  int64_t depth, steps;
};
inline gru_chain_lengths gru_chain_of(const gru_config& c, matmul_options options, int64_t m, int64_t n, int64_t k) {
  const matmul_slices cut = matmul_plan<float, float>(gru_options(c, options), m, n, k);
  if (c.precision == gru_precision::ieee || k == 0) return {cut.length + cut.count, 0};
  constexpr int64_t k_promotion = k_matmul_promotion;
  const int64_t promoted = std::min(k, k_promotion);
  const int64_t steps = c.precision == gru_precision::bf16     ? ceil_div(promoted, 16)
                        : c.precision == gru_precision::tf32x3 ? 3 * ceil_div(promoted, 8)
                                                               : ceil_div(promoted, 8);
  return {ceil_div(cut.length, k_promotion) + cut.count, steps};
}

struct gru_matrix {
  const float* data;
  int64_t pitch;
};

// Products of matrices with a workspace, aligned to 16 bytes.
struct gru_products {
  void* work;
  int64_t work_bytes;
  simt::stream_t stream;
  gru_precision precision;

  void operator()(trans ta, trans tb, int64_t m, int64_t n, int64_t k, gru_matrix a, gru_matrix b, bool adds, float* c,
                  int64_t c_pitch, const float* bias, matmul_options options) const {
    perceptron epilogue;
    epilogue.bias = bias;
    options.mode = gru_matmul_mode(precision);
    // With either option the other rows of a result do not change a row.
    const bool cuts_rows = precision != gru_precision::ieee && ta == trans::none;
    const int64_t rows = std::max<int64_t>(1, cuts_rows ? std::min(m, k_gru_rows_of_product) : m);
    for (int64_t row = 0; row == 0 || row < m; row += rows)
      matmul<float, float>(ta, tb, std::min(rows, m - row), n, k, 1.0f, a.data + row * a.pitch, a.pitch, b.data,
                           b.pitch, adds ? 1.0f : 0.0f, c + row * c_pitch, c_pitch, epilogue, options, work, work_bytes,
                           stream);
  }
};

// Returns the largest of(m, n, rows of one product) over the sums over rows that a pass in chunks of `steps` steps
// makes.
template <class Of>
int64_t gru_largest_of_sums(const gru_config& c, int64_t steps, const Of& of) {
  const int64_t last_steps = c.T == 0 ? 0 : (c.T - 1) % steps + 1;
  int64_t largest = 0;
  for (const int64_t rows : {steps * c.B, steps * c.B - c.B, last_steps * c.B, last_steps * c.B - c.B, c.B}) {
    const int64_t whole = std::min(rows, k_gru_rows_of_product), rest = rows % k_gru_rows_of_product;
    for (const int64_t k : {whole, rest})
      if (k > 0) largest = std::max({largest, of(2 * c.H, c.I, k), of(c.H, c.I, k), of(3 * c.H, c.H, k)});
  }
  return largest;
}

// c (+)= left^T right over `rows` rows.
inline void gru_sum_rows(const gru_products& products, int64_t m, int64_t n, int64_t rows, gru_matrix left,
                         gru_matrix right, bool adds, float* c) {
  for (int64_t row = 0; row == 0 || row < rows; row += k_gru_rows_of_product) {
    const int64_t count = std::min(rows - row, k_gru_rows_of_product);
    products(trans::yes, trans::none, m, n, count, {left.data + row * left.pitch, left.pitch},
             {right.data + row * right.pitch, right.pitch}, adds || row > 0, c, n, nullptr, {});
  }
}

template <class Left, class Right, class Out>
void gru_multiply(const Left& left, const Right& right, const Out& out, int64_t m, int64_t n, int64_t inner,
                  int64_t slices, int64_t slice_length, int directions, simt::stream_t stream) {
  if (m == 0 || n == 0) return;
  const int64_t tiles = ceil_div(m, k_gru_tile) * ceil_div(n, k_gru_tile);
  simt::launch({dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(slices), static_cast<unsigned>(directions)),
                k_gru_tile_threads, 0, stream},
               gru_product<Left, Right, Out>, left, right, out, m, n, inner, slice_length);
}
// The same for operands in a precision.
template <class Left, class Right, class Out>
void gru_multiply_in(gru_precision precision, const Left& left, const Right& right, const Out& out, int64_t m,
                     int64_t n, int64_t inner, int64_t slices, int64_t slice_length, int directions,
                     simt::stream_t stream) {
  gru_with_operand(precision, [&](auto operand) {
    if constexpr (decltype(operand)::k_rounds) {
      gru_multiply(gru_rounded<Left>{left, operand}, gru_rounded<Right>{right, operand}, out, m, n, inner, slices,
                   slice_length, directions, stream);
    } else {
      gru_multiply(left, right, out, m, n, inner, slices, slice_length, directions, stream);
    }
  });
}

// gi of a chunk into the panel's blocks r, z, n.
inline void gru_add_inputs(const gru_config& c, const gru_params& p, const gru_chunk_rows& rows, const float* x,
                           const gru_panel& panel, const gru_products& products) {
  for (int d = 0; d < c.D; ++d)
    products(trans::none, trans::yes, rows.count(), 3 * c.H, c.I, {x + rows.chunk.begin[d] * c.B * c.I, c.I},
             {p.w_ih[d], c.I}, false, panel.row(d, rows.chunk.begin[d], 0), panel.blocks * c.H, p.b_ih[d],
             k_gru_chains);
}

// dx of a chunk. The first direction that comes to a step writes, the other adds; if both come at once, direction 0 is
// first. In the backward pass direction 0 comes from the end and has seen [end[0], T), direction 1 has seen [0,
// begin[1]).
inline void gru_add_dx(const gru_config& c, const gru_params& p, const gru_chunk_rows& rows, const gru_panel& panel,
                       float* dx, const gru_products& products) {
  const auto add = [&](int d, int64_t begin, int64_t end, bool adds) {
    if (begin >= end) return;
    const float* const gradients = panel.row(d, begin, 0);  // blocks n, r, z
    const int64_t count = (end - begin) * c.B, pitch = 4 * c.H;
    float* const to = dx + begin * c.B * c.I;
    products(trans::none, trans::none, count, c.I, 2 * c.H, {gradients + c.H, pitch}, {p.w_ih[d], c.I}, adds, to, c.I,
             nullptr, k_gru_chains);
    products(trans::none, trans::none, count, c.I, c.H, {gradients, pitch}, {p.w_ih[d] + 2 * c.H * c.I, c.I}, true, to,
             c.I, nullptr, k_gru_chains);
  };
  const gru_chunk& chunk = rows.chunk;
  const int64_t other = c.D == 2 ? chunk.begin[1] : 0;
  add(0, std::max(chunk.begin[0], other), chunk.end[0], false);
  add(0, chunk.begin[0], std::min(chunk.end[0], other), true);
  if (c.D == 1) return;
  add(1, chunk.begin[1], std::min(chunk.end[1], chunk.begin[0]), false);
  add(1, std::max(chunk.begin[1], chunk.begin[0]), chunk.end[1], true);
}

// Returns the slice length of a sum over the rows of a chunk by products.hpp.
inline int64_t gru_slice_length(const gru_config& c, int64_t steps) {
  return std::max(k_gru_slice, ceil_div(steps * c.B, k_gru_most_slices));
}
inline int64_t gru_slices_of(const gru_config& c, int64_t steps) {
  return std::max<int64_t>(1, ceil_div(steps * c.B, gru_slice_length(c, steps)));
}

// Weight and bias gradients of a chunk: adds a sum over its rows to the result of earlier chunks. Without lengths all
// rows count, and without marks either, the states that entered are rows of y and of h0.
class gru_weight_sums {
 public:
  gru_weight_sums(const gru_config& c, const gru_chunk_rows& rows, const gru_panel& panel, float* work, int64_t steps,
                  const gru_products& products)
      : c_(c),
        rows_(rows),
        panel_(panel),
        work_(work),
        slices_(gru_slices_of(c, steps)),
        slice_length_(gru_slice_length(c, steps)),
        products_(products) {}

  // Bytes of work and the longest chain of additions, for any arguments.
  static int64_t work_bytes(const gru_config& c, int64_t steps) {
    const int64_t columns = std::max({c.I, c.H, int64_t{1}}), slices = gru_slices_of(c, steps);
    const int64_t by_products = static_cast<int64_t>(sizeof(float)) * c.D * slices * 3 * c.H * columns;
    const int64_t by_bias = static_cast<int64_t>(sizeof(float)) * c.D * slices * 4 * c.H;
    const auto by_rows = [&](int64_t m, int64_t n, int64_t k) { return gru_product_bytes(c, {}, m, n, k); };
    return std::max({by_products, by_bias, gru_largest_of_sums(c, steps, by_rows)});
  }
  static int64_t depth(const gru_config& c, int64_t steps, int64_t chunks) {
    const int64_t rows = steps * c.B, slices = gru_slices_of(c, steps);
    const int64_t of_slice = gru_product_depth(std::min(gru_slice_length(c, steps), rows));
    const auto depth_of = [&](int64_t m, int64_t n, int64_t k) { return gru_chain_of(c, {}, m, n, k).depth; };
    const int64_t of_rows = gru_largest_of_sums(c, steps, depth_of);
    const int64_t of_bias = gru_bias_depth(std::min(gru_slice_length(c, steps), rows));
    return std::max({of_slice + chunks * slices, of_bias + chunks * slices,
                     of_rows + chunks * (2 + ceil_div(rows, k_gru_rows_of_product))});
  }

  static int64_t tensor_steps(const gru_config& c, int64_t steps) {
    return gru_largest_of_sums(c, steps,
                               [&](int64_t m, int64_t n, int64_t k) { return gru_chain_of(c, {}, m, n, k).steps; });
  }

  void add_w_ih(const float* x, float* const (&to)[2]) const {
    if (rows_.s.lengths != nullptr) return add({rows_, panel_, false}, gru_x_rows{rows_, x, c_.I}, c_.I, to);
    for (int d = 0; d < c_.D; ++d) {
      if (to[d] == nullptr) continue;
      const float* const gradients = panel_.row(d, rows_.chunk.begin[d], 0);
      const gru_matrix of_x{x + rows_.chunk.begin[d] * c_.B * c_.I, c_.I};
      const bool adds = !rows_.chunk.first;
      gru_sum_rows(products_, 2 * c_.H, c_.I, rows_.count(), {gradients + c_.H, 4 * c_.H}, of_x, adds, to[d]);
      gru_sum_rows(products_, c_.H, c_.I, rows_.count(), {gradients, 4 * c_.H}, of_x, adds, to[d] + 2 * c_.H * c_.I);
    }
  }
  void add_w_hh(float* const (&to)[2]) const {
    if (rows_.s.lengths != nullptr || rows_.s.reset != nullptr)
      return add({rows_, panel_, true}, gru_entering_rows{rows_}, c_.H, to);
    for (int d = 0; d < c_.D; ++d)
      if (to[d] != nullptr) add_w_hh_of(d, to[d]);
  }
  void add_biases(float* const (&ih)[2], float* const (&hh)[2]) const {
    if (ih[0] == nullptr && ih[1] == nullptr && hh[0] == nullptr && hh[1] == nullptr) return;
    const dim3 grid(static_cast<unsigned>(ceil_div(4 * c_.H, k_gru_bias_columns)), static_cast<unsigned>(slices_),
                    static_cast<unsigned>(c_.D));
    const gru_partials partials{work_, slices_, 4 * c_.H, 4 * c_.H};
    simt::launch({grid, dim3(k_gru_bias_columns, k_gru_bias_rows), 0, products_.stream}, gru_sum_biases,
                 panel_.row(0, rows_.chunk.begin[0], 0), panel_.steps * c_.B, rows_.count(), slice_length_, partials);
    simt::launch({dim3(static_cast<unsigned>(ceil_div(4 * c_.H, k_gru_elements_threads)), static_cast<unsigned>(c_.D)),
                  k_gru_elements_threads, 0, products_.stream},
                 gru_add_biases, partials, gru_bias_gradients{{ih[0], ih[1]}, {hh[0], hh[1]}}, rows_.chunk.first);
  }

 private:
  // The step that h0 enters is separate from the others.
  void add_w_hh_of(int d, float* to) const {
    const gru_chunk& chunk = rows_.chunk;
    const gru_sequence& s = rows_.s;
    const int64_t from_h0 = d == 0 ? 0 : c_.T - 1;
    const int64_t begin = std::max(chunk.begin[d], d == 0 ? int64_t{1} : 0);
    const int64_t end = std::min(chunk.end[d], d == 0 ? c_.T : c_.T - 1);
    const int64_t steps = std::max<int64_t>(0, end - begin), pitch = c_.D * c_.H;
    const auto gradients = [&](int64_t t) { return gru_matrix{panel_.row(d, t, 0) + c_.H, 4 * c_.H}; };
    const float* const y = s.y + s.y_row(d, d == 0 ? begin - 1 : begin + 1, 0);
    gru_sum_rows(products_, 3 * c_.H, c_.H, steps * c_.B, gradients(begin), {y, pitch}, !chunk.first, to);
    if (s.h0 != nullptr && from_h0 >= chunk.begin[d] && from_h0 < chunk.end[d])
      gru_sum_rows(products_, 3 * c_.H, c_.H, c_.B, gradients(from_h0), {s.h0 + s.state(d, 0), c_.H}, true, to);
  }

  template <class Right>
  void add(const gru_gradient_rows& gradients, const Right& right, int64_t columns, float* const (&to)[2]) const {
    const int64_t elements = 3 * c_.H * columns;
    if (elements == 0 || (to[0] == nullptr && to[1] == nullptr)) return;
    const gru_partials partials{work_, slices_, elements, columns};
    gru_multiply_in(c_.precision, gru_transposed<gru_gradient_rows>{gradients}, right, partials, 3 * c_.H, columns,
                    rows_.count(), slices_, slice_length_, c_.D, products_.stream);
    const unsigned blocks = grid_size(ceil_div(elements, k_gru_elements_threads), products_.stream);
    simt::launch({dim3(blocks, static_cast<unsigned>(c_.D)), k_gru_elements_threads, 0, products_.stream},
                 gru_add_slices, partials, to[0], to[1], rows_.chunk.first);
  }

  const gru_config& c_;
  const gru_chunk_rows& rows_;
  const gru_panel& panel_;
  float* work_;
  int64_t slices_, slice_length_;
  const gru_products& products_;
};

}  // namespace SIMT_DEVICE_NS
}  // namespace warpcheck

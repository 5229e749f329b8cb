// A training step of gated recurrent units on the device: both passes of kernels/gru/gru.hpp. `simt` stands for the
// CUDA runtime, so that the file also compiles for the emulated device.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "echo.hpp"
#include "kernels/gru/gru.hpp"

namespace echo {
inline namespace SIMT_DEVICE_NS {  // cuda or emulated: both fit into one program
namespace {

using namespace warpcheck;

const simt::stream_t k_stream = nullptr;  // the default one

class device_floats : public simt::buffer<float> {
 public:
  explicit device_floats(int64_t size)
      : simt::buffer<float>(static_cast<size_t>(std::max<int64_t>(1, size)), k_stream) {}
  explicit device_floats(const std::vector<float>& from) : device_floats(static_cast<int64_t>(from.size())) {
    if (!from.empty()) simt::memcpy_async(data(), from.data(), from.size() * sizeof(float), k_stream);
  }
  std::vector<float> read(int64_t size) const {
    std::vector<float> to(static_cast<size_t>(size));
    if (size > 0) simt::memcpy_async(to.data(), data(), to.size() * sizeof(float), k_stream);
    return to;
  }
};

}  // namespace

net train_step(const net& n, const batch& b, const gradient_of_states& gradient) {
  const gru_config c{b.time, b.rows, n.input, n.hidden};
  const int64_t states = b.rows * n.hidden, gates = 3 * n.hidden;
  const device_floats x(b.x), w_ih(n.w_ih), w_hh(n.w_hh), b_ih(n.b_ih), b_hh(n.b_hh);
  const device_floats y(b.time * states), hn(states), history(gru_history_bytes(c) / 4);
  const int64_t forward_bytes = gru_forward_workspace_bytes(c), backward_bytes = gru_backward_workspace_bytes(c);
  const device_floats work(std::max(forward_bytes, backward_bytes) / 4);
  const gru_params params{{w_ih.data()}, {w_hh.data()}, {b_ih.data()}, {b_hh.data()}};
  const gru_inputs inputs{x.data()};
  gru_forward(c, params, inputs, {y.data(), hn.data(), history.data()}, work.data(), forward_bytes, k_stream);

  const device_floats dhn(gradient(hn.read(states)));
  const device_floats dw_ih(gates * n.input), dw_hh(gates * n.hidden), db_ih(gates), db_hh(gates);
  gru_grads g;
  g.dw_ih[0] = dw_ih.data();
  g.dw_hh[0] = dw_hh.data();
  g.db_ih[0] = db_ih.data();
  g.db_hh[0] = db_hh.data();
  gru_backward(c, params, inputs, y.data(), history.data(), nullptr, dhn.data(), g, work.data(), backward_bytes,
               k_stream);
  return {n.input,           n.hidden,         dw_ih.read(gates * n.input), dw_hh.read(gates * n.hidden),
          db_ih.read(gates), db_hh.read(gates)};
}

}  // namespace SIMT_DEVICE_NS
}  // namespace echo

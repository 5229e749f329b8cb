#include "properties/engine/call.hpp"

#include <fmt/format.h>

#include "properties/engine/description.hpp"

namespace warpcheck::engine {

prepared_call::prepared_call(const trial_case& c, std::vector<DLTensor>& tensors, void* stream)
    : variant_(c.knob("variant")) {
  for (const auto& [name, value] : scalars_of(c)) scalars_.push_back({name, value});
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (c.tensors[i].is_input)
      inputs_.push_back(&tensors[i]);
    else
      outputs_.push_back(&tensors[i]);
  }
  call_.struct_size = sizeof call_;
  call_.inputs = inputs_.data();
  call_.outputs = outputs_.data();
  call_.scalars = scalars_.data();
  call_.num_inputs = static_cast<int32_t>(inputs_.size());
  call_.num_outputs = static_cast<int32_t>(outputs_.size());
  call_.num_scalars = static_cast<int32_t>(scalars_.size());
  call_.variant = variant_ == "auto" ? nullptr : variant_.c_str();
  call_.stream = stream;
  call_.message = message_;
  call_.message_size = sizeof message_;
}

warpcheck_status prepared_call::run(const listed_operator& op) {
  const warpcheck_status status = op.run(call_);
  message_[sizeof message_ - 1] = '\0';
  return status;
}

std::string prepared_call::message() const { return printable(message_); }

std::string printable(std::string_view text) {
  std::string shown;
  for (const unsigned char c : text)
    if (c < 0x20 || c == 0x7f)
      shown += fmt::format("\\x{:02x}", c);
    else
      shown += static_cast<char>(c);
  return shown;
}

DLDevice dl_device(const listed_operator& op) {
  return op.device == WARPCHECK_DEVICE_CUDA ? DLDevice{kDLCUDA, 0} : DLDevice{kDLCPU, 0};
}

}  // namespace warpcheck::engine

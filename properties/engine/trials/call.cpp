#include "properties/engine/trials/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"

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

warpcheck_status prepared_call::run(const listed_operator& op, void* reserve, int64_t reserve_bytes) {
  warpcheck_status status = WARPCHECK_OK;
  try {
    status = reserve ? op.reserve->run(call_, reserve, reserve_bytes) : op.run(call_);
  } catch (...) {
    throw candidate_exception{std::current_exception()};
  }
  message_[sizeof message_ - 1] = '\0';
  return status;
}

std::string prepared_call::message() const { return printable(message_); }

std::string shortened(const std::string& text) {
  constexpr size_t k_most = 200;
  return text.size() <= k_most ? text : text.substr(0, k_most - 3) + "...";
}

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

std::vector<int64_t> strides_of(const tensor_spec& spec) {
  std::vector<int64_t> strides(spec.shape.size(), 1);
  for (size_t d = strides.size() - 1; d-- > 0;)
    strides[d] = d + 2 == strides.size() ? spec.ld : strides[d + 1] * spec.shape[d + 1];
  return strides;
}

DLTensor tensor_of(const tensor_spec& spec, void* data, DLDevice device, std::vector<int64_t>& shape,
                   std::vector<int64_t>& strides) {
  const auto bits = static_cast<uint8_t>(8 * size_of(spec.type));
  DLDataType type{static_cast<uint8_t>(kDLUInt), bits, 1};
  if (spec.type == dtype::bf16)
    type.code = kDLBfloat;
  else if (spec.type == dtype::e4m3)
    type.code = WARPCHECK_DLPACK_E4M3;
  else if (spec.type == dtype::e5m2)
    type.code = WARPCHECK_DLPACK_E5M2;
  else if (is_float(spec.type))
    type.code = kDLFloat;
  else if (spec.type == dtype::i8 || spec.type == dtype::i32 || spec.type == dtype::i64)
    type.code = kDLInt;
  // A null pointer stands for an input without elements, so that a read of it is reported.
  void* const place = spec.is_input && spec.elements() == 0 ? nullptr : data;
  return {place, device, static_cast<int32_t>(shape.size()), type, shape.data(), strides.data(), 0};
}

bool is_accepted(const listed_operator& op, const trial_case& c) {
  const std::string name = c.knob("variant");
  const auto variant = std::ranges::find_if(op.variants, [&](const auto& v) { return v.name == name; });
  if (variant == op.variants.end() || !variant->accepts) return true;
  constexpr uintptr_t k_apart = uintptr_t{1} << 40;
  std::vector<std::vector<int64_t>> shapes, strides;
  std::vector<DLTensor> tensors;
  for (size_t i = 0; i < c.tensors.size(); ++i) {
    const tensor_spec& t = c.tensors[i];
    shapes.push_back(t.shape);
    strides.push_back(strides_of(t));
    uintptr_t place = (i + 1) * k_apart + static_cast<uintptr_t>(t.offset) * size_of(t.type);
    for (size_t j = 0; j < i; ++j)
      if (const tensor_spec& other = c.tensors[j]; other.name == t.in_place || other.name == t.same)
        place = reinterpret_cast<uintptr_t>(tensors[j].data);
      else if (other.name == t.beside)
        place = reinterpret_cast<uintptr_t>(tensors[j].data) + static_cast<size_t>(other.cols()) * size_of(other.type);
    tensors.push_back(tensor_of(t, reinterpret_cast<void*>(place), dl_device(op), shapes.back(), strides.back()));
  }
  const prepared_call call(c, tensors, nullptr);
  return variant->accepts(&call.view()) != 0;
}

}  // namespace warpcheck::engine

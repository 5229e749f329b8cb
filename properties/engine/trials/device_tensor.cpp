#include "properties/engine/trials/device_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "properties/engine/error.hpp"
#include "properties/engine/trials/call.hpp"
#include "properties/engine/trials/cpu_device.hpp"
#include "properties/engine/trials/library.hpp"

namespace warpcheck::engine {
namespace {

// Beyond this many bytes a tensor's gaps are sampled beside the rows instead of read whole (rows 2^31 elements apart).
constexpr int64_t k_whole_span = int64_t{256} << 20;
constexpr size_t k_copied_at_once = size_t{64} << 20;  // bytes of poison

}  // namespace

void device_failed(const warpcheck_device_api& api, const std::string& what) {
  if (!is_usable(api)) throw device_lost(what);
  throw environment_error(what);
}

size_t span_bytes(const tensor_spec& s) {
  if (s.elements() == 0) return 0;
  return static_cast<size_t>((s.rows() - 1) * s.ld + s.cols()) * size_of(s.type);
}

size_t span_bytes(const tensor_spec& s, const tensor_spec* guest) {
  if (!guest) return span_bytes(s);
  const int64_t last_row = (guest->rows() - 1) * s.ld + s.cols() + guest->cols();
  return std::max(span_bytes(s), static_cast<size_t>(last_row) * size_of(s.type));
}

bool leaves_room(const tensor_spec& s, const tensor_spec* guest) {
  return (static_cast<size_t>(s.offset) * size_of(s.type) + span_bytes(s, guest)) % k_cpu_alignment != 0;
}

void* allocate(const tensor_spec& s, const warpcheck_device_api& api, size_t bytes) {
  const size_t element = size_of(s.type);
  void* const data = api.alloc(bytes, static_cast<size_t>(s.offset) * element % 256, element);
  if (!data)
    device_failed(
        api, fmt::format("tensor {}: {} bytes do not fit the device's memory: {}", s.name, bytes, api.last_error()));
  return data;
}

device_tensor::device_tensor(const tensor_spec& spec, const warpcheck_device_api& api, unsigned char fill,
                             const tensor_spec* guest, void* lent)
    : spec_(spec),
      api_(&api),
      has_own_memory_(true),
      is_lent_(lent != nullptr),
      bytes_(span_bytes(spec, guest)),
      fill_(fill),
      first_gap_(guest ? guest->rows() : 0),
      end_of_gaps_(spec.rows() - 1),
      gap_(spec.ld - spec.cols()),
      data_(lent ? lent : allocate(spec, api, bytes_)),
      shape_(spec.shape),
      strides_(strides_of(spec)) {
  if (bytes_ == 0) return;
  if (whole() || is_contiguous()) {
    const std::vector<unsigned char> poison(std::min(bytes_, k_copied_at_once), fill);
    for (size_t done = 0; done < bytes_; done += poison.size())
      check(api.copy_in(static_cast<char*>(data_) + done, poison.data(), std::min(poison.size(), bytes_ - done)));
    return;
  }
  poison_rows();
}

device_tensor::device_tensor(const tensor_spec& spec, const device_tensor& host)
    : spec_(spec),
      api_(host.api_),
      has_own_memory_(false),
      is_lent_(false),
      bytes_(host.bytes_),
      fill_(host.fill_),
      first_gap_(0),
      end_of_gaps_(std::min(spec.rows(), host.spec_.rows() - 1)),
      gap_(host.spec_.ld - host.spec_.cols() - spec.cols()),
      data_(static_cast<char*>(host.data_) + static_cast<size_t>(host.spec_.cols()) * size_of(spec.type)),
      shape_(spec.shape),
      strides_(strides_of(spec)) {
  if (!whole()) poison_rows();
}

// A span too large to touch gets its poison only at the bytes that are checked: rows, and the start of the gaps after
// them.
void device_tensor::poison_rows() {
  const size_t row_bytes = static_cast<size_t>(spec_.cols()) * size_of(spec_.type);
  for (int64_t r = 0; r < spec_.rows(); ++r) {
    const std::vector<unsigned char> poison(row_bytes + seen_gap(r), fill_);
    check(api_->copy_in(static_cast<char*>(data_) + row_offset(r), poison.data(), poison.size()));
  }
}

void device_tensor::forget() const {
  if (has_own_memory_) return api_->forget(data_, bytes_);
  for (int64_t r = 0; r < spec_.rows(); ++r)
    api_->forget(static_cast<char*>(data_) + row_offset(r), static_cast<size_t>(spec_.cols()) * size_of(spec_.type));
}

void device_tensor::write(const host_tensor& t) {
  const size_t row_bytes = static_cast<size_t>(spec_.cols()) * size_of(spec_.type);
  if (t.bytes.empty()) return;
  if (is_contiguous()) {
    check(api_->copy_in(data_, t.bytes.data(), t.bytes.size()));
  } else if (whole() && has_own_memory_) {
    std::vector<unsigned char> image(bytes_, fill_);
    for (int64_t r = 0; r < spec_.rows(); ++r)
      std::memcpy(image.data() + row_offset(r), t.bytes.data() + static_cast<size_t>(r) * row_bytes, row_bytes);
    check(api_->copy_in(data_, image.data(), bytes_));
  } else {
    for (int64_t r = 0; r < spec_.rows(); ++r)
      check(api_->copy_in(static_cast<char*>(data_) + row_offset(r),
                          t.bytes.data() + static_cast<size_t>(r) * row_bytes, row_bytes));
  }
}

host_tensor device_tensor::read(int64_t& touched) const {
  host_tensor t(spec_);
  touched = -1;
  const size_t row_bytes = static_cast<size_t>(spec_.cols()) * size_of(spec_.type);
  if (t.bytes.empty()) return t;
  if (is_contiguous() && !has_gaps()) {
    check(api_->copy_out(t.bytes.data(), data_, t.bytes.size()));
    return t;
  }
  const bool at_once = whole() && has_own_memory_;
  std::vector<unsigned char> image;
  if (at_once) {
    image.resize(bytes_);
    check(api_->copy_out(image.data(), data_, bytes_));
  }
  for (int64_t r = 0; r < spec_.rows(); ++r) {
    const size_t gap = seen_gap(r);
    if (!at_once) {
      image.resize(row_bytes + gap);
      check(api_->copy_out(image.data(), static_cast<const char*>(data_) + row_offset(r), row_bytes + gap));
    }
    const unsigned char* row = image.data() + (at_once ? row_offset(r) : 0);
    std::memcpy(t.bytes.data() + static_cast<size_t>(r) * row_bytes, row, row_bytes);
    for (size_t i = 0; i < gap && touched < 0; ++i)
      if (row[row_bytes + i] != fill_)
        touched = r * spec_.ld + spec_.cols() + static_cast<int64_t>(i / size_of(spec_.type));
  }
  return t;
}

DLTensor device_tensor::view(DLDevice device) { return tensor_of(spec_, data_, device, shape_, strides_); }

bool device_tensor::whole() const { return static_cast<int64_t>(bytes_) <= k_whole_span; }

// Bytes of the gap after a row that are checked.
size_t device_tensor::seen_gap(int64_t row) const {
  if (row < first_gap_ || row >= end_of_gaps_) return 0;
  const size_t gap = static_cast<size_t>(gap_) * size_of(spec_.type);
  return whole() ? gap : std::min<size_t>(gap, 256);
}

void device_tensor::check(int status) const {
  if (status)
    device_failed(*api_,
                  fmt::format("tensor {}: a copy to or from the device failed: {}", spec_.name, api_->last_error()));
}

}  // namespace warpcheck::engine

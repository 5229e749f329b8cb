#include "command/ptx_launches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "properties/engine/error.hpp"
#include "reference/numerics/float_value.hpp"

namespace warpcheck::cli {
namespace {

using engine::environment_error;
using engine::npy_array;
using engine::usage_error;

constexpr dtype k_array_types[] = {dtype::f32, dtype::f16, dtype::bf16, dtype::f64,
                                   dtype::i8,  dtype::i32, dtype::i64,  dtype::u8};

// NAME=VALUE
std::pair<std::string, std::string> named(const std::string& option, const std::string& text, const char* form) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw usage_error(fmt::format("{}: '{}' is not of the form {}", option, text, form));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string trimmed(std::string_view s) {
  const size_t begin = s.find_first_not_of(' ');
  return begin == std::string_view::npos ? "" : std::string(s.substr(begin, s.find_last_not_of(' ') + 1 - begin));
}

template <class Number>
std::optional<Number> number_of(std::string_view s, int base = 10) {
  Number n{};
  const auto [end, error] = [&] {
    if constexpr (std::is_floating_point_v<Number>)
      return std::from_chars(s.data(), s.data() + s.size(), n);
    else
      return std::from_chars(s.data(), s.data() + s.size(), n, base);
  }();
  return error == std::errc{} && end == s.data() + s.size() ? std::optional(n) : std::nullopt;
}

size_t elements_of(const npy_array& a) { return static_cast<size_t>(a.rows) * static_cast<size_t>(a.cols); }

// f32[1024,16]
std::optional<npy_array> unwritten_array(const std::string& text) {
  const size_t open = text.find('[');
  const std::optional<dtype> type = dtype_from_name(text.substr(0, open));
  if (!type || open == std::string::npos || text.back() != ']') return std::nullopt;
  npy_array a;
  a.type = *type;
  a.rows = 1;
  for (const std::string& one : split_ptx(std::string_view(text).substr(open + 1, text.size() - open - 2), ',')) {
    const std::optional<int64_t> extent = number_of<int64_t>(one);
    if (!extent || *extent < 1 || *extent > int64_t{1} << 40) return std::nullopt;
    if (!a.shape.empty()) a.rows *= a.shape.back();
    a.shape.push_back(*extent);
  }
  if (a.shape.empty()) return std::nullopt;
  a.cols = a.shape.back();
  return a;
}

// "4", "4x2" or "4x2x1", each of at least 1.
std::optional<std::array<unsigned, 3>> dimensions_of(const std::string& text) {
  std::array<unsigned, 3> shape = {1, 1, 1};
  const words parts = split_ptx(text, 'x');
  if (parts.empty() || parts.size() > 3) return std::nullopt;
  for (size_t k = 0; k < parts.size(); ++k) {
    const std::optional<unsigned> n = number_of<unsigned>(parts[k]);
    if (!n || *n == 0) return std::nullopt;
    shape[k] = *n;
  }
  return shape;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(b));
  return text;
}
template <class Number>
std::string hexadecimal_of(Number n, size_t bytes) {
  return hexadecimal(std::as_bytes(std::span(&n, 1)).first(bytes));
}

// The bytes of a number for a parameter, low byte first; empty if the text is no number.
std::string number_bytes(const ptx_variable& p, const std::string& text) {
  const size_t bytes = p.bytes();
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) {
    const std::optional<uint64_t> bits = number_of<uint64_t>(std::string_view(text).substr(2), 16);
    return bits && (bytes == 8 || *bits >> 8 * bytes == 0) ? hexadecimal_of(*bits, bytes) : "";
  }
  const bool is_real = p.type[0] == 'f' || (p.type[0] == 'b' && text.find_first_of(".eni") != std::string::npos);
  if (is_real) {
    const std::optional<double> real = number_of<double>(text);
    if (!real || bytes < 4) return "";
    return bytes == 4 ? hexadecimal_of(static_cast<float>(*real), 4) : hexadecimal_of(*real, 8);
  }
  const std::optional<__int128> wide = [&]() -> std::optional<__int128> {
    if (const auto n = number_of<int64_t>(text)) return *n;
    if (const auto n = number_of<uint64_t>(text)) return *n;
    return std::nullopt;
  }();
  if (!wide) return "";
  const __int128 most = static_cast<__int128>(1) << 8 * bytes;
  if (*wide >= most || *wide < -(most / 2)) return "";
  return hexadecimal_of(static_cast<uint64_t>(*wide), bytes);
}

// KERNEL<<<GRID, BLOCK, SHARED>>>(ARGUMENTS)
struct written_launch {
  std::string kernel;
  std::array<unsigned, 3> grid, block;
  unsigned shared = 0;
  words arguments;
};
written_launch read_launch(const std::string& text) {
  const size_t open = text.find("<<<"), close = text.find(">>>", open);
  const std::string rest = close == std::string::npos ? "" : trimmed(std::string_view(text).substr(close + 3));
  if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')')
    throw usage_error(fmt::format("launch: '{}' is not of the form KERNEL<<<GRID, BLOCK, SHARED>>>(ARGUMENTS)", text));
  const words sizes = split_ptx(std::string_view(text).substr(open + 3, close - open - 3), ',');
  const auto grid = sizes.size() >= 2 ? dimensions_of(sizes[0]) : std::nullopt;
  const auto block = sizes.size() >= 2 ? dimensions_of(sizes[1]) : std::nullopt;
  const auto shared = sizes.size() == 3 ? number_of<unsigned>(sizes[2]) : std::optional<unsigned>(0);
  if (!grid || !block || !shared || sizes.size() > 3)
    throw usage_error(
        fmt::format("launch: the shape of '{}' is not GRID, BLOCK, SHARED such as 8, 128 or 4x2, 32x8, "
                    "1024: extents of at least 1, and bytes of dynamic shared memory",
                    text));
  return {trimmed(std::string_view(text).substr(0, open)), *grid, *block, *shared,
          split_ptx(std::string_view(rest).substr(1, rest.size() - 2), ',')};
}

const ptx_function& find_kernel(const ptx_module& module, const std::string& name) {
  words names;
  for (const ptx_function& f : module.functions) {
    if (f.is_kernel && f.name == name) return f;
    if (f.is_kernel) names.push_back(f.name);
  }
  throw usage_error(fmt::format("launch: {} has no kernel '{}'; it has {}", module.file, name,
                                names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

void check_block(const ptx_function& kernel, const std::array<unsigned, 3>& block) {
  if (kernel.required_block[0] != 0 && block != kernel.required_block)
    throw usage_error(fmt::format("launch: the block of '{}' is {}, must be {} (.reqntid)", kernel.name,
                                  fmt::join(block, "x"), fmt::join(kernel.required_block, "x")));
  const auto threads = [](const std::array<unsigned, 3>& b) { return uint64_t{b[0]} * b[1] * b[2]; };
  if (kernel.largest_block[0] != 0 && threads(block) > threads(kernel.largest_block))
    throw usage_error(fmt::format("launch: the block of '{}' has {} threads, at most {} are allowed (.maxntid)",
                                  kernel.name, threads(block), threads(kernel.largest_block)));
}

uint64_t bits_at(std::span<const std::byte> bytes, size_t element, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + element * size, size);
  return bits;
}
std::string shown_bits(dtype type, uint64_t bits) {
  return is_float(type) ? fmt::format("{} (0x{:x})", reference::decode(type, bits), bits) : fmt::format("0x{:x}", bits);
}

}  // namespace

ptx_launches::ptx_launches(const run_emulated_options& o, const ptx_module& module) {
  if (o.launches.empty())
    throw usage_error(
        fmt::format("launch: none is given; {} runs with --launch 'KERNEL<<<GRID, BLOCK>>>(ARGUMENTS)'", module.file));
  if (!o.arguments.empty()) throw usage_error("arguments: a PTX module has no main(); --launch has its arguments");
  for (const std::string& option : o.arrays) add_array(option);
  for (const std::string& option : o.launches) add_launch(option, module);
  for (const std::string& option : o.writes) {
    const auto [name, path] = named("write", option, "NAME=FILE.npy");
    find("write", name).written_to = path;
    check_writable(path);
  }
  for (const std::string& option : o.expects) {
    const auto [name, path] = named("expect", option, "NAME=FILE.npy");
    device_array& a = find("expect", name);
    const dtype types[] = {a.content.type};
    a.expected = engine::read_npy(path, types);
    a.expected_name = path;
    if (a.expected->shape != a.content.shape)
      throw usage_error(fmt::format("expect: '{}' has shape [{}], array '{}' has [{}]", path,
                                    fmt::join(a.expected->shape, ","), name, fmt::join(a.content.shape, ",")));
  }
  for (device_array& a : arrays_) {
    if (!a.raw_file.empty() && !a.written_to.empty())
      arguments_.insert(arguments_.end(), {"write", a.name, std::exchange(a.written_to, "")});
    if (a.written_to.empty() && !a.expected) continue;
    a.after = std::make_unique<engine::memory_file>(a.name + ".after");
    arguments_.insert(arguments_.end(), {"write", a.name, a.after->path()});
  }
}

void ptx_launches::add_array(const std::string& option) {
  const auto [name, value] = named("array", option, "NAME=FILE.npy or NAME=f32[EXTENTS]");
  for (const device_array& a : arrays_)
    if (a.name == name) throw usage_error(fmt::format("array: '{}' is given twice", name));
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != std::string::npos ||
      std::isdigit(static_cast<unsigned char>(name[0])))
    throw usage_error(fmt::format("array: '{}' is no name, which is letters, digits and _", name));
  device_array a;
  a.name = name;
  std::string path;
  const size_t at = std::min(value.find("]@"), value.size() - 1);
  if (std::optional<npy_array> unwritten = unwritten_array(value.substr(0, at + 1))) {
    a.content = std::move(*unwritten);
    path = a.raw_file = value.substr(std::min(at + 2, value.size()));
    if (!path.empty() && !std::filesystem::exists(path))
      throw usage_error(fmt::format("array: file '{}' not found", path));
  } else {
    a.content = engine::read_npy(value, k_array_types);
    a.before = std::make_unique<engine::memory_file>(name + ".before");
    path = a.before->path();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(a.content.bytes.data()), std::ssize(a.content.bytes));
    if (!out.flush())
      throw environment_error(fmt::format("array '{}': no memory for its {} bytes", name, a.content.bytes.size()));
  }
  arguments_.insert(arguments_.end(),
                    {"array", name, std::to_string(elements_of(a.content) * size_of(a.content.type)), path});
  arrays_.push_back(std::move(a));
}

void ptx_launches::add_launch(const std::string& option, const ptx_module& module) {
  const written_launch l = read_launch(option);
  const ptx_function& kernel = find_kernel(module, l.kernel);
  check_block(kernel, l.block);
  if (l.arguments.size() != kernel.parameters.size())
    throw usage_error(fmt::format("launch: kernel '{}' has {} parameters, but {} arguments are given", kernel.name,
                                  kernel.parameters.size(), l.arguments.size()));
  arguments_.insert(arguments_.end(), {"launch", kernel.name});
  for (const auto& shape : {l.grid, l.block})
    for (const unsigned extent : shape) arguments_.push_back(std::to_string(extent));
  arguments_.insert(arguments_.end(), {std::to_string(l.shared), std::to_string(kernel.parameter_bytes())});
  for (size_t k = 0; k < l.arguments.size(); ++k) add_argument(kernel, kernel.parameters[k], l.arguments[k]);
  arguments_.push_back("end");
}

void ptx_launches::add_argument(const ptx_function& kernel, const ptx_variable& parameter, const std::string& text) {
  const std::string number = number_bytes(parameter, text);
  arguments_.insert(arguments_.end(), {std::to_string(parameter.offset),
                                       number.empty() ? array_argument(kernel, parameter, text) : number});
}

// The address of an array, or of NAME+BYTES in it; its bytes for a parameter that is an array itself.
std::string ptx_launches::array_argument(const ptx_function& kernel, const ptx_variable& parameter,
                                         const std::string& text) const {
  const size_t plus = std::min(text.find('+'), text.size());
  const auto a =
      std::ranges::find_if(arrays_, [&](const device_array& one) { return one.name == text.substr(0, plus); });
  const std::optional<size_t> offset =
      plus == text.size() ? std::optional<size_t>(0) : number_of<size_t>(std::string_view(text).substr(plus + 1));
  if (a == arrays_.end() || !offset)
    throw usage_error(fmt::format("launch: argument '{}' of kernel '{}' is no --array and no number for .{} {}", text,
                                  kernel.name, parameter.type, parameter.name));
  const bool is_value = parameter.count > 0;
  if (is_value ? a->content.bytes.size() != parameter.bytes() : parameter.bytes() != sizeof(void*))
    throw usage_error(
        fmt::format("launch: array '{}' does not fit parameter {} of kernel '{}', which has {} bytes; a "
                    "pointer has 8, and an array passed by value as many as the parameter",
                    text, parameter.name, kernel.name, parameter.bytes()));
  return is_value ? hexadecimal(a->content.bytes) : fmt::format("@{}+{}", a->name, *offset);
}

ptx_launches::device_array& ptx_launches::find(const std::string& option, const std::string& name) {
  for (device_array& a : arrays_)
    if (a.name == name) return a;
  throw usage_error(fmt::format("{}: '{}' is no array of --array", option, name));
}

std::vector<std::byte> ptx_launches::bytes_after(const device_array& a) const {
  const std::string text = a.after->text();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::string> ptx_launches::differences() const {
  std::vector<std::string> list;
  for (const device_array& a : arrays_) {
    if (!a.expected) continue;
    const std::vector<std::byte> bytes = bytes_after(a);
    a.after->resize(0);  // a later run that is stopped leaves nothing
    const size_t size = size_of(a.content.type);
    size_t count = 0, first = 0;
    for (size_t k = 0; size * k < bytes.size(); ++k) {
      const uint64_t actual = bits_at(bytes, k, size), expected = bits_at(a.expected->bytes, k, size);
      const bool are_nan = is_float(a.content.type) && std::isnan(reference::decode(a.content.type, actual)) &&
                           std::isnan(reference::decode(a.content.type, expected));
      if (actual != expected && !are_nan && count++ == 0) first = k;
    }
    if (count > 0)
      list.push_back(fmt::format("array '{}' differs from '{}' in {} of {} elements; element {} is {}, expected {}",
                                 a.name, a.expected_name, count, bytes.size() / size, first,
                                 shown_bits(a.content.type, bits_at(bytes, first, size)),
                                 shown_bits(a.content.type, bits_at(a.expected->bytes, first, size))));
  }
  return list;
}

void ptx_launches::write_arrays() const {
  for (const device_array& a : arrays_) {
    if (a.written_to.empty()) continue;
    npy_array out = a.content;
    out.bytes = bytes_after(a);
    if (!out.bytes.empty()) engine::write_npy(a.written_to, out);
  }
}

}  // namespace warpcheck::cli

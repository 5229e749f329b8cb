#include "properties/engine/files/pt.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "properties/engine/error.hpp"
#include "properties/engine/files/zip.hpp"

namespace warpcheck::engine {
namespace {

constexpr size_t k_most_dimensions = 4;
constexpr int64_t k_most_bytes = int64_t{4} << 30;
constexpr int k_most_depth = 8;  // of tuples: a tensor needs 2

enum class pickled : uint8_t { mark, other, integer, text, global, tuple, dict, ordered_dict, storage, tensor };

// A value of the pickle's stack.
struct pickle_value;
using value_pointer = std::shared_ptr<const pickle_value>;
struct pickle_value {
  pickled kind = pickled::other;
  int64_t integer = 0;
  std::string text;                  // of a global "MODULE.NAME"
  std::vector<value_pointer> items;  // of a tuple
  int depth = 0;
  pt_tensor tensor;  // of a storage: its bytes and type
};

std::optional<dtype> element_type_of(std::string_view storage_class) {
  constexpr std::pair<std::string_view, dtype> classes[] = {
      {"torch.HalfStorage", dtype::f16},   {"torch.BFloat16Storage", dtype::bf16}, {"torch.FloatStorage", dtype::f32},
      {"torch.DoubleStorage", dtype::f64}, {"torch.CharStorage", dtype::i8},       {"torch.IntStorage", dtype::i32},
      {"torch.LongStorage", dtype::i64},   {"torch.ByteStorage", dtype::u8}};
  for (const auto& [name, type] : classes)
    if (name == storage_class) return type;
  return std::nullopt;
}

// Runs the opcodes that torch.save writes for a tensor or a dict of tensors, and refuses all others.
class pickle_reader {
 public:
  pickle_reader(std::span<const std::byte> pickle, const std::map<std::string, std::span<const std::byte>>& storages,
                const std::string& name)
      : pickle_(pickle), storages_(storages), name_(name) {}

  std::vector<pt_tensor> read() {
    while (step()) {
    }
    const value_pointer result = pop();
    if (result->kind == pickled::tensor) return {result->tensor};
    if (result->kind != pickled::dict || tensors_.empty()) refuse("it holds no tensor at its top");
    return std::move(tensors_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw usage_error(
        fmt::format("{}: {}; a tensor, or a dict of tensors by name, as torch.save writes it, is read; numpy.savez "
                    "writes other arrays",
                    name_, what));
  }

  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{take()} << (8 * i);
    return value;
  }
  unsigned char take() {
    if (at_ == pickle_.size()) refuse("its pickle ends early");
    return std::to_integer<unsigned char>(pickle_[at_++]);
  }
  std::string text(size_t bytes) {
    if (bytes > pickle_.size() - at_) refuse("its pickle ends early");
    std::string part(reinterpret_cast<const char*>(pickle_.data()) + at_, bytes);
    at_ += bytes;
    return part;
  }
  std::string line() {
    std::string part;
    for (unsigned char c = take(); c != '\n'; c = take()) part += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
    return part;
  }

  void push(pickle_value v) { stack_.push_back(std::make_shared<const pickle_value>(std::move(v))); }
  void push(pickled kind) {
    pickle_value v;
    v.kind = kind;
    push(std::move(v));
  }
  void push_integer(int64_t integer) {
    pickle_value v;
    v.kind = pickled::integer;
    v.integer = integer;
    push(std::move(v));
  }
  void push_text(pickled kind, std::string text) {
    pickle_value v;
    v.kind = kind;
    v.text = std::move(text);
    push(std::move(v));
  }
  void push_tuple(std::vector<value_pointer> items) {
    pickle_value v;
    v.kind = pickled::tuple;
    for (const value_pointer& item : items) v.depth = std::max(v.depth, item->depth + 1);
    if (v.depth > k_most_depth) refuse("its tuples are nested");
    v.items = std::move(items);
    push(std::move(v));
  }
  void push_integer_of(size_t bytes) {
    if (bytes > 8) refuse("it holds an integer of more than 8 bytes");
    const unsigned unused = static_cast<unsigned>(64 - 8 * bytes);
    push_integer(bytes == 0 ? 0 : static_cast<int64_t>(number(bytes) << unused) >> unused);
  }

  value_pointer pop() {
    if (stack_.empty()) refuse("its pickle takes more values than there are");
    value_pointer v = std::move(stack_.back());
    stack_.pop_back();
    return v;
  }
  std::vector<value_pointer> pop_last(size_t count) {
    std::vector<value_pointer> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  std::vector<value_pointer> pop_to_mark() {
    std::vector<value_pointer> items;
    for (value_pointer v = pop(); v->kind != pickled::mark; v = pop()) items.push_back(std::move(v));
    std::ranges::reverse(items);
    return items;
  }

  void keep(uint64_t at) {
    if (stack_.empty()) refuse("its pickle keeps a value that is not there");
    kept_[at] = stack_.back();
  }
  void get(uint64_t at) {
    const auto found = kept_.find(at);
    if (found == kept_.end()) refuse("its pickle takes a value that it has not kept");
    stack_.push_back(found->second);
  }

  // Returns false at the end.
  bool step() {
    switch (const unsigned char code = take()) {
      case 0x80: take(); break;  // protocol
      case '.': return false;
      case '(': push(pickled::mark); break;
      case 'N':
      case 0x88:
      case 0x89: push(pickled::other); break;  // None, True, False
      case 'K': push_integer(static_cast<int64_t>(number(1))); break;
      case 'M': push_integer(static_cast<int64_t>(number(2))); break;
      case 'J': push_integer_of(4); break;
      case 0x8a: push_integer_of(take()); break;
      case 'X': push_text(pickled::text, text(number(4))); break;
      case 'c': push_global(); break;
      case ')': push_tuple({}); break;
      case 't': push_tuple(pop_to_mark()); break;
      case 0x85:
      case 0x86:
      case 0x87: push_tuple(pop_last(code - 0x84u)); break;
      case 'q': keep(number(1)); break;
      case 'r': keep(number(4)); break;
      case 'h': get(number(1)); break;
      case 'j': get(number(4)); break;
      case 'Q': push_storage(); break;
      case 'R': call(); break;
      case '}': push(pickled::dict); break;
      case 's': add_to_dict(pop_last(2)); break;
      case 'u': add_to_dict(pop_to_mark()); break;
      default: refuse(fmt::format("its pickle has the opcode {:#04x} at byte {}", code, at_ - 1));
    }
    return true;
  }

  void push_global() {
    const std::string module = line(), attribute = line();
    std::string global = module + "." + attribute;
    if (global != "torch._utils._rebuild_tensor_v2" && global != "torch._utils._rebuild_parameter" &&
        global != "collections.OrderedDict" && !element_type_of(global))
      refuse(fmt::format("its pickle names '{}', which is not run", global));
    push_text(pickled::global, std::move(global));
  }

  // The arguments of a persistent id: 'storage', class, key, location, elements.
  void push_storage() {
    const value_pointer id = pop();
    if (id->kind != pickled::tuple || id->items.size() != 5 || id->items[1]->kind != pickled::global ||
        !element_type_of(id->items[1]->text) || id->items[2]->kind != pickled::text)
      refuse("it has an object outside the pickle that is no storage");
    const auto found = storages_.find(id->items[2]->text);
    if (found == storages_.end()) refuse("it lacks the data of a tensor");
    pickle_value v;
    v.kind = pickled::storage;
    v.tensor.type = *element_type_of(id->items[1]->text);
    v.tensor.storage = found->second;
    push(std::move(v));
  }

  void call() {
    const std::vector<value_pointer> called = pop_last(2);
    const pickle_value &function = *called[0], &arguments = *called[1];
    if (function.kind != pickled::global || arguments.kind != pickled::tuple) refuse("its pickle calls an object");
    if (function.text == "collections.OrderedDict" && arguments.items.empty())
      push(pickled::ordered_dict);
    else if (function.text == "torch._utils._rebuild_tensor_v2" && arguments.items.size() == 6)
      push_tensor(arguments.items);
    else if (function.text == "torch._utils._rebuild_parameter" && arguments.items.size() == 3 &&
             arguments.items[0]->kind == pickled::tensor)
      stack_.push_back(arguments.items[0]);
    else
      refuse(fmt::format("its pickle calls '{}' with other arguments than a tensor has", function.text));
  }

  // Arguments: storage, offset, shape, strides, requires_grad, hooks.
  void push_tensor(const std::vector<value_pointer>& arguments) {
    pickle_value v;
    v.kind = pickled::tensor;
    if (arguments[0]->kind != pickled::storage || arguments[1]->kind != pickled::integer)
      refuse("it has a tensor without a storage");
    v.tensor = arguments[0]->tensor;
    v.tensor.offset = arguments[1]->integer;
    v.tensor.shape = integers_of(*arguments[2]);
    v.tensor.strides = integers_of(*arguments[3]);
    check(v.tensor);
    push(std::move(v));
  }
  std::vector<int64_t> integers_of(const pickle_value& tuple) const {
    std::vector<int64_t> all;
    for (const value_pointer& item : tuple.items) {
      if (item->kind != pickled::integer || item->integer < 0 || item->integer > k_most_bytes)
        refuse(fmt::format("it has a tensor whose sizes or strides are not integers from 0 to {}", k_most_bytes));
      all.push_back(item->integer);
    }
    return all;
  }
  void check(const pt_tensor& t) const {
    if (t.shape.empty() || t.shape.size() > k_most_dimensions || t.strides.size() != t.shape.size())
      refuse(fmt::format("it has a tensor of {} dimensions, where 1 to {} are allowed", t.shape.size(),
                         k_most_dimensions));
    const auto size = static_cast<int64_t>(size_of(t.type));
    int64_t count = 1, last = t.offset;
    for (size_t d = 0; d < t.shape.size(); ++d) {
      if (t.shape[d] > 0 && count > k_most_bytes / size / t.shape[d])
        refuse(fmt::format("it has a tensor of more than {} bytes", k_most_bytes));
      count *= t.shape[d];
    }
    if (count == 0) return;
    const auto elements = static_cast<int64_t>(t.storage.size()) / size;
    for (size_t d = 0; d < t.shape.size() && last >= 0 && last < elements; ++d)
      last = t.shape[d] > 1 && t.strides[d] > elements / (t.shape[d] - 1) ? elements
                                                                          : last + (t.shape[d] - 1) * t.strides[d];
    if (last < 0 || last >= elements)
      refuse(fmt::format("it has a tensor that reaches beyond the {} elements of its storage", elements));
  }

  void add_to_dict(const std::vector<value_pointer>& pairs) {
    if (stack_.empty() || stack_.back()->kind != pickled::dict || stack_.size() != 1 || pairs.size() % 2 != 0)
      refuse("it holds more than one dict");
    for (size_t i = 0; i < pairs.size(); i += 2) {
      if (pairs[i]->kind != pickled::text) refuse("a key of its dict is no text");
      if (pairs[i + 1]->kind != pickled::tensor) refuse(fmt::format("'{}' of its dict is no tensor", pairs[i]->text));
      tensors_.push_back(pairs[i + 1]->tensor);
      tensors_.back().name = pairs[i]->text;
    }
  }

  std::span<const std::byte> pickle_;
  const std::map<std::string, std::span<const std::byte>>& storages_;
  const std::string& name_;
  size_t at_ = 0;
  std::vector<value_pointer> stack_;
  std::map<uint64_t, value_pointer> kept_;
  std::vector<pt_tensor> tensors_;  // of the dict
};

}  // namespace

bool is_pt(std::string_view path) { return path.ends_with(".pt") || path.ends_with(".pth"); }

std::vector<pt_tensor> parse_pt(std::span<const std::byte> file, const std::string& name) {
  constexpr std::string_view k_pickle = "/data.pkl";
  const std::vector<zip_member> members = parse_zip(file, name);
  const auto pickle = std::ranges::find_if(members, [&](const zip_member& m) { return m.name.ends_with(k_pickle); });
  if (pickle == members.end()) throw usage_error(fmt::format("{}: it has no data.pkl, as torch.save writes it", name));
  const std::string folder = pickle->name.substr(0, pickle->name.size() - k_pickle.size());
  std::map<std::string, std::span<const std::byte>> storages;
  for (const zip_member& m : members) {
    if (m.name.starts_with(folder + "/data/")) storages[m.name.substr(folder.size() + 6)] = m.bytes;
    if (m.name == folder + "/byteorder" && (m.bytes.empty() || m.bytes[0] != std::byte{'l'}))
      throw usage_error(fmt::format("{}: its numbers are big-endian; little-endian ones are read", name));
  }
  return pickle_reader(pickle->bytes, storages, name).read();
}

std::vector<std::byte> dense_bytes(const pt_tensor& t) {
  const size_t size = size_of(t.type);
  int64_t count = 1;
  for (const int64_t extent : t.shape) count *= extent;
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = t.offset, left = i;
    for (size_t d = t.shape.size(); d-- > 0; left /= t.shape[d]) at += left % t.shape[d] * t.strides[d];
    std::memcpy(bytes.data() + static_cast<size_t>(i) * size, t.storage.data() + static_cast<size_t>(at) * size, size);
  }
  return bytes;
}

}  // namespace warpcheck::engine

#include "properties/engine/cases/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "properties/engine/cases/description.hpp"
#include "properties/engine/error.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck::engine {
namespace {

constexpr std::string_view k_line_version = "v1";

std::vector<std::string_view> non_empty_parts(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int64_t parse_integer(std::string_view what, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw usage_error(fmt::format("{}: '{}' is not an integer in [{}, {}]", what, text, least, most));
  return value;
}

bool is_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

// An operator's name; that of a formula operator ends with ".op".
bool is_operator_name(std::string_view text) {
  constexpr std::string_view k_formula = ".op";
  return is_name(text.ends_with(k_formula) ? text.substr(0, text.size() - k_formula.size()) : text);
}

std::pair<std::string_view, std::string_view> split_key(std::string_view word) {
  const size_t equal = word.find('=');
  if (equal == std::string_view::npos || equal == 0)
    throw usage_error(fmt::format("case line: '{}' is not of the form key=value", word));
  return {word.substr(0, equal), word.substr(equal + 1)};
}

edit parse_edit(std::string_view text) {
  const size_t comma = text.find(','), colon = text.find(':');
  if (comma == std::string_view::npos || colon == std::string_view::npos || comma > colon)
    throw usage_error(fmt::format("edit: '{}' is not of the form row,column:value", text));
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  edit e;
  e.row = parse_integer("edit row", text.substr(0, comma), 0, most);
  e.col = parse_integer("edit column", text.substr(comma + 1, colon - comma - 1), 0, most);
  const auto value = parse_number(text.substr(colon + 1));
  if (!value) throw usage_error(fmt::format("edit: '{}' is not a number", text.substr(colon + 1)));
  e.value = *value;
  return e;
}

// dtype[AxB]
void parse_type_and_shape(std::string_view text, tensor_spec& t) {
  const size_t open = text.find('[');
  const auto type = dtype_from_name(text.substr(0, std::min(open, text.size())));
  if (!type || open == std::string_view::npos || text.back() != ']')
    throw usage_error(
        fmt::format("tensor {}: '{}' is not of the form dtype[rows x cols] written like f32[3x5]; dtypes are "
                    "f16, bf16, f32, f64, e4m3, e5m2, i8, i32, i64, u8, u16, u32",
                    t.name, text));
  t.type = *type;
  // 2^48 elements are beyond every device and keep products of two extents and sizes inside int64.
  constexpr int64_t k_most = int64_t{1} << 48;
  for (std::string_view extent : non_empty_parts(text.substr(open + 1, text.size() - open - 2), 'x'))
    t.shape.push_back(parse_integer(fmt::format("tensor {}: extent", t.name), extent, 0, k_most));
  if (t.shape.empty() || t.shape.size() > k_most_dimensions)
    throw usage_error(fmt::format("tensor {}: rank {} is not 1 to {}", t.name, t.shape.size(), k_most_dimensions));
  int64_t room = k_most;
  for (const int64_t extent : t.shape) {
    if (extent > room) throw usage_error(fmt::format("tensor {}: '{}' has more than 2^48 elements", t.name, text));
    room /= std::max<int64_t>(1, extent);
  }
  t.ld = t.cols();
}

tensor_spec parse_tensor(std::string_view group) {
  tensor_spec t;
  bool has_fill = false;
  std::vector<std::string_view> seen;
  for (std::string_view word : non_empty_parts(group, ' ')) {
    const auto [key, value] = split_key(word);
    if (key != "edit" && std::ranges::find(seen, key) != seen.end())
      throw usage_error(fmt::format("tensor {}: key '{}' is given twice", t.name, key));
    seen.push_back(key);
    if (t.name.empty()) {
      if (!is_name(key)) throw usage_error(fmt::format("case line: '{}' is not a tensor name", key));
      t.name = key;
      parse_type_and_shape(value, t);
    } else if (key == "ld") {
      t.ld = parse_integer("ld", value, t.cols(), int64_t{1} << 48);
      if (t.rows() > 0 && t.ld > 0 && t.rows() > (int64_t{1} << 48) / t.ld)
        throw usage_error(fmt::format("ld: '{}' makes tensor {} longer than 2^48 elements", value, t.name));
    } else if (key == "offset") {
      t.offset = parse_integer("offset", value, 0, 255);
    } else if (key == "fill") {
      auto edits = std::move(t.fill.edits);
      t.fill = parse_recipe(value);
      t.fill.edits = std::move(edits);
      has_fill = true;
    } else if (key == "edit") {
      const edit e = parse_edit(value);
      if (e.row >= t.rows() || e.col >= t.cols())
        throw usage_error(fmt::format("edit: '{}' lies outside tensor {} [{}x{}]", value, t.name, t.rows(), t.cols()));
      t.fill.edits.push_back(e);
    } else if (key == "in_place") {
      t.in_place = value;
    } else if (key == "same") {
      t.same = value;
    } else if (key == "beside") {
      t.beside = value;
    } else {
      throw usage_error(fmt::format(
          "tensor {}: unknown key '{}'; known are ld, offset, fill, edit, in_place, same, beside", t.name, key));
    }
  }
  t.is_input = has_fill || !t.same.empty();
  if (!has_fill && !t.fill.edits.empty()) throw usage_error(fmt::format("tensor {}: edit without a fill", t.name));
  if (has_fill && !t.same.empty())
    throw usage_error(fmt::format("tensor {}: it has the values of {}, and no fill of its own", t.name, t.same));
  if (t.is_input && !t.in_place.empty())
    throw usage_error(fmt::format("tensor {}: in_place is for outputs, fill for inputs", t.name));
  return t;
}

bool is_laid_out_alike(const tensor_spec& a, const tensor_spec& b) {
  return a.shape == b.shape && a.type == b.type && a.ld == b.ld && a.offset == b.offset;
}

bool has_own_memory(const tensor_spec& t) { return !t.is_in_memory_of_another(); }

// The tensor of this name before `t`, or null.
const tensor_spec* find_before(const trial_case& c, const tensor_spec& t, const std::string& name) {
  const tensor_spec* const found = c.find(name);
  return found && found < &t ? found : nullptr;
}

// True if rows of `t` would fit behind rows of `host`, if the gaps of `host` were long enough.
bool may_lie_beside(const trial_case& c, const tensor_spec& t, const tensor_spec& host) {
  const tensor_spec* const guest = guest_of(c, host);
  return (!guest || guest == &t) && has_own_memory(host) && !t.is_workspace() && !host.is_workspace() &&
         t.type == host.type && t.elements() > 0 && t.rows() <= host.rows();
}

std::string wrong_place(const trial_case& c, const tensor_spec& t) {
  const tensor_spec* const host = find_before(c, t, t.beside);
  if (!host) return fmt::format("tensor {}: beside={} does not name a tensor before it", t.name, t.beside);
  if (!t.in_place.empty() || !t.same.empty() || !may_lie_beside(c, t, *host))
    return fmt::format(
        "tensor {}: beside={} takes two tensors with elements and of one dtype, at least as many rows of {}, of which "
        "one lies in no other's memory and the other only in these gaps",
        t.name, t.beside, t.beside);
  if (host->ld < host->cols() + t.cols() || (t.rows() > 1 && t.ld != host->ld) || t.offset != 0)
    return fmt::format("tensor {}: beside {} it needs the ld of {}, which must be at least {}, and no offset", t.name,
                       t.beside, t.beside, host->cols() + t.cols());
  return "";
}

}  // namespace

std::string wrong_memory(const trial_case& c) {
  for (const tensor_spec& t : c.tensors) {
    if (!t.in_place.empty()) {
      const tensor_spec* source = c.find(t.in_place);
      if (!source || !source->is_input)
        return fmt::format("tensor {}: in_place={} does not name an input of this case", t.name, t.in_place);
      if (!is_laid_out_alike(t, *source))
        return fmt::format("tensor {}: in place of {} it needs the same dtype, shape, ld and offset", t.name,
                           t.in_place);
    }
    if (!t.same.empty()) {
      const tensor_spec* const source = find_before(c, t, t.same);
      if (!source || !source->is_input || !source->same.empty())
        return fmt::format("tensor {}: same={} does not name an input before it that has values of its own", t.name,
                           t.same);
      if (!is_laid_out_alike(t, *source))
        return fmt::format("tensor {}: to be the same as {} it needs the same dtype, shape, ld and offset", t.name,
                           t.same);
    }
    if (!t.beside.empty())
      if (const std::string wrong = wrong_place(c, t); !wrong.empty()) return wrong;
  }
  return "";
}

void settle_memory(trial_case& c) {
  for (tensor_spec& t : c.tensors) {
    if (t.beside.empty()) continue;
    tensor_spec* const host = c.find(t.beside);
    if (!host || host >= &t || !t.in_place.empty() || !t.same.empty() || !may_lie_beside(c, t, *host)) {
      t.beside.clear();
      continue;
    }
    host->ld = std::max(host->ld, host->cols() + t.cols());
    t.ld = t.rows() > 1 ? host->ld : t.cols();
    t.offset = 0;
  }
  for (tensor_spec& t : c.tensors) {
    const tensor_spec* const source = !t.in_place.empty() ? c.find(t.in_place) : c.find(t.same);
    if (!t.same.empty() && (!source || !source->same.empty() || source->shape != t.shape || source->type != t.type)) {
      t.same.clear();
      continue;
    }
    if (!source) continue;
    t.ld = source->ld;
    t.offset = source->offset;
    if (!t.same.empty()) t.fill = source->fill;
  }
}

const tensor_spec* guest_of(const trial_case& c, const tensor_spec& host) {
  const auto guest = std::ranges::find_if(c.tensors, [&](const tensor_spec& t) { return t.beside == host.name; });
  return guest == c.tensors.end() ? nullptr : &*guest;
}

const tensor_spec* trial_case::find(std::string_view tensor) const {
  const auto t = std::ranges::find_if(tensors, [&](const tensor_spec& s) { return s.name == tensor; });
  return t == tensors.end() ? nullptr : &*t;
}

tensor_spec* trial_case::find(std::string_view tensor) {
  return const_cast<tensor_spec*>(static_cast<const trial_case*>(this)->find(tensor));
}

const tensor_spec& trial_case::at(std::string_view tensor) const {
  const tensor_spec* t = find(tensor);
  if (!t) throw usage_error(fmt::format("case line: {}/{} needs a tensor named {}", op, property, tensor));
  return *t;
}

int64_t trial_case::elements() const {
  int64_t sum = 0;
  for (const tensor_spec& t : tensors) sum += t.elements();
  return sum;
}

std::string trial_case::knob(std::string_view name) const {
  if (const auto k = knobs.find(std::string(name)); k != knobs.end()) return k->second;
  for (const knob_info& k : standard_knobs())
    if (k.name == name) return k.fallback;
  if (const scalar_rule* s = find_scalar(*this, name)) return usual_text(*s);
  if (const engine::property* p = registered_property(op, property))
    for (const knob_info& k : p->knobs)
      if (k.name == name) return k.fallback;
  return "";
}

bool has_arrays_in_hand(const trial_case& c) {
  return std::ranges::any_of(c.tensors, [](const tensor_spec& t) { return t.fill.distribution == "npy"; });
}

double trial_case::number(std::string_view name) const {
  const std::string text = knob(name);
  const auto value = parse_number(text);
  if (!value) throw usage_error(fmt::format("{}: '{}' is not a number", name, text));
  return *value;
}

const std::vector<knob_info>& standard_knobs() {
  static const std::vector<knob_info> knobs = {
      {"variant", "auto", "implementation technique to force; auto is the candidate's own dispatch"},
      {"device", "emulated", "emulated, cuda or cpu"},
      {"schedule", "default",
       "cuda: default, nonblocking (a stream that does not wait for the default stream) or noise (beside a kernel that "
       "keeps the device busy); emulated: one schedule token (fair, greedy, reverse, random:N, preempt:N, pct:N, "
       "pct_warp:N, replay:...) or "
       "default: "
       "all of the case's default set, which must agree bit for bit"},
      {"detect", "on", "emulated: also run once under the race, bounds and initialisation detector (off, on, only)"},
      {"candidate", "builtin", "builtin, or the path of a candidate library"},
      {"formula", "", "FILE.op#HASH: the formula that the operator is, and the hash of its text"},
      {"sm", "4", "emulated: number of multiprocessors that the kernel sees, in 1..1024"},
      {"repeat", "1",
       "launches that must give identical bits; emulated, schedule=default: rounds, of which the first takes all "
       "schedules and each later one those with seeds, which are its own"},
      {"agree", "bits",
       "bits: all launches must give identical bits; free: the contract leaves the order of additions open, so that "
       "the "
       "first launch alone is judged (hazards, guards and inputs are checked in all)"},
      {"launch", "stream",
       "how every launch but the first is made, which must not change a bit: stream (one of its own), legacy (cuda: "
       "the "
       "default stream), again:N (N calls into the same buffers), graph:N (cuda: captured once, replayed N times; "
       "elsewhere as again:N); N in 1..100; in place N counts as 1"},
  };
  return knobs;
}

std::string format(const trial_case& c) {
  std::string line = fmt::format("{} {}/{}", k_line_version, c.op, c.property);
  bool first = true;
  for (const tensor_spec& t : c.tensors) {
    line += fmt::format("{} {}={}[", first ? "" : " |", t.name, name_of(t.type));
    first = false;
    for (size_t i = 0; i < t.shape.size(); ++i) line += fmt::format("{}{}", i ? "x" : "", t.shape[i]);
    line += "]";
    if (t.ld != t.cols()) line += fmt::format(" ld={}", t.ld);
    if (t.offset) line += fmt::format(" offset={}", t.offset);
    if (!t.same.empty()) {
      line += " same=" + t.same;
    } else {
      if (t.is_input) line += " fill=" + format(t.fill);
      for (const edit& e : t.fill.edits) line += fmt::format(" edit={},{}:{}", e.row, e.col, format_number(e.value));
    }
    if (!t.in_place.empty()) line += " in_place=" + t.in_place;
    if (!t.beside.empty()) line += " beside=" + t.beside;
  }
  line += " |";
  for (const auto& [name, value] : c.knobs) line += fmt::format(" {}={}", name, value);
  return line;
}

std::pair<std::string, std::string> parse_case_name(std::string_view text) {
  const std::vector<std::string_view> words = non_empty_parts(text.substr(0, text.find('|')), ' ');
  if (words.empty() || words[0] != k_line_version)
    throw usage_error(fmt::format("case line: it starts with '{}', not with the grammar version '{}'",
                                  words.empty() ? "" : words[0], k_line_version));
  const size_t slash = words.size() < 2 ? std::string_view::npos : words[1].find('/');
  if (slash == std::string_view::npos || !is_operator_name(words[1].substr(0, slash)) ||
      !is_name(words[1].substr(slash + 1)))
    throw usage_error(
        fmt::format("case line: '{}' is not of the form operator/property", words.size() < 2 ? "" : words[1]));
  return {std::string(words[1].substr(0, slash)), std::string(words[1].substr(slash + 1))};
}

trial_case parse_case(std::string_view text, const std::vector<knob_info>& extra) {
  for (unsigned char c : text)
    if (c < 0x20 || c == 0x7f)
      throw usage_error("case line: it holds a control character; only printable text is allowed");
  trial_case c;
  std::tie(c.op, c.property) = parse_case_name(text);
  // Groups before the last `|` are tensors, and the knobs follow it. The first group also holds version and name.
  const size_t last = text.rfind('|');
  if (last == std::string_view::npos) throw usage_error("case line: no '|' separates the tensors from the knobs");
  std::string_view head = text.substr(0, last);
  head.remove_prefix(head.find(c.op + "/" + c.property) + c.op.size() + 1 + c.property.size());
  for (std::string_view group : non_empty_parts(head, '|')) {
    if (group.find_first_not_of(' ') == std::string_view::npos)
      throw usage_error("case line: an empty group between two '|'");
    c.tensors.push_back(parse_tensor(group));
    for (size_t i = 0; i + 1 < c.tensors.size(); ++i)
      if (c.tensors[i].name == c.tensors.back().name)
        throw usage_error(fmt::format("case line: two tensors are named {}", c.tensors[i].name));
  }
  for (tensor_spec& t : c.tensors)
    if (const tensor_spec* source = t.same.empty() ? nullptr : c.find(t.same)) t.fill = source->fill;
  if (const std::string wrong = wrong_memory(c); !wrong.empty()) throw usage_error(wrong);
  for (std::string_view word : non_empty_parts(text.substr(last + 1), ' ')) {
    const auto parts =
        split_key(word);  // not a structured binding: lambdas cannot capture those before C++20's clang 16
    const std::string_view key = parts.first, value = parts.second;
    const auto known = [key](const std::vector<knob_info>& list) {
      return std::ranges::any_of(list, [key](const knob_info& i) { return i.name == key; });
    };
    if (!known(standard_knobs()) && !known(extra)) {
      std::string names;
      for (const auto* list : {&standard_knobs(), &extra})
        for (const knob_info& k : *list) names += (names.empty() ? "" : ", ") + k.name;
      throw usage_error(fmt::format("case line: unknown knob '{}'; known are {}", key, names));
    }
    if (key == "sm") parse_integer("sm", value, 1, 1024);
    if (!c.knobs.emplace(key, value).second) throw usage_error(fmt::format("case line: knob '{}' is given twice", key));
  }
  return c;
}

tensor_spec input_matrix(std::string name, dtype type, int64_t rows, int64_t cols, recipe fill) {
  tensor_spec t;
  t.name = std::move(name);
  t.type = type;
  t.shape = {rows, cols};
  t.ld = cols;
  t.is_input = true;
  t.fill = std::move(fill);
  return t;
}

tensor_spec output_matrix(std::string name, dtype type, int64_t rows, int64_t cols) {
  tensor_spec t;
  t.name = std::move(name);
  t.type = type;
  t.shape = {rows, cols};
  t.ld = cols;
  return t;
}

tensor_spec input_vector(std::string name, dtype type, int64_t elements, recipe fill) {
  tensor_spec t = output_vector(std::move(name), type, elements);
  t.is_input = true;
  t.fill = std::move(fill);
  return t;
}

tensor_spec output_vector(std::string name, dtype type, int64_t elements) {
  tensor_spec t;
  t.name = std::move(name);
  t.type = type;
  t.shape = {elements};
  t.ld = elements;
  return t;
}

}  // namespace warpcheck::engine

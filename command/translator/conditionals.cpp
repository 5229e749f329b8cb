#include "command/translator/conditionals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace warpcheck::cli {
namespace {

class conditional_finder {
 public:
  explicit conditional_finder(const cuda_structure& s) : s_(s), t_(s.tokens()) {}

  conditional_edits run() {
    find_barriers();
    for (size_t i = 0; i < t_.size() && barriers_before_.back() > 0; ++i) visit(i);
    return std::move(edits_);
  }

 private:
  using device_function = cuda_structure::device_function;

  bool is(size_t i, std::string_view s) const { return s_.is(i, s); }

  // ---- barriers

  // Finds the calls of barriers of the block, and of device functions and lambdas that contain such calls. Functions
  // are known by their names alone: it does no harm to note one conditional more.
  void find_barriers() {
    std::set<std::string_view> names = {"__syncthreads", "__syncthreads_and", "__syncthreads_count",
                                        "__syncthreads_or"};
    const std::set<std::string_view> blocks = names_of_blocks();
    const bool uses_cub = uses_block_operations();
    for (size_t known = 0; known != names.size();) {
      known = names.size();
      barriers_before_.assign(1, 0);
      for (size_t i = 0; i < t_.size(); ++i)
        barriers_before_.push_back(barriers_before_.back() +
                                   (calls(i, names) || is_sync_of(i, blocks) || (uses_cub && is_block_operation(i))));
      for (size_t i = 0; i < t_.size() && barriers_before_.back() > 0; ++i) {
        const device_function* f = s_.device_code(i);
        if (f == nullptr) continue;
        if (const size_t body = body_of_lambda(i); body != k_none && has_barrier(body, s_.match(body)))
          names.insert(t_.text(i));
        if (i != f->body || !t_.is_identifier(f->parameters - 1)) continue;
        if (has_barrier(i, s_.match(i))) names.insert(t_.text(f->parameters - 1));
      }
    }
  }

  bool calls(size_t i, const std::set<std::string_view>& names) const {
    return t_.is_identifier(i) && (is(i + 1, "(") || is(i + 1, "<")) && s_.device_code(i) != nullptr &&
           names.contains(t_.text(i));
  }

  // The "{" of the lambda in `name = [...](...) {`, or k_none.
  size_t body_of_lambda(size_t name) const {
    if (!t_.is_identifier(name) || !is(name + 1, "=") || !is(name + 2, "[")) return k_none;
    size_t i = s_.match(name + 2) + 1;
    while (i < t_.size() && !is(i, "{") && !is(i, ";")) ++i;
    return is(i, "{") ? i : k_none;
  }

  // Variables `auto b = this_thread_block()`, `thread_block b = ...` and `const thread_block& b`.
  std::set<std::string_view> names_of_blocks() const {
    std::set<std::string_view> names = {"this_thread_block"};
    for (size_t i = 0; i < t_.size(); ++i) {
      if (is(i, "this_thread_block"))
        for (size_t k = s_.statement_start(i); k < i; ++k)
          if (is(k + 1, "=")) names.insert(t_.text(k));
      if (!is(i, "thread_block")) continue;
      size_t k = i + 1;
      while (is(k, "const") || is(k, "&")) ++k;
      if (t_.is_identifier(k)) names.insert(t_.text(k));
    }
    return names;
  }

  // `block.sync()`, `this_thread_block().sync()`, `sync(block)` or `wait_prior<1>(block)`.
  bool is_sync_of(size_t i, const std::set<std::string_view>& blocks) const {
    if (!is_any(i, i + 1, {"sync", "wait", "wait_prior", "barrier_wait"}) || s_.device_code(i) == nullptr) return false;
    const size_t open = is(i + 1, "<") ? s_.template_arguments_end(i + 1) + 1 : i + 1;
    if (!is(open, "(")) return false;
    if (is(i - 1, ".")) return blocks.contains(t_.text(is(i - 2, ")") ? s_.match(i - 2) - 1 : i - 2));
    for (size_t k = open + 1; k < s_.match(open); ++k)
      if (blocks.contains(t_.text(k))) return true;
    return false;
  }

  // ---- CUB's operations of a block

  bool uses_block_operations() const {
    for (size_t i = 0; i < t_.size(); ++i)
      if (is(i + 1, "<") && is_any(i, i + 1,
                                   {"BlockReduce", "BlockScan", "BlockRadixSort", "BlockExchange", "BlockLoad",
                                    "BlockStore", "BlockAdjacentDifference"}))
        return true;
    return false;
  }

  // `BlockReduce(storage).Sum(x)`. An operation of a warp has the same name and contains no barrier, so it changes
  // nothing.
  bool is_block_operation(size_t i) const {
    if (!is_any(i, i + 1,
                {"Reduce", "Sum", "InclusiveSum", "ExclusiveSum", "InclusiveScan", "ExclusiveScan", "Sort",
                 "SortDescending", "SortBlockedToStriped", "SortDescendingBlockedToStriped", "StripedToBlocked",
                 "BlockedToStriped", "ScatterToBlocked", "ScatterToStriped", "Load", "Store", "SubtractLeft",
                 "SubtractRight"}))
      return false;
    const size_t before = is(i - 1, "template") ? i - 2 : i - 1;
    return is(before, ".") && (is(i + 1, "(") || is(i + 1, "<")) && s_.device_code(i) != nullptr;
  }

  bool has_barrier(size_t first, size_t last) const { return barriers_before_[last] > barriers_before_[first]; }

  // ---- statements

  // Returns the last token of the statement that begins at i, or k_none.
  size_t statement_end(size_t i) const {
    while (is(i, "[") && is(i + 1, "[")) i = s_.match(i) + 1;
    if (is(i, "{")) return s_.match(i);
    if (is(i, "try") || is(i, "case") || is(i, "default") || is(i, "else") || is(i + 1, ":")) return k_none;
    if (is(i, "do")) {
      const size_t end = statement_end(i + 1);
      return end != k_none && is(end + 1, "while") && is(end + 2, "(") ? s_.match(end + 2) + 1 : k_none;
    }
    if (is(i, "if") && !is(i + 1, "(")) ++i;  // if constexpr
    if (is(i + 1, "(") && (is(i, "if") || is(i, "constexpr") || is(i, "for") || is(i, "while") || is(i, "switch"))) {
      const size_t end = statement_end(s_.match(i + 1) + 1);
      if (end == k_none || !is(end + 1, "else")) return end;
      return statement_end(end + 2);
    }
    for (; i < t_.size() && !is(i, ";"); ++i) {
      if (s_.closes(i)) return k_none;
      if (s_.opens(i)) i = s_.match(i);
    }
    return i < t_.size() ? i : k_none;
  }

  // True for a condition, which declares and assigns nothing; false for a constant.
  bool is_plain_condition(size_t first, size_t last) const {
    if (first >= last || (last == first + 1 && (!t_.is_identifier(first) || is(first, "true") || is(first, "false"))))
      return false;
    for (size_t i = first; i < last; ++i) {
      if (is(i, ";") || is(i, "{")) return false;
      if (s_.opens(i)) i = s_.match(i);
      if (is(i, "=") && !is_comparison(i)) return false;
    }
    return true;
  }
  bool is_comparison(size_t equals) const {
    const auto joined = [&](size_t i) { return t_.tokens[i].end == t_.tokens[i + 1].begin; };
    constexpr std::string_view before = "=!<>";
    return (joined(equals - 1) && before.find(t_.text(equals - 1)) != std::string_view::npos) ||
           (is(equals + 1, "=") && joined(equals));
  }

  bool is_any(size_t first, size_t last, std::initializer_list<std::string_view> words) const {
    for (size_t i = first; i < last; ++i)
      if (std::ranges::find(words, t_.text(i)) != words.end()) return true;
    return false;
  }
  // True if a jump may lead into these statements.
  bool has_labels(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      if (is(i, "switch")) i = statement_end(i);
      if (i == k_none || is(i, "case") || (is(i, "default") && is(i + 1, ":"))) return true;
    }
    return false;
  }
  // False for functions with goto, and for constexpr ones.
  bool may_note(const device_function& f) {
    const auto [at, added] = noted_functions_.try_emplace(&f, false);
    if (added)
      at->second = !is_any(s_.statement_start(f.parameters), f.body, {"constexpr", "consteval"}) &&
                   !is_any(f.body, s_.match(f.body), {"goto"});
    return at->second;
  }

  // ---- conditionals

  void visit(size_t i) {
    if (!is(i, "if") && !is(i, "for") && !is(i, "while") && !is(i, "do")) return;
    const device_function* f = s_.device_code(i);
    if (f == nullptr || i < f->body || !may_note(*f)) return;
    if (is(i, "do")) return note_do(i);
    if (!is(i + 1, "(") || tails_.contains(i)) return;
    if (is(i, "if")) return note_if(i);
    size_t first = i + 2, last = s_.match(i + 1);
    const size_t end = statement_end(last + 1);
    if (end == k_none || !has_barrier(last + 1, end)) return;
    if (is(i, "for")) {
      const size_t body = last;
      const auto next = [&](size_t k) {
        while (k < body && !is(k, ";")) k = s_.opens(k) ? s_.match(k) + 1 : k + 1;
        return k;
      };
      first = next(first) + 1;
      last = next(first);
      if (last >= body) return;
    }
    note_loop(i, first, last, end);
  }

  void note_if(size_t i) {
    const size_t open = i + 1, close = s_.match(open), then_end = statement_end(close + 1);
    if (then_end == k_none || !is_plain_condition(open + 1, close)) return;
    const bool has_else = is(then_end + 1, "else");
    const size_t end = has_else ? statement_end(then_end + 2) : then_end;
    if (end == k_none || !has_barrier(close + 1, end) || has_labels(close + 1, end)) return;
    const bool first_returns = is_any(close + 1, then_end, {"return"});
    const bool second_returns = is_any(then_end + 1, end, {"return"});
    const std::string name = fmt::format("simt_conditional_{}", i);
    const size_t at = t_.tokens[open].end;
    const int returns = 2 * first_returns + second_returns;
    edits_.before.push_back({at, at, fmt::format("::simt::emu::conditional {}({}, {}); ", name, i, returns)});
    surround(open + 1, close, name);
  }

  void note_do(size_t i) {
    const size_t end = statement_end(i);
    if (end == k_none) return;
    const size_t open = s_.match(end - 1);
    tails_.insert(open - 1);
    if (has_barrier(i, end)) note_loop(i, open + 1, end - 1, end);
  }

  void note_loop(size_t i, size_t first, size_t last, size_t end) {
    if (!is_plain_condition(first, last) || has_labels(i, end)) return;
    const std::string name = fmt::format("simt_conditional_{}", i);
    const size_t at = t_.tokens[i].begin;
    edits_.before.push_back({at, at, fmt::format("for (::simt::emu::conditional {0}({1}); {0}.begins();) ", name, i)});
    surround(first, last, name);
  }

  // A condition is converted to bool as by `if`.
  void surround(size_t first, size_t last, const std::string& name) {
    const size_t begin = t_.tokens[first].begin, end = t_.tokens[last].begin;
    edits_.before.push_back({begin, begin, name + ".evaluates(("});
    edits_.after.push_back({end, end, ") ? true : false)"});
  }

  const cuda_structure& s_;
  const token_list& t_;
  std::vector<uint32_t> barriers_before_;  // by token
  std::map<const device_function*, bool> noted_functions_;
  std::set<size_t> tails_;  // `while` of do statements
  conditional_edits edits_;
};

}  // namespace

conditional_edits note_conditionals(const cuda_structure& s) { return conditional_finder(s).run(); }

}  // namespace warpcheck::cli

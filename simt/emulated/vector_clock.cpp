#include "simt/emulated/vector_clock.hpp"

#include <algorithm>

namespace simt {
inline namespace emu {

// Neighbouring keys, such as those of half a warp's threads, are in one leaf.
static constexpr uint64_t k_leaf_keys = 16;
// From these bits of a prefix on: the instance; marks and phases.
static constexpr uint32_t k_instance_level = 12, k_mark_level = 56;

// A node does not change while several others, or clocks, point to it.
struct vector_clock::node {
  node(uint32_t level, uint64_t prefix) : level(level), prefix(prefix) {}
  uint32_t uses = 0;
  uint32_t level;   // 0: a leaf. Otherwise the two sides differ in bit level - 1 of their leaves' prefixes.
  uint64_t prefix;  // key / k_leaf_keys; that of a branch has bits of its leaves from `level` on
};

struct vector_clock::leaf : node {
  explicit leaf(uint64_t prefix) : node(0, prefix) {}
  uint32_t below[k_leaf_keys] = {};
};

struct vector_clock::branch : node {
  branch(uint32_t level, uint64_t prefix, pointer low, pointer high)
      : node(level, prefix), sides{std::move(low), std::move(high)} {}
  uint64_t side_of(uint64_t of) const { return of >> (level - 1) & 1; }
  pointer sides[2];
};

void intrusive_ptr_add_ref(vector_clock::node* n) { ++n->uses; }
void intrusive_ptr_release(vector_clock::node* n) {
  if (--n->uses > 0) return;
  if (n->level == 0)
    delete static_cast<vector_clock::leaf*>(n);
  else
    delete static_cast<vector_clock::branch*>(n);
}

// Of two nodes whose leaves have no prefix in common.
vector_clock::pointer vector_clock::fork(pointer a, const pointer& b) {
  const auto level = static_cast<uint32_t>(64 - __builtin_clzll(a->prefix ^ b->prefix));
  const uint64_t prefix = a->prefix;
  if (a->prefix < b->prefix) return new branch(level, prefix, std::move(a), b);
  return new branch(level, prefix, b, std::move(a));
}

vector_clock::pointer vector_clock::merge_leaves(pointer a, const pointer& b) {
  auto& ours = static_cast<leaf&>(*a).below;
  const auto& theirs = static_cast<const leaf&>(*b).below;
  uint32_t most[k_leaf_keys], above_ours = 0, above_theirs = 0;
  for (size_t i = 0; i < k_leaf_keys; ++i) {
    most[i] = std::max(ours[i], theirs[i]);
    above_ours |= most[i] ^ ours[i];
    above_theirs |= most[i] ^ theirs[i];
  }
  if (above_ours == 0) return a;
  if (above_theirs == 0) return b;
  pointer to = a->uses == 1 ? std::move(a) : pointer(new leaf(b->prefix));
  std::copy(std::begin(most), std::end(most), static_cast<leaf&>(*to).below);
  return to;
}

// Of a branch and what lies within its prefix.
vector_clock::pointer vector_clock::merge_sides(pointer a, const pointer& b) {
  auto& ours = static_cast<branch&>(*a);
  const bool is_alone = a->uses == 1, is_branch = b->level == a->level;
  pointer sides[2];
  for (uint64_t i = 0; i < 2; ++i) {
    pointer side = is_alone ? std::move(ours.sides[i]) : ours.sides[i];
    if (is_branch)
      sides[i] = merge(std::move(side), static_cast<const branch&>(*b).sides[i]);
    else
      sides[i] = i == ours.side_of(b->prefix) ? merge(std::move(side), b) : std::move(side);
  }
  const auto has = [&](const branch& n) { return n.sides[0] == sides[0] && n.sides[1] == sides[1]; };
  if (is_branch && has(static_cast<const branch&>(*b))) return b;
  if (!is_alone) return has(ours) ? a : pointer(new branch(a->level, a->prefix, sides[0], sides[1]));
  std::move(std::begin(sides), std::end(sides), ours.sides);
  return a;
}

// Returns one of the two where it has all, so that the results of further joins are one node, too.
vector_clock::pointer vector_clock::merge(pointer a, const pointer& b) {
  if (a == b || b == nullptr) return a;
  if (a == nullptr) return b;
  if ((a->prefix ^ b->prefix) >> std::max(a->level, b->level) != 0) return fork(std::move(a), b);
  if (a->level < b->level) return merge_sides(b, a);
  return a->level == 0 ? merge_leaves(std::move(a), b) : merge_sides(std::move(a), b);
}

vector_clock::pointer vector_clock::mark_all(const pointer& n, uint64_t mark) {
  if (n == nullptr) return nullptr;
  if (n->level > k_mark_level) return mark_all(static_cast<const branch&>(*n).sides[0], mark);
  if (n->prefix >> k_mark_level != 0) return nullptr;
  const uint64_t prefix = n->prefix | mark / k_leaf_keys;
  if (n->level == 0) {
    const pointer copy = new leaf(prefix);
    std::copy(std::begin(static_cast<const leaf&>(*n).below), std::end(static_cast<const leaf&>(*n).below),
              static_cast<leaf&>(*copy).below);
    return copy;
  }
  const auto& of = static_cast<const branch&>(*n);
  return new branch(n->level, prefix, mark_all(of.sides[0], mark), mark_all(of.sides[1], mark));
}

void vector_clock::join(uint64_t key, uint32_t below) {
  const pointer one = new leaf(key / k_leaf_keys);
  static_cast<leaf&>(*one).below[key % k_leaf_keys] = below;
  root_ = merge(std::move(root_), one);
}

// The node, at most of that level, in which the leaf of this prefix is if there is one.
inline const vector_clock::node* vector_clock::descend(const node* n, uint64_t prefix, uint32_t level) {
  while (n != nullptr && n->level > level) {
    const auto& at = static_cast<const branch&>(*n);
    n = at.sides[at.side_of(prefix)].get();
  }
  return n;
}

uint32_t vector_clock::below(const node* n, uint64_t key) {
  const uint64_t prefix = key / k_leaf_keys;
  n = descend(n, prefix, 0);
  return n != nullptr && n->prefix == prefix ? static_cast<const leaf&>(*n).below[key % k_leaf_keys] : 0;
}

bool vector_clock::covers_as(uint64_t mark, uint32_t id, uint32_t clock) const {
  const uint32_t instance = instance_of(id);
  const node* n = descend(root_.get(), (mark | block_key(instance)) / k_leaf_keys, k_instance_level);
  return clock < below(n, mark | thread_key(id)) ||
         (!(id & k_agent) && (clock < below(n, mark | block_key(instance)) ||
                              clock < below(n, mark | warp_key(instance, linear_of(id) / 32))));
}

vector_clock vector_clock::marked(uint64_t mark) const {
  vector_clock result;
  result.root_ = mark_all(root_, mark);
  return result;
}

}  // namespace emu
}  // namespace simt

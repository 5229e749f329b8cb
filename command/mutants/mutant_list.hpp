// The mutants of a subject: ci/mutate/<op>.mutants, one planted bug a line, with the property or verdict that must find
// it. Lists of generated mutants look the same; their subject may also be a part of the suite itself. <t> is a tab:
//
//   reduce-drops-last-warp<t>kernels/primitives/reduce.hpp<t>lane < warps ?<t>lane < warps - 1 ?<t>every-element-used
//
// Columns: id, file below the source root, its exact old text (which must occur once), the new text, the property that
// is expected to kill it, alone or with its verdict (no-hazard:race). `\n`, `\t` and `\\` stand for the characters; a
// line that starts with `#` is a comment. Killer `*` is any property; `=` marks a mutant that is proven equivalent and
// need not be tried. Two further lines: `usual <tab> CASE` is the case that the customary test of the operator would
// try; `lacks <tab> TRAITS <tab> id id` describes a smaller offer, and names the bugs that need what it lacks, which no
// call within it can show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpcheck::cli {

struct mutant {
  std::string id;
  std::string op;  // or a part of the suite
  std::string file;
  std::string old_text;
  std::string new_text;
  std::string property;  // expected to kill it; empty: any
  std::string verdict;   // expected verdict; empty: any
  bool kernel = false;   // of an operator with properties
  bool equivalent = false;
  bool needs_lacked = false;  // no call within the list's smaller offer shows it
  std::string place;          // "softmax.mutants:12", for messages
};

struct mutant_list {
  std::vector<mutant> mutants;
  std::string usual;  // a case line; empty if the file has none
  std::string lacks;  // traits of the smaller offer; empty if the file has none
};

// `op` is taken from the file's name. Throws usage_error that names file and line: malformed line, repeated or
// unknown id, or no mutant at all.
mutant_list read_mutants(const std::string& path);

// Returns one in `one_in` of the mutants, at least one, in the list's order: those with the smallest hashes of id and
// seed. If one mutant is added to the list, at most one of the sample changes.
std::vector<mutant> sample_of(std::vector<mutant> mutants, int one_in, uint64_t seed);

// Returns the mutated text of m.file below `root`. Throws usage_error unless the old text occurs exactly
// once, and not in a comment.
std::string mutated_text(const mutant& m, const std::string& root);

}  // namespace warpcheck::cli

// The translator behind ptx.hpp: ptx.cpp splits the text; ptx_instructions.cpp, ptx_matrices.cpp and ptx_arithmetic.cpp
// translate the instructions.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command/translator/ptx.hpp"
#include "command/translator/ptx_module.hpp"

namespace warpcheck::cli {

// Returns the C++ type of a PTX type such as "u32", or "".
std::string type_of_ptx(std::string_view type);

struct instruction {
  std::string text;       // as written
  std::string predicate;  // a C++ condition; empty: none
  words opcode;           // parts between dots
  words operands;

  const std::string& name() const { return opcode[0]; }
  bool has(std::string_view part) const { return std::find(opcode.begin() + 1, opcode.end(), part) != opcode.end(); }
  bool begins(const words& parts) const {
    return opcode.size() >= parts.size() && std::equal(parts.begin(), parts.end(), opcode.begin());
  }
  // Returns the last part that is a type.
  std::string type() const {
    for (auto part = opcode.rbegin(); part != opcode.rend(); ++part)
      if (const std::string t = type_of_ptx(*part); !t.empty()) return t;
    return "";
  }
};

// The space of an address: any, the block's own shared memory, or that of its cluster.
enum address_space { k_generic, k_own, k_cluster };

class ptx_translator {
 public:
  explicit ptx_translator(const ptx_statement& s) : s_(s) {}
  // For a function of a module, each of whose names stands for a C++ expression.
  ptx_translator(const ptx_module& module, const std::map<std::string, std::string>& names, bool is_kernel)
      : s_(k_no_operands), module_(&module), is_kernel_(is_kernel), scopes_{{names, {}}} {}

  std::string run();
  // Returns the C++ of a function's body.
  std::string function_body(const std::vector<ptx_item>& items);

 private:
  static const ptx_statement k_no_operands;

  // A pair of braces: its registers and variables as C++ expressions, and its labels.
  struct scope {
    std::map<std::string, std::string> names, labels;
  };

  void body(const std::vector<ptx_item>& items);
  // Returns the number of items, from its label on, of a loop that only waits for a phase of an mbarrier, or 0.
  static size_t waiting_loop(std::span<const ptx_item> items);
  // True of a register that the statement names only to declare it and to write it once.
  bool is_unread(const std::string& name) const;
  void open_scope(std::span<const ptx_item> rest);
  void item(const ptx_item& one);

  // Returns a C++ name that is unique in the statement or function.
  std::string unique(const std::string& prefix, std::string name);
  // Returns what a name denotes in the innermost scope that has it, or nullptr.
  const std::string* find(std::map<std::string, std::string> scope::*kind, const std::string& name) const;
  // Returns the C++ label of a PTX label, or nullptr.
  const std::string* label(const std::string& name) const;

  // ---- operands, as C++ expressions

  // Returns one value, or "" if the operand is not understood.
  std::string value(const std::string& text) const;

  static std::string special(const std::string& name);

  std::string as(const std::string& type, const std::string& operand);

  // Stores an expression in an operand; "_" drops it.
  std::string store(const std::string& operand, const std::string& expression);

  // "[a + 16]" as an address and an offset.
  std::string place(const std::string& operand);
  // "[map, {x, y}]" as a map and a place; `offsets` are those of im2col.
  std::string box(const std::string& operand, size_t dimensions, bool is_im2col, const std::string& offsets);
  // The same as a pointer; shared memory's addresses have 32 bits.
  std::string address(const std::string& operand, address_space space);
  static address_space space_of(const instruction& i);
  words vector(const std::string& operand);
  // Elements of an array of `type`, from vector operands.
  std::string array(const char* type, const std::string& operand);

  // ---- statements

  void statement(const std::string& text);
  // Returns the C++ of one instruction, or "" if it is not modelled.
  std::string instruction_code(instruction& i, const std::string& text);

  // "mbarrier.try_wait.shared::cta.b64"; "::" belongs to a part, as do braces.
  static words parts_of(const std::string& opcode) { return split_ptx(opcode, '.'); }

  bool declare(const std::string& text);
  bool declare_variable(const std::string& text);
  // Puts the accumulators of wgmma side by side in one array, because their places distinguish them.
  void declare_accumulators(const std::vector<ptx_item>& items);
  void declare_register(const std::string& type, const std::string& name);
  std::string call(const instruction& i);
  std::string indexed_branch(const instruction& i);

  // Each function returns C++ for instructions of its kind, and an empty text for others.
  std::string control(const instruction& i);
  std::string barriers(const instruction& i);
  std::string mbarrier(const instruction& i);
  std::string copies(const instruction& i);
  std::string tensor_copies(const instruction& i);
  std::string tensor_map_fields(const instruction& i);
  std::string bulk_reductions(const instruction& i);
  std::string tensor(const instruction& i);
  std::string mma(const instruction& i);
  std::string double_mma(const instruction& i);
  std::string integer_mma(const instruction& i);
  std::string sparse_mma(const instruction& i);
  std::string wgmma(const instruction& i);
  std::string wmma_copy(const instruction& i);
  std::string wmma_product(const instruction& i);
  std::string store_fragment(const words& to, const char* word);
  std::string memory(const instruction& i);
  std::string ordered_access(const instruction& i, const std::string& values, const std::string& place);
  std::string atomic(const instruction& i, const std::string& type);
  std::string sums_in_memory(const instruction& i, const std::string& type);
  std::string warp(const instruction& i);
  std::string arithmetic(const instruction& i);
  std::string comparison(const instruction& i, const std::string& t);
  std::string carried(const instruction& i, const std::string& t);
  std::string products(const instruction& i, const std::string& t);
  std::string bits(const instruction& i, const std::string& t);
  std::string rounded(const instruction& i, const std::string& t);
  std::string repack(const instruction& i, const std::string& t);
  std::string convert_fp8(const instruction& i);
  std::string convert(const instruction& i);
  std::string translate(const instruction& i);

  const ptx_statement& s_;
  const ptx_module* module_ = nullptr;  // nullptr: inline PTX
  bool is_kernel_ = false;
  std::vector<scope> scopes_;
  std::map<std::string, int> uses_;                  // how often unique() was called with a name
  std::map<std::string, std::string> accumulators_;  // registers that lie in arrays
  std::map<std::string, words> targets_;             // lists of labels by their label
  std::string registers_, code_;
  bool ok_ = true;
  bool only_waits_ = false;    // the instruction is a loop that waits
  bool carry_is_set_ = false;  // by an instruction of this statement
};

}  // namespace warpcheck::cli

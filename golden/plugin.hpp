// An operator outside the repository: what its library hands to `warpcheck --plugin libNAME.so`. The library uses the
// engine and the reference that the command holds (the CMake target warpcheck::plugin), so it must be compiled against
// the headers of the same warpcheck. docs/adding_an_operator.md walks through one; warpcheck_add_operator builds one.
//
//   WARPCHECK_PLUGIN() { return {description, properties, coverage_exemptions, {op, known_answers, disagreements}}; }
#pragma once

#include <cstdint>
#include <vector>

#include "abi/contract.hpp"
#include "golden/check.hpp"
#include "properties/engine/cases/classes.hpp"
#include "properties/engine/cases/description.hpp"
#include "properties/engine/trials/property.hpp"

namespace warpcheck {

struct operator_plugin {
  engine::description described;
  std::vector<engine::property> properties;                     // of this operator
  std::vector<engine::coverage_exemption> coverage_exemptions;  // of this operator
  golden::operator_golden golden;
};

// To be raised with every change of what plug-ins are compiled against.
inline constexpr uint32_t k_plugin_abi = 5;

// Tells headers apart that differ although nobody raised the number.
constexpr uint32_t plugin_layout() {
  uint32_t layout = 0;
  for (const size_t size :
       {sizeof(operator_plugin), sizeof(engine::description), sizeof(engine::call_form), sizeof(engine::bench_row),
        sizeof(engine::property), sizeof(engine::target), sizeof(engine::trial), sizeof(engine::trial_case),
        sizeof(engine::tensor_spec), sizeof(engine::run_result), sizeof(engine::draw), sizeof(reference::judgement),
        sizeof(golden::golden_file), sizeof(contract), sizeof(form_rule), sizeof(tensor_rule), sizeof(scalar_rule)})
    layout = layout * 31 + static_cast<uint32_t>(size);
  return layout;
}

// The result of the library's only exported symbol. If the ABI differs, only the first two fields are read.
struct plugin_table {
  uint32_t abi;        // k_plugin_abi
  uint32_t layout;     // plugin_layout()
  const char* source;  // folder of the project: NAME.mutants, golden/ and the kernel's files lie below it
  const char* kernel;  // the kernel's file below that folder
  operator_plugin (*make)();
};
using plugin_get_fn = const plugin_table* (*)();

}  // namespace warpcheck

// Opens the definition of the function that returns the operator_plugin. WARPCHECK_PLUGIN_SOURCE and _KERNEL come from
// warpcheck_add_operator.
#define WARPCHECK_PLUGIN()                                                                                  \
  static warpcheck::operator_plugin warpcheck_make_plugin();                                                \
  extern "C" __attribute__((visibility("default"))) const warpcheck::plugin_table* warpcheck_plugin_get() { \
    static const warpcheck::plugin_table table = {warpcheck::k_plugin_abi, warpcheck::plugin_layout(),      \
                                                  WARPCHECK_PLUGIN_SOURCE, WARPCHECK_PLUGIN_KERNEL,         \
                                                  &warpcheck_make_plugin};                                  \
    return &table;                                                                                          \
  }                                                                                                         \
  static warpcheck::operator_plugin warpcheck_make_plugin()

// Exchanged between the library of an entry (entry.hpp) and the command that loads it. The layouts are those of C,
// because two different compilers may have compiled the two.
#pragma once

#include "abi/candidate.h"

// A parameter of an entry. Its name determines its argument, its type the range of values.
struct warpcheck_entry_parameter {
  const char* name;
  uint32_t types;       // of a pointer: possible element types, as warpcheck_dtype_bit
  int64_t least, most;  // range of an integer or an enumeration
};

union warpcheck_entry_value {
  void* pointer;
  int64_t integer;
  double number;
};

struct warpcheck_entry {
  const char* op;
  const char* name;
  const char* build;  // for reports
  warpcheck_device device;
  const warpcheck_device_api* device_api;  // NULL on the GPU: the suite brings its own
  const warpcheck_entry_parameter* parameters;
  int32_t num_parameters;
  warpcheck_status (*run)(warpcheck_call* call);
};

// The command's half. It is found by name, because only the command that made the library loads it.
#pragma GCC visibility push(default)
extern "C" {
// Returns the table of a library with this entry alone, which must outlive the table; NULL if the operator has no
// description.
using warpcheck_entry_table_fn = const warpcheck_candidate*(const warpcheck_entry* entry);
warpcheck_entry_table_fn warpcheck_entry_table;

// Refuses a call that breaks the operator's contract or that the entry's parameters cannot express. For any other call
// `values` receives the arguments of the entry; `is_called` is 0 if there is nothing to write.
using warpcheck_entry_values_fn = warpcheck_status(const warpcheck_entry* entry, warpcheck_call* call,
                                                   warpcheck_entry_value* values, int32_t* is_called);
warpcheck_entry_values_fn warpcheck_entry_values;
}
#pragma GCC visibility pop

# The list of operators, in the order of reports. A new operator is one line here, plus the files that
# docs/adding_an_operator.md names; a missing or unlisted file of its slice is a configuration error.
set(WARPCHECK_OPERATORS
  softmax
  log_softmax
  logsumexp
  argmax
  sigmoid
  reduce
  scan
  argsort
  histogram
  best_split
  matmul
  gru)

# Those whose kernels state batch-invariant: a row has the same bits in any batch. The sums of softmax, log_softmax,
# logsumexp and reduce follow the alignment of a row, so the row's place shows; matmul states it of calls with
# rows_alone.
set(WARPCHECK_BATCH_INVARIANT scan sigmoid matmul gru)

# warpcheck_with_compared(VARIABLE OPERATOR...): these, and those whose results their properties compare with.
function(warpcheck_with_compared variable)
  set(ops ${ARGN})
  foreach(op IN LISTS ARGN)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/properties/${op}/*.cpp)
    foreach(source IN LISTS sources)
      file(STRINGS ${source} lines REGEX "run_other\\(t, \"")
      list(TRANSFORM lines REPLACE ".*run_other\\(t, \"([a-z_]+)\".*" "\\1")
      list(APPEND ops ${lines})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES ops)
  set(${variable} ${ops} PARENT_SCOPE)
endfunction()

# A build for whoever works on some of them: ci/check, and ci/verify with operators named.
set(WARPCHECK_ONLY "" CACHE STRING
  "Build these operators, and those that they are compared with, without tests and benchmarks (a list; empty: all)")
set(WARPCHECK_LEFT_OUT "")
if(WARPCHECK_ONLY)
  foreach(op IN LISTS WARPCHECK_ONLY)
    if(NOT op IN_LIST WARPCHECK_OPERATORS)
      list(JOIN WARPCHECK_OPERATORS ", " names)
      message(FATAL_ERROR "WARPCHECK_ONLY: '${op}' is not one of ${names}")
    endif()
  endforeach()
  if(WARPCHECK_TESTS OR WARPCHECK_BENCH OR WARPCHECK_EXAMPLES)
    message(FATAL_ERROR "WARPCHECK_ONLY: tests, benchmarks and examples are of all operators; "
      "set WARPCHECK_TESTS, WARPCHECK_BENCH and WARPCHECK_EXAMPLES to OFF")
  endif()
  warpcheck_with_compared(built ${WARPCHECK_ONLY})
  set(WARPCHECK_LEFT_OUT ${WARPCHECK_OPERATORS})
  list(REMOVE_ITEM WARPCHECK_LEFT_OUT ${built})
  list(REMOVE_ITEM WARPCHECK_OPERATORS ${WARPCHECK_LEFT_OUT})  # keeps their order
endif()

foreach(op IN LISTS WARPCHECK_OPERATORS)
  foreach(file kernels/${op}/${op}.hpp kernels/${op}/${op}.cu reference/${op}/${op}.hpp
    properties/${op}/${op}_properties.cpp golden/${op}/${op}_golden.cpp)
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${file})
      message(FATAL_ERROR "operator ${op}: ${file} is missing")
    endif()
  endforeach()
endforeach()

# The sanitized kernels take minutes to compile. A build for one part of the heavy tests, as ci/test makes it, has those
# of the operators whose tests are in this part, and of those that they are compared with.
set(WARPCHECK_PART "" CACHE STRING "The part of the heavy tests that will run: 0 to f (empty: all)")
set(WARPCHECK_SANITIZED "")
foreach(op IN LISTS WARPCHECK_OPERATORS)
  _warpcheck_next_part(part)
  set(warpcheck_part_of_${op} ${part})
  warpcheck_only_in_part(${part} excluded)
  if(NOT excluded)
    list(APPEND WARPCHECK_SANITIZED ${op})
  endif()
endforeach()
if(NOT WARPCHECK_SANITIZED)
  set(WARPCHECK_SANITIZED sigmoid)  # a part without an operator: the library is never empty
endif()
warpcheck_with_compared(WARPCHECK_SANITIZED ${WARPCHECK_SANITIZED})

# The list of operators, in the order of reports. A new operator is one line here, plus the files that
# docs/adding_an_operator.md names; a missing or stray file of its slice is a configuration error.
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
  best_split)

# Kernels with a C++ API alone: no candidate's table offers them yet. Their tests are in properties/self.
set(WARPCHECK_API_KERNELS
  gru
  matmul)

foreach(op IN LISTS WARPCHECK_OPERATORS)
  foreach(file kernels/${op}.hpp kernels/${op}.cu reference/${op}.hpp properties/${op}_properties.cpp
               golden/${op}_golden.cpp bench/${op}_bench.cpp)
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${file})
      message(FATAL_ERROR "operator ${op}: ${file} is missing")
    endif()
  endforeach()
endforeach()

# Libraries of kernels that the command loads, and plug-ins: operators outside the repository. find_package(warpcheck)
# brings this file, too.
include_guard(GLOBAL)

# Lets plug-ins use a library's functions in the command, which exports them; inside they are bound as ever.
function(warpcheck_export_to_plugins target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default)
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
endfunction()

# warpcheck_candidate_module(name DEVICE emulated|cuda FLAVOUR text LIBRARY static-library OPERATORS op...)
#
# The shared library lib<name>.so with the table (abi/candidate.h) of operators that the static library defines
# by WARPCHECK_OPERATOR. Made from the file WARPCHECK_CANDIDATE_MODULE.
function(warpcheck_candidate_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DEVICE;FLAVOUR;LIBRARY" "OPERATORS")
  set(device ${arg_DEVICE})
  set(flavour ${arg_FLAVOUR})
  set(declarations "")
  set(entries "")
  set(batch_invariant "")
  foreach(op IN LISTS arg_OPERATORS)
    string(APPEND declarations "const warpcheck_operator* warpcheck_operator_${op}_${device}(void);\n")
    string(APPEND entries "warpcheck_operator_${op}_${device}(), ")
    if(op IN_LIST WARPCHECK_BATCH_INVARIANT)
      string(APPEND batch_invariant "\"${op}\", ")
    endif()
  endforeach()
  configure_file(${WARPCHECK_CANDIDATE_MODULE} ${name}_module.cpp @ONLY)
  add_library(${name} SHARED ${CMAKE_CURRENT_BINARY_DIR}/${name}_module.cpp)
  target_compile_features(${name} PRIVATE cxx_std_17)
  target_link_libraries(${name} PRIVATE $<TARGET_NAME_IF_EXISTS:warpcheck_options> dlpack::dlpack ${arg_LIBRARY})
  # Nothing of one candidate may bind to another's symbols: each carries its own executor.
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -static-libstdc++ -static-libgcc)
  # A symbol that nobody defines fails here, not where the library is loaded; ASan's are defined by the program.
  if(NOT flavour STREQUAL asan)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# warpcheck_add_operator(name KERNEL name.cu SOURCES file.cpp...)
#
# A plug-in for `warpcheck --plugin lib<name>.so`: SOURCES describe and judge the operator (golden/plugin.hpp), KERNEL
# exports its table by WARPCHECK_OPERATOR(name). Beside it are made lib<name>_emulated.so, lib<name>_race.so and, where
# the project has the language CUDA and warpcheck has CUDA kernels, lib<name>_cuda.so. Planted bugs are listed in
# <name>.mutants, golden data lie in golden/.
function(warpcheck_add_operator name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "KERNEL" "SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_KERNEL OR NOT arg_SOURCES)
    message(FATAL_ERROR
      "warpcheck_add_operator(${name}): KERNEL and SOURCES are required, '${arg_UNPARSED_ARGUMENTS}' is unknown")
  endif()
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE warpcheck::plugin)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    WARPCHECK_PLUGIN_SOURCE="${CMAKE_CURRENT_SOURCE_DIR}" WARPCHECK_PLUGIN_KERNEL="${arg_KERNEL}")
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${name} PRIVATE $<$<CONFIG:>:-O2>)  # references and properties are what takes the time
  set(of_plain emulated)
  set(of_race race)
  foreach(flavour IN ITEMS plain race)
    if(TARGET warpcheck::warpcheck_device_${flavour})
      set(kernels ${name}_kernels_${flavour})
      simt_kernel_library(${kernels} FLAVOUR ${flavour} SOURCES ${arg_KERNEL})
      target_include_directories(${kernels} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
      target_link_libraries(${kernels} PUBLIC warpcheck::warpcheck_device_${flavour})
      warpcheck_candidate_module(${name}_${of_${flavour}}
        DEVICE emulated FLAVOUR ${flavour} LIBRARY ${kernels} OPERATORS ${name})
      add_dependencies(${name} ${name}_${of_${flavour}})
    endif()
  endforeach()
  if(CMAKE_CUDA_COMPILER AND TARGET warpcheck::kernels_cuda)
    add_library(${name}_kernels_cuda STATIC ${arg_KERNEL})
    set_target_properties(${name}_kernels_cuda PROPERTIES
      CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden)
    target_include_directories(${name}_kernels_cuda PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${name}_kernels_cuda PUBLIC warpcheck::kernels_cuda)
    warpcheck_candidate_module(${name}_cuda
      DEVICE cuda FLAVOUR cuda LIBRARY ${name}_kernels_cuda OPERATORS ${name})
    add_dependencies(${name} ${name}_cuda)
  endif()
endfunction()

# Records how this build compiles kernels, for the emulated device and with nvcc, so that `warpcheck` can do the same at
# run time (toolchain.hpp reads the file). Options and include folders are those of the built-in kernels' own targets.
function(warpcheck_json_array variable list)
  set(${variable} "[\"$<JOIN:${list},\",\">\"]" PARENT_SCOPE)
endfunction()

set(flavours)
foreach(flavour IN ITEMS plain race)
  if(NOT TARGET warpcheck_kernels_${flavour})
    continue()
  endif()
  set(kernels warpcheck_kernels_${flavour})
  warpcheck_json_array(options "$<TARGET_PROPERTY:${kernels},COMPILE_OPTIONS>")
  warpcheck_json_array(definitions "$<TARGET_PROPERTY:${kernels},COMPILE_DEFINITIONS>")
  warpcheck_json_array(includes "$<TARGET_PROPERTY:${kernels},INCLUDE_DIRECTORIES>")
  # In the order of a static link. The archive of the kernels serves the device interface; an operator that the caller
  # brings is found before the archive's own.
  set(libraries "$<TARGET_FILE:${kernels}>" "$<TARGET_FILE:warpcheck_simt_${flavour}>"
    "$<TARGET_FILE:warpcheck_simt_emulation>")
  if(SIMT_PORTABLE_SWITCH)
    list(APPEND libraries "${SIMT_BOOST_CONTEXT}")
  endif()
  warpcheck_json_array(libraries "${libraries}")
  list(APPEND flavours "    \"${flavour}\": {\n      \"options\": ${options},\n      \"definitions\": ${definitions},\n      \"includes\": ${includes},\n      \"libraries\": ${libraries}\n    }")
endforeach()
list(JOIN flavours ",\n" flavours)

# A source that is brought for device cuda.
set(cuda_includes "[]")
if(TARGET warpcheck_kernels_cuda)
  warpcheck_json_array(cuda_includes "$<TARGET_PROPERTY:warpcheck_kernels_cuda,INCLUDE_DIRECTORIES>")
endif()

# Ninja knows what depends on a file that a mutant changes.
set(ninja)
if(CMAKE_GENERATOR STREQUAL "Ninja")
  set(ninja ${CMAKE_MAKE_PROGRAM})
endif()

file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/warpcheck_toolchain.json CONTENT
"{
  \"compiler\": \"${CMAKE_CXX_COMPILER}\",
  \"launcher\": \"${CMAKE_CXX_COMPILER_LAUNCHER}\",
  \"objcopy\": \"${CMAKE_OBJCOPY}\",
  \"ninja\": \"${ninja}\",
  \"ctest\": \"${CMAKE_CTEST_COMMAND}\",
  \"root\": \"${PROJECT_SOURCE_DIR}\",
  \"version\": \"${PROJECT_VERSION}\",
  \"cuda\": {
    \"compiler\": \"${CMAKE_CUDA_COMPILER}\",
    \"includes\": ${cuda_includes}
  },
  \"flavours\": {
${flavours}
  }
}
")

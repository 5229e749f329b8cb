# Records how this build compiles kernels, for the emulated device and with nvcc, so that `warpcheck` can do the same at
# run time (toolchain.hpp reads the file). Options and include folders are those of the built-in kernels' own targets.
function(warpcheck_json_array variable list)
  set(${variable} "[\"$<JOIN:${list},\",\">\"]" PARENT_SCOPE)
endfunction()

include(GNUInstallDirs)
set(flavours)
set(installed_flavours)
foreach(flavour IN ITEMS plain race)
  if(NOT TARGET warpcheck_kernels_${flavour})
    continue()
  endif()
  set(kernels warpcheck_kernels_${flavour})
  warpcheck_json_array(options "$<TARGET_PROPERTY:${kernels},COMPILE_OPTIONS>")
  warpcheck_json_array(definitions "$<TARGET_PROPERTY:${kernels},COMPILE_DEFINITIONS>")
  warpcheck_json_array(includes "$<TARGET_PROPERTY:${kernels},INCLUDE_DIRECTORIES>")
  # In the order of a static link.
  set(libraries)
  set(installed)
  foreach(library IN ITEMS warpcheck_device_${flavour} warpcheck_simt_${flavour} warpcheck_simt_emulation)
    list(APPEND libraries "$<TARGET_FILE:${library}>")
    list(APPEND installed "../../${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${library}>")
  endforeach()
  if(SIMT_PORTABLE_SWITCH)
    list(APPEND libraries "${SIMT_BOOST_CONTEXT}")
    list(APPEND installed "${SIMT_BOOST_CONTEXT}")
  endif()
  warpcheck_json_array(libraries "${libraries}")
  warpcheck_json_array(installed "${installed}")
  warpcheck_json_array(installed_options
    "$<FILTER:$<TARGET_PROPERTY:${kernels},COMPILE_OPTIONS>,EXCLUDE,^-ffile-prefix-map>")
  string(CONCAT folders "../../${CMAKE_INSTALL_INCLUDEDIR};"
    "$<FILTER:$<TARGET_PROPERTY:${kernels},INCLUDE_DIRECTORIES>,EXCLUDE,^${PROJECT_SOURCE_DIR}>")
  warpcheck_json_array(installed_includes "${folders}")
  string(CONCAT flavour_of_install
    "    \"${flavour}\": {\n      \"options\": ${installed_options},\n      \"definitions\": ${definitions},\n"
    "      \"includes\": ${installed_includes},\n      \"libraries\": ${installed}\n    }")
  list(APPEND installed_flavours "${flavour_of_install}")
  string(CONCAT flavour_of_build
    "    \"${flavour}\": {\n      \"options\": ${options},\n      \"definitions\": ${definitions},\n"
    "      \"includes\": ${includes},\n      \"libraries\": ${libraries}\n    }")
  list(APPEND flavours "${flavour_of_build}")
endforeach()
list(JOIN flavours ",\n" flavours)
list(JOIN installed_flavours ",\n" installed_flavours)

warpcheck_json_array(batch_invariant "${WARPCHECK_BATCH_INVARIANT}")

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
  \"names\": \"${SIMT_IMPORT_NAMES}\",
  \"version\": \"${PROJECT_VERSION}\",
  \"batch_invariant\": ${batch_invariant},
  \"cuda\": {
    \"compiler\": \"${CMAKE_CUDA_COMPILER}\",
    \"includes\": ${cuda_includes}
  },
  \"flavours\": {
${flavours}
  }
}
")

# The same for an installation and a bundle: paths are relative to the file's folder, lib/warpcheck.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/installed/warpcheck_toolchain.json CONTENT
"{
  \"compiler\": \"${CMAKE_CXX_COMPILER}\",
  \"launcher\": \"\",
  \"objcopy\": \"${CMAKE_OBJCOPY}\",
  \"ninja\": \"\",
  \"ctest\": \"\",
  \"root\": \"../../${CMAKE_INSTALL_INCLUDEDIR}\",
  \"names\": \"../../${CMAKE_INSTALL_INCLUDEDIR}\",
  \"version\": \"${PROJECT_VERSION}\",
  \"batch_invariant\": ${batch_invariant},
  \"cuda\": {
    \"compiler\": \"${CMAKE_CUDA_COMPILER}\",
    \"includes\": [\"../../${CMAKE_INSTALL_INCLUDEDIR}\"]
  },
  \"flavours\": {
${installed_flavours}
  }
}
")

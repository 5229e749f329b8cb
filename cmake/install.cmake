# Installation and the CMake package: find_package(warpcheck) gives warpcheck::kernels_emulated, warpcheck::kernels_cuda
# (where it was built), warpcheck::reference, warpcheck::engine, warpcheck::plugin and the functions
# simt_kernel_library, warpcheck_add_kernel_tests and warpcheck_add_operator. A build of the command alone (ci/verify,
# ci/check) installs the command and what that needs; find_package then says what is missing.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warpcheck)
set(libraries warpcheck_reference warpcheck_fmt warpcheck_engine warpcheck_plugin)
# What the command compiles sources with at run time, its own component: a bundle has it, too.
set(toolchain warpcheck_simt_emulation)
foreach(flavour IN LISTS WARPCHECK_FLAVOURS)
  if(flavour STREQUAL asan)
    list(APPEND libraries warpcheck_simt_asan)
  else()
    list(APPEND toolchain warpcheck_simt_${flavour} warpcheck_device_${flavour})
  endif()
endforeach()
if("plain" IN_LIST WARPCHECK_FLAVOURS)
  list(APPEND libraries warpcheck_kernels_plain)
endif()
if(WARPCHECK_CUDA)
  list(APPEND libraries warpcheck_kernels_cuda)
endif()
install(TARGETS ${libraries} EXPORT warpcheckTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
set(package_archives)
foreach(library IN LISTS libraries toolchain)
  get_target_property(kind ${library} TYPE)
  if(kind STREQUAL STATIC_LIBRARY)
    list(APPEND package_archives lib${library}.a)
  endif()
endforeach()
install(TARGETS ${toolchain} EXPORT warpcheckTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT toolchain)
install(FILES ${PROJECT_BINARY_DIR}/installed/warpcheck_toolchain.json DESTINATION lib/warpcheck COMPONENT toolchain)
# The library of formulas.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/formulas DESTINATION lib/warpcheck COMPONENT toolchain)
# The report's program; it runs with the user's Python.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/command/report/reporting DESTINATION lib/warpcheck COMPONENT toolchain
  FILES_MATCHING PATTERN "*.py" PATTERN "templates/*")
install(EXPORT warpcheckTargets NAMESPACE warpcheck:: DESTINATION ${package_dir})

# Public headers keep their place in the tree: #include "kernels/softmax/softmax.hpp".
# Those that stand in for libcu++'s have no suffix, CUB's have .cuh.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/abi ${PROJECT_SOURCE_DIR}/kernels ${PROJECT_SOURCE_DIR}/simt
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT toolchain
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh" PATTERN "annotated_ptr" PATTERN "atomic"
  PATTERN "barrier" PATTERN "latch" PATTERN "pipeline" PATTERN "ptx" PATTERN "semaphore"
  PATTERN "candidate_module.cpp.in")
install(DIRECTORY ${SIMT_IMPORT_NAMES}/simt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT toolchain)
# A bundle has this one beside them; a package depends on libdlpack-dev.
find_path(WARPCHECK_DLPACK_FOLDER dlpack/dlpack.h REQUIRED)
install(FILES ${WARPCHECK_DLPACK_FOLDER}/dlpack/dlpack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlpack
  COMPONENT bundle EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/reference DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
foreach(header answers check decimal format plugin)
  install(FILES ${PROJECT_SOURCE_DIR}/golden/${header}.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/golden)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/properties/engine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/properties
  FILES_MATCHING PATTERN "*.hpp")

# The command and the candidate libraries it loads (it looks in ../lib/warpcheck).
install(TARGETS warpcheck_command_plain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
find_program(WARPCHECK_HELP2MAN help2man)
mark_as_advanced(WARPCHECK_HELP2MAN)
install(CODE "
  set(WARPCHECK \"$<TARGET_FILE:warpcheck_command_plain>\")
  set(HELP2MAN \"$<$<BOOL:${WARPCHECK_HELP2MAN}>:${WARPCHECK_HELP2MAN}>\")
  set(VERSION \"${PROJECT_VERSION}\")
  set(MADE \"${PROJECT_BINARY_DIR}/installed/pages\")
  set(MANUAL \"${CMAKE_INSTALL_MANDIR}\")
  set(SHARE \"${CMAKE_INSTALL_DATAROOTDIR}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/command_pages.cmake\")
" COMPONENT command)
foreach(module warpcheck_emulated warpcheck_race warpcheck_cuda warpcheck_python warpcheck_bench)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION lib/warpcheck COMPONENT command OPTIONAL)
  endif()
endforeach()

list(JOIN package_archives " " package_archives)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/warpcheckConfig.cmake.in warpcheckConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(warpcheckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/warpcheckConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/warpcheckConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/simt_flavours.cmake ${CMAKE_CURRENT_LIST_DIR}/warpcheck_add_kernel_tests.cmake
  ${CMAKE_CURRENT_LIST_DIR}/warpcheck_operator.cmake DESTINATION ${package_dir})

# cpack -G DEB: the command, and what it needs to compile a source.
set(CPACK_COMPONENTS_ALL command toolchain)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the maintainers of warpcheck")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, g++, binutils, libdlpack-dev")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-jinja2, python3-matplotlib, libbenchmark1debian")
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)

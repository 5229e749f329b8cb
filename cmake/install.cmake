# Installation and the CMake package: find_package(warpcheck) gives warpcheck::kernels_emulated, warpcheck::kernels_cuda
# (where it was built), warpcheck::reference, warpcheck::engine and the function simt_kernel_library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warpcheck)
set(libraries warpcheck_reference warpcheck_engine warpcheck_simt_emulation)
foreach(flavour IN LISTS WARPCHECK_FLAVOURS)
  list(APPEND libraries warpcheck_simt_${flavour})
endforeach()
if("plain" IN_LIST WARPCHECK_FLAVOURS)
  list(APPEND libraries warpcheck_kernels_plain)
endif()
if(WARPCHECK_CUDA)
  list(APPEND libraries warpcheck_kernels_cuda)
endif()
install(TARGETS ${libraries} EXPORT warpcheckTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT warpcheckTargets NAMESPACE warpcheck:: DESTINATION ${package_dir})

# Public headers keep their place in the tree: #include "kernels/softmax.hpp".
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels ${PROJECT_SOURCE_DIR}/reference DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/properties/engine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/properties
  FILES_MATCHING PATTERN "*.hpp")

# The command and the candidate libraries it loads (it looks in ../lib/warpcheck).
install(TARGETS warpcheck_command_plain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(module warpcheck_emulated warpcheck_race warpcheck_cuda)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION lib/warpcheck)
  endif()
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/warpcheckConfig.cmake.in warpcheckConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(warpcheckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/warpcheckConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/warpcheckConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/simt_flavours.cmake DESTINATION ${package_dir})

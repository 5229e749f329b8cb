# Flavours of the emulated device: plain; asan (AddressSanitizer, UBSan); race (happens-before, bounds, initialisation).
include_guard(GLOBAL)

# fmaf as one instruction in place of a call of libm: the same bits, sooner. On x86-64 it takes FMA3 (2013 and later),
# which the command checks for before it loads kernels; elsewhere it needs no option. Flavour portable does without.
option(SIMT_FMA "Compile emulated kernels with -mfma where the compiler has it" ON)
include(CheckCXXCompilerFlag)
if(SIMT_FMA AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  check_cxx_compiler_flag(-mfma SIMT_HAS_MFMA)
endif()

# What every target of the emulated device shares. Hidden and position-independent: a flavour may live in a shared
# module beside other flavours. -Wno-psabi: kernels take tensor maps, aligned to 64 bytes, by value.
function(simt_common_options target)
  get_filename_component(root "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  target_compile_features(${target} PUBLIC cxx_std_17)
  if(EXISTS ${root}/simt)  # not where this file is part of the installed package
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${root}> $<INSTALL_INTERFACE:include>)
  endif()
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    CXX_STANDARD 17 CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Werror -Wno-psabi -ffp-contract=off
    -ffile-prefix-map=${CMAKE_BINARY_DIR}=. -ffile-prefix-map=${root}/=)
endfunction()

# The flavour's definitions for an executor or kernel target, and what its users link. Flavour `portable` is plain with
# the portable context switch, whatever SIMT_PORTABLE_SWITCH says.
function(simt_flavour_options target flavour)
  if(NOT flavour MATCHES "^(plain|asan|race|portable)$")
    message(FATAL_ERROR "flavour is '${flavour}', allowed are plain, asan, race and portable")
  endif()
  string(TOUPPER ${flavour} upper)
  if(flavour STREQUAL portable)
    set(upper PLAIN)
  endif()
  target_compile_definitions(${target} PRIVATE SIMT_FLAVOUR_${upper})
  if(SIMT_PORTABLE_SWITCH OR flavour STREQUAL portable)
    find_library(SIMT_BOOST_CONTEXT boost_context REQUIRED)
    target_compile_definitions(${target} PRIVATE SIMT_PORTABLE_SWITCH)
    target_link_libraries(${target} PUBLIC ${SIMT_BOOST_CONTEXT})
  endif()
  if(flavour STREQUAL asan)
    target_link_options(${target} INTERFACE -fsanitize=address,undefined)
  endif()
endfunction()

# The instrumentation calls __tsan_*, which the race flavour provides itself; libtsan is not linked. objcopy gives calls
# of memcpy and its like to the detector, and has the certificate count allocations. clang copies structs by memcpy,
# too, so there a copy may contain padding. A guard of a static variable would be one more call of the instrumentation,
# and the emulated device has one thread. Without elision, g++ instruments also the copy of a struct that is an argument
# or a result. (OPTIONS -felide-constructors is for a class whose copies would share what its destructor frees.)
function(simt_race_options target)
  target_compile_options(${target} PRIVATE
    -fsanitize=thread -fno-threadsafe-statics -fno-builtin-memcpy -fno-builtin-memset -fno-builtin-memmove)
  set(memcpy simt_kernel_memcpy)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(memcpy __tsan_memcpy)
    target_compile_options(${target} PRIVATE
      "SHELL:-mllvm -tsan-instrument-func-entry-exit=0" "SHELL:-mllvm -tsan-distinguish-volatile=1")
  else()
    target_compile_options(${target} PRIVATE
      -fno-partial-inlining -fno-elide-constructors "SHELL:--param tsan-instrument-func-entry-exit=0"
      "SHELL:--param tsan-distinguish-volatile=1")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym memcpy=${memcpy} --redefine-sym memset=__tsan_memset
            --redefine-sym memmove=__tsan_memmove --redefine-sym malloc=simt_kernel_malloc
            --redefine-sym _Znwm=simt_kernel_new --redefine-sym _Znam=simt_kernel_new_array $<TARGET_FILE:${target}>)
endfunction()

# simt_kernel_library(<target> FLAVOUR plain|asan|race|portable SOURCES file... [OPTIONS option...])
#
# A static library of kernel sources compiled for the emulated device. A .cu file is compiled as C++, through a
# generated file that includes it, so that another target of the same folder may give the same file to nvcc. OPTIONS
# follow the flavour's own. find_package(warpcheck) brings this function, too.
function(simt_kernel_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FLAVOUR" "SOURCES;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "simt_kernel_library: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "simt_kernel_library: SOURCES is empty, at least one file is needed")
  endif()
  set(sources)
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE)
    if(path MATCHES "\\.cu$")
      get_filename_component(name "${source}" NAME)
      set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/${target}.sources/${name}.cpp")
      file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${path}\"\n" @ONLY)
      list(APPEND sources "${wrapper}")
    else()
      list(APPEND sources "${path}")
    endif()
  endforeach()
  add_library(${target} STATIC ${sources})
  simt_common_options(${target})
  simt_flavour_options(${target} ${arg_FLAVOUR})
  # Kernels reinterpret memory as vectors, as nvcc allows. A tail call would hide the line of the call from the reports.
  # binutils 2.40 may take the wrong file from DWARF 5 line tables. Reports need lines alone, and -gdwarf-4 means all of
  # -g, which costs a fifth of the compilation. Clang warns of loops that it does not unroll, as `#pragma unroll` asks
  # for the GPU's sake.
  target_compile_options(${target} PRIVATE
    -O2 -gdwarf-4 $<$<NOT:$<CONFIG:Debug>>:-g1> -fno-strict-aliasing -fno-optimize-sibling-calls
    -Wno-unknown-pragmas $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed>)
  if(SIMT_FMA AND SIMT_HAS_MFMA AND NOT arg_FLAVOUR STREQUAL portable)
    target_compile_options(${target} PRIVATE -mfma)
  endif()
  if(arg_FLAVOUR STREQUAL asan)
    # ASan's reports become findings of the launch (simt/emulated/asan_options.hpp). UBSan's end the process (its
    # object-size check is ASan's affair). With -O2 and all of -g the checks take four times as long to compile.
    target_compile_options(${target} PRIVATE
      -Og -g1 -fsanitize=address,undefined -fsanitize-recover=address -fno-sanitize-recover=undefined
      -fno-sanitize=object-size -fno-omit-frame-pointer)
  elseif(arg_FLAVOUR STREQUAL race)
    simt_race_options(${target})
  endif()
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  if(TARGET warpcheck_simt_${arg_FLAVOUR})
    target_link_libraries(${target} PUBLIC warpcheck_simt_${arg_FLAVOUR})
  else()
    target_link_libraries(${target} PUBLIC warpcheck::warpcheck_simt_${arg_FLAVOUR})
  endif()
endfunction()

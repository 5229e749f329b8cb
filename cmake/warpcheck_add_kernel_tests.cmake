# In `result`: the options of `warpcheck verify` that name the kernel.
function(_warpcheck_kernel result here source entry candidate)
  if(source AND entry AND NOT candidate)
    cmake_path(ABSOLUTE_PATH source)
    set(${result} --source "${source}" --entry ${entry} PARENT_SCOPE)
  elseif(candidate AND NOT source AND NOT entry)
    if(TARGET ${candidate})
      set(candidate $<TARGET_FILE:${candidate}>)
    endif()
    set(${result} --candidate "${candidate}" PARENT_SCOPE)
  else()
    message(FATAL_ERROR "${here}: either SOURCE and ENTRY or CANDIDATE is required")
  endif()
endfunction()

# In `result`: the properties of the operator, as the command lists them.
function(_warpcheck_properties result here operator folder)
  execute_process(COMMAND "${WARPCHECK_COMMAND}" list ${operator} --json "${folder}/${operator}.list.json"
    OUTPUT_QUIET ERROR_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${here}: '${WARPCHECK_COMMAND} list ${operator}' ended with ${code}: ${said}")
  endif()
  file(READ "${folder}/${operator}.list.json" listed)
  string(JSON last LENGTH "${listed}" operators ${operator} properties)
  math(EXPR last "${last} - 1")
  set(known)
  foreach(i RANGE ${last})
    string(JSON property GET "${listed}" operators ${operator} properties ${i} name)
    list(APPEND known ${property})
  endforeach()
  set(${result} ${known} PARENT_SCOPE)
endfunction()

# The target name_report makes a page of the files that tests have written; what they have not written is not reported.
function(_warpcheck_add_report name folder results)
  set(script "${folder}/${name}_report.cmake")
  file(WRITE "${script}" "set(files)
foreach(file IN ITEMS \"$<JOIN:${results},\" \">\")
  if(EXISTS \"\${file}\")
    list(APPEND files --verify \"\${file}\")
  endif()
endforeach()
execute_process(COMMAND \"${WARPCHECK_COMMAND}\" report --title \"${name}\"
  --out \"${CMAKE_CURRENT_BINARY_DIR}/${name}_report.html\" \${files}
  COMMAND_ERROR_IS_FATAL ANY)
")
  file(GENERATE OUTPUT "${folder}/${name}_report_$<CONFIG>.cmake" INPUT "${script}")
  add_custom_target(${name}_report COMMAND "${CMAKE_COMMAND}" -P "${folder}/${name}_report_$<CONFIG>.cmake" VERBATIM)
endfunction()

# warpcheck_add_kernel_tests(NAME name OPERATOR op (SOURCE file.cu ENTRY function | CANDIDATE library)
#                            [DEVICES emulated cuda] [PROPERTIES property...] [CASES n] [OPTIONS option...]
#                            [LABELS label...])
# Gives a kernel its properties as tests of ctest: name.op.property for each, labelled property, the device, op, name
# and LABELS. Each leaves its result in warpcheck/ of the build folder; the target name_report makes a page of them.
#   SOURCE, ENTRY   a CUDA source and its entry (docs/bring_your_own); it is compiled when the first test runs
#   CANDIDATE       or a shared library with the candidate's interface; a target, or a path
#   DEVICES         emulated unless given; a test on cuda takes a GPU of the resource file and is shown as skipped where
#                   there is none, unless WARPCHECK_REQUIRE_GPU is on
#   PROPERTIES      these only; by default all that the operator has
#   CASES           generated cases for each property and element type, 40 unless given
#   OPTIONS         further options of `warpcheck verify`
function(warpcheck_add_kernel_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;OPERATOR;SOURCE;ENTRY;CANDIDATE;CASES"
    "DEVICES;PROPERTIES;OPTIONS;LABELS")
  set(here "warpcheck_add_kernel_tests(${arg_NAME})")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "${here}: unknown arguments '${arg_UNPARSED_ARGUMENTS}'; known are NAME, OPERATOR, SOURCE, ENTRY, "
      "CANDIDATE, DEVICES, PROPERTIES, CASES, OPTIONS, LABELS")
  endif()
  if(NOT arg_NAME OR NOT arg_OPERATOR)
    message(FATAL_ERROR "${here}: NAME and OPERATOR are required")
  endif()
  _warpcheck_kernel(kernel "${here}" "${arg_SOURCE}" "${arg_ENTRY}" "${arg_CANDIDATE}")
  if(NOT arg_DEVICES)
    set(arg_DEVICES emulated)
  endif()
  if(NOT arg_CASES)
    set(arg_CASES 40)
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/warpcheck")
  file(MAKE_DIRECTORY "${folder}")
  _warpcheck_properties(known "${here}" ${arg_OPERATOR} "${folder}")
  foreach(property IN LISTS arg_PROPERTIES)
    if(NOT property IN_LIST known)
      message(FATAL_ERROR "${here}: '${property}' is not a property of ${arg_OPERATOR}; its properties are ${known}")
    endif()
  endforeach()
  if(NOT arg_PROPERTIES)
    set(arg_PROPERTIES ${known})
  endif()

  set(results)
  foreach(device IN LISTS arg_DEVICES)
    foreach(property IN LISTS arg_PROPERTIES)
      set(test ${arg_NAME}.${arg_OPERATOR}.${property})
      if(NOT device STREQUAL "emulated")
        string(APPEND test .${device})
      endif()
      set(result "${folder}/${test}.json")
      add_test(NAME ${test} COMMAND "${WARPCHECK_COMMAND}" verify ${arg_OPERATOR} ${kernel} --device ${device}
        --property ${property} --cases ${arg_CASES} --workers 1 --json "${result}" ${arg_OPTIONS})
      set_tests_properties(${test} PROPERTIES TIMEOUT 1800
        LABELS "property;${device};${arg_OPERATOR};${arg_NAME};${arg_LABELS}")
      if(device STREQUAL "cuda")
        set_tests_properties(${test} PROPERTIES RESOURCE_GROUPS "gpus:1")
        if(NOT WARPCHECK_REQUIRE_GPU)
          set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 3)
        endif()
      endif()
      list(APPEND results "${result}")
    endforeach()
  endforeach()
  _warpcheck_add_report(${arg_NAME} "${folder}" "${results}")
endfunction()

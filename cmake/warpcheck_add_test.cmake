# warpcheck_add_test(NAME name COMMAND command... LABELS kind device op... [TIMEOUT s] [PASS regex] [RESOURCES spec]
#                    [ENVIRONMENT var=value...] [COST seconds] [SERIAL])
# The one way to add a test. PASS is a PASS_REGULAR_EXPRESSION, for tests in which something must be rejected.
# COST: what it takes, where that is much: a first run begins with these, later ones by what they have measured.
# A test that prints "WARPCHECK_SKIP:" is shown as skipped; a test of device cuda takes a GPU of the resource file.
function(warpcheck_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL" "NAME;TIMEOUT;PASS;COST" "COMMAND;LABELS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "warpcheck_add_test(${arg_NAME}): unknown arguments '${arg_UNPARSED_ARGUMENTS}'; known are NAME, "
      "COMMAND, LABELS, TIMEOUT, PASS, ENVIRONMENT, COST, SERIAL")
  endif()
  if(NOT arg_NAME OR NOT arg_COMMAND OR NOT arg_LABELS)
    message(FATAL_ERROR "warpcheck_add_test(${arg_NAME}): NAME, COMMAND and LABELS are required")
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    SKIP_REGULAR_EXPRESSION "WARPCHECK_SKIP:")
  if(arg_PASS)
    set_tests_properties(${arg_NAME} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_PASS}")
  endif()
  if(arg_ENVIRONMENT)
    set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_COST)
    set_tests_properties(${arg_NAME} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
  if("cuda" IN_LIST arg_LABELS)
    set_tests_properties(${arg_NAME} PROPERTIES RESOURCE_GROUPS "gpus:1")
  endif()
endfunction()

# warpcheck_link_command(target): all of the command but its main, for a test of its parts.
function(warpcheck_link_command target)
  target_sources(${target} PRIVATE "$<FILTER:$<TARGET_OBJECTS:warpcheck_cli_objects>,EXCLUDE,/main\\.cpp\\.o$>")
  target_link_libraries(${target} PRIVATE
    warpcheck_python_objects warpcheck_properties warpcheck_golden warpcheck_formula warpcheck_simt_emulation)
endfunction()

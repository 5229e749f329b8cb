# warpcheck_add_test(NAME name COMMAND command... LABELS kind device op... [TIMEOUT s] [PASS regex] [RESOURCES spec]
#                    [ENVIRONMENT var=value...] [COST seconds] [PARTS n] [SERIAL])
# The one way to add a test. Heavy tests that rarely fail have PARTS: they become n tests NAME.1 to NAME.n (NAME if n is
# 1), each of one of sixteen labels part.0 to part.f, of which ci/test runs one. A program of GoogleTest or a file of
# unittest with n > 1 runs each n-th of its tests. PASS is a PASS_REGULAR_EXPRESSION, for tests in which something must
# be rejected.
# COST: what it takes, where that is much: a first run begins with these, later ones by what they have measured.
# A test that prints "WARPCHECK_SKIP:" is shown as skipped; a test of device cuda takes a GPU of the resource file.
function(warpcheck_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL" "NAME;TIMEOUT;PASS;COST;PARTS" "COMMAND;LABELS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "warpcheck_add_test(${arg_NAME}): unknown arguments '${arg_UNPARSED_ARGUMENTS}'; known are NAME, "
      "COMMAND, LABELS, TIMEOUT, PASS, ENVIRONMENT, COST, PARTS, SERIAL")
  endif()
  if(NOT arg_NAME OR NOT arg_COMMAND OR NOT arg_LABELS)
    message(FATAL_ERROR "warpcheck_add_test(${arg_NAME}): NAME, COMMAND and LABELS are required")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  set(names ${arg_NAME})
  if(arg_PARTS GREATER 1)
    set(names)
    foreach(i RANGE 1 ${arg_PARTS})
      list(APPEND names ${arg_NAME}.${i})
    endforeach()
    if(arg_COMMAND MATCHES "^[^;]*;[^;]*_test\\.py")
      list(INSERT arg_COMMAND 1 ${PROJECT_SOURCE_DIR}/tests/shard.py)
    endif()
  endif()
  set(shard 0)
  foreach(name IN LISTS names)
    set(environment ${arg_ENVIRONMENT})
    set(labels ${arg_LABELS})
    if(arg_PARTS)
      _warpcheck_next_part(part)
      list(APPEND labels part.${part})
    endif()
    if(arg_PARTS GREATER 1)
      list(APPEND environment GTEST_TOTAL_SHARDS=${arg_PARTS} GTEST_SHARD_INDEX=${shard})
      math(EXPR shard "${shard} + 1")
    endif()
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT}
      SKIP_REGULAR_EXPRESSION "WARPCHECK_SKIP:")
    if(arg_PASS)
      set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_PASS}")
    endif()
    if(environment)
      set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}")
    endif()
    if(arg_COST)
      set_tests_properties(${name} PROPERTIES COST ${arg_COST})
    endif()
    if(arg_SERIAL)
      set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
    if("cuda" IN_LIST labels)
      set_tests_properties(${name} PROPERTIES RESOURCE_GROUPS "gpus:1")
    endif()
  endforeach()
endfunction()

# In `result`: 0 to f in turn.
function(_warpcheck_next_part result)
  get_property(before GLOBAL PROPERTY warpcheck_parts)
  math(EXPR number "0${before} % 16")
  math(EXPR next "${number} + 1")
  set_property(GLOBAL PROPERTY warpcheck_parts ${next})
  string(SUBSTRING 0123456789abcdef ${number} 1 part)
  set(${result} ${part} PARENT_SCOPE)
endfunction()

# In `excluded`: whether a build (WARPCHECK_PART) goes without what only this part of the heavy tests needs. Operators
# have the parts from 0 on; those behind are for what takes as long to compile.
function(warpcheck_only_in_part part excluded)
  set(${excluded} ON PARENT_SCOPE)
  if(WARPCHECK_PART MATCHES "^${part}?$")
    set(${excluded} OFF PARENT_SCOPE)
  endif()
endfunction()

# warpcheck_link_command(target): all of the command but its main, for a test of its parts.
function(warpcheck_link_command target)
  target_sources(${target} PRIVATE "$<FILTER:$<TARGET_OBJECTS:warpcheck_cli_objects>,EXCLUDE,/main\\.cpp\\.o$>")
  target_link_libraries(${target} PRIVATE
    warpcheck_python_objects warpcheck_properties warpcheck_golden warpcheck_formula warpcheck_simt_emulation)
endfunction()

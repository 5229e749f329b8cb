# cmake -D SOURCE=header -D MUTANTS=list -D OUTPUT=header -P make_flaws.cmake
# Writes each mutant of the list as a copy of the source in a namespace of its own, and a table of them all.
file(READ ${SOURCE} original)
string(REGEX REPLACE "#(pragma|include)[^\n]*\n" "" original "${original}")
file(STRINGS ${MUTANTS} lines)
set(copies "")
set(table "")
foreach(line IN LISTS lines)
  if(line MATCHES "^#")
    continue()
  endif()
  string(REGEX MATCH "^([a-z0-9_]+)\t([^\t]+)\t([^\t]*)$" fits "${line}")
  if(NOT fits)
    message(FATAL_ERROR "${MUTANTS}: '${line}' is not id, old text, new text, separated by tabs")
  endif()
  set(id "${CMAKE_MATCH_1}")
  set(old "${CMAKE_MATCH_2}")
  string(REPLACE "\\n" "\n" new "${CMAKE_MATCH_3}")
  string(REPLACE "${old}" "" without "${original}")
  string(LENGTH "${original}" all)
  string(LENGTH "${without}" rest)
  string(LENGTH "${old}" once)
  math(EXPR rest "${rest} + ${once}")
  if(NOT rest EQUAL all)
    message(FATAL_ERROR "${MUTANTS}: the old text of ${id} does not occur exactly once in ${SOURCE}")
  endif()
  string(REPLACE "${old}" "${new}" copy "${original}")
  string(REPLACE "namespace warpcheck::reference {" "namespace warpcheck::reference::${id} {" copy "${copy}")
  # The type stays the original's.
  string(FIND "${copy}" "\ntemplate <class S>\nstruct gru_gradients {" begin)
  string(FIND "${copy}" "\n};\n" end)
  math(EXPR end "${end} + 4")
  string(SUBSTRING "${copy}" 0 ${begin} before)
  string(SUBSTRING "${copy}" ${end} -1 after)
  set(copy "${before}\n${after}")
  string(APPEND copies "${copy}")
  string(APPEND table "      {\"${id}\", reference::${id}::gru_backward<S>},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by make_flaws.cmake: ${SOURCE} with each mutant of ${MUTANTS}.
#pragma once

#include \"reference/gru/gru_backward.hpp\"
${copies}
namespace warpcheck::self {

template <class S>
struct flawed_backward {
  const char* name;
  reference::gru_gradients<S> (*backward)(const reference::gru_problem<S>&, const reference::gru_states<S>&,
                                          const std::vector<S>&, const std::vector<S>&);
};

template <class S>
std::vector<flawed_backward<S>> flawed_backwards() {
  return {
${table}  };
}

}  // namespace warpcheck::self
")

# Runs one fuzz target RUNS times over its corpus. What it finds new goes to a fresh WORK folder: a run neither changes
# the corpus nor depends on the runs before it.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/found)
file(GLOB corpus ${CORPUS}/*)
if(NOT corpus)
  message(FATAL_ERROR "the corpus ${CORPUS} is empty")
endif()
execute_process(
  COMMAND ${PROGRAM} -runs=${RUNS} -seed=1 -max_len=4096 -rss_limit_mb=2048 -print_final_stats=1
    -artifact_prefix=${WORK}/ ${WORK}/found ${CORPUS}
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the fuzz target failed (${status}); the input is in ${WORK}")
endif()

# Run by `cmake --install`: has the command print its completion for shells, and help2man make a manual page of each
# --help. Variables: WARPCHECK, the command; HELP2MAN, empty where it is not installed; VERSION; MADE, a folder for what
# is made; MANUAL and SHARE, where it is installed below the prefix.
function(help_of variable)
  execute_process(COMMAND ${WARPCHECK} ${ARGN} --help OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# The page of a command, given as words, and those of its subcommands.
function(make_pages)
  help_of(help ${ARGN})
  list(JOIN ARGN "-" page)
  list(JOIN ARGN " " words)
  string(REGEX MATCH "^[^\n]*" sentence "${help}")
  set(file ${MADE}/warpcheck-${page}.1)
  if(page STREQUAL "")
    set(file ${MADE}/warpcheck.1)
  endif()
  execute_process(COMMAND ${HELP2MAN} --no-info --version-string ${VERSION} --name "${sentence}" --output ${file}
    "${WARPCHECK} ${words}" COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL ${file} DESTINATION "${CMAKE_INSTALL_PREFIX}/${MANUAL}/man1")
  if(help MATCHES "\nSubcommands:\n(.*)")
    string(REGEX MATCHALL "(^|\n)  [a-z-]+" names "\n${CMAKE_MATCH_1}")
    foreach(name IN LISTS names)
      string(STRIP "${name}" name)
      make_pages(${ARGN} ${name})
    endforeach()
  endif()
endfunction()

set(zsh zsh/site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh zsh/vendor-completions)  # where a package of Debian has it
endif()
file(MAKE_DIRECTORY ${MADE})
foreach(shell IN ITEMS "bash;bash-completion/completions;warpcheck" "zsh;${zsh};_warpcheck"
    "fish;fish/vendor_completions.d;warpcheck.fish")
  list(GET shell 0 name)
  list(GET shell 1 folder)
  list(GET shell 2 file)
  file(MAKE_DIRECTORY ${MADE}/${name})
  execute_process(COMMAND ${WARPCHECK} completion ${name} OUTPUT_FILE ${MADE}/${name}/${file}
    COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL ${MADE}/${name}/${file} DESTINATION "${CMAKE_INSTALL_PREFIX}/${SHARE}/${folder}")
endforeach()
if(HELP2MAN)
  make_pages()
else()
  message(STATUS "no manual pages: help2man was not installed when this build was configured")
endif()

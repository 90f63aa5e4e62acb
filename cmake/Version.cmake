# `beckon --version` names the commit; a build from a tarball says "unknown".
execute_process(
    COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE BECKON_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT BECKON_COMMIT)
    set(BECKON_COMMIT unknown)
endif()

# `beckon --version` names the commit; a build from a tarball says "unknown".
execute_process(
    COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE BECKON_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT BECKON_COMMIT)
    set(BECKON_COMMIT unknown)
endif()

# The version of a package: that of a release at the commit with its tag, and between releases one that sorts after the last
# release and before the next, by the time of the commit.
set(BECKON_PACKAGE_VERSION ${PROJECT_VERSION})
execute_process(
    COMMAND git -C ${PROJECT_SOURCE_DIR} tag --points-at HEAD
    OUTPUT_VARIABLE tags ERROR_QUIET)
execute_process(
    COMMAND ${CMAKE_COMMAND} -E env TZ=UTC git -C ${PROJECT_SOURCE_DIR} log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S
    OUTPUT_VARIABLE committed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
# The time of what is packed, in seconds since 1970; 0 in a build from a tarball.
execute_process(
    COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct
    OUTPUT_VARIABLE BECKON_COMMIT_TIME OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT BECKON_COMMIT_TIME)
    set(BECKON_COMMIT_TIME 0)
endif()
if(committed AND NOT "\n${tags}" MATCHES "\nv${PROJECT_VERSION}\n")
    string(APPEND BECKON_PACKAGE_VERSION "+git${committed}.${BECKON_COMMIT}")
endif()

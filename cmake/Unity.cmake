# Most of a compiler's time goes into headers and templates that sources share. So the sources of a target are compiled as one
# unit, or as several equal ones of at most BECKON_UNITY_MAX sources, in the order of its list. More in a unit build faster
# as a whole, and an edit of one of them takes longer. Names in anonymous namespaces and `using` lines differ within a unit
# (tests/layers/unity_test.py). `./dev lint` compiles each source alone (BECKON_UNITY=OFF).
#
# CMake's own unity builds name sources by absolute paths, so that two checkouts never share ccache's results.
option(BECKON_UNITY "Compile the sources of a library together" ON)
set(BECKON_UNITY_MAX 24 CACHE STRING "How many sources are compiled together, at most")

# beckon_unity(<target> <root> [WRAP]): compiles the target's sources in units; <root> is an include directory of the
# target above them. WRAP puts each source, but for its #include lines, into a namespace of its own, so that tests may
# use the same names; a source that opens a namespace of Beckon or Catch is compiled alone then.
function(beckon_unity target root)
    cmake_parse_arguments(ARG "WRAP" "" "" ${ARGN})
    if(NOT BECKON_UNITY)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    set(together "")
    foreach(source IN LISTS sources)
        get_filename_component(path ${source} ABSOLUTE)
        get_source_file_property(alone ${path} SKIP_UNITY_BUILD_INCLUSION)
        file(RELATIVE_PATH path ${root} ${path})
        if(alone OR NOT path MATCHES "^[a-z].*\\.cpp$")  # not below the root: it is generated
            continue()
        endif()
        if(ARG_WRAP)
            cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR ${root}/${path} ours)
            if(NOT ours)  # a source that tests of several folders share
                continue()
            endif()
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root}/${path})
            file(STRINGS ${root}/${path} lines REGEX "^(namespace (beckon|Catch|std)|extern \"C\"|#if|#define)")
            if(lines)
                continue()
            endif()
        endif()
        list(APPEND together ${path})
    endforeach()
    list(LENGTH together count)
    if(count LESS 2)
        return()
    endif()
    math(EXPR units "(${count} + ${BECKON_UNITY_MAX} - 1) / ${BECKON_UNITY_MAX}")
    math(EXPR size "(${count} + ${units} - 1) / ${units}")
    math(EXPR last "${count} - 1")
    foreach(from RANGE 0 ${last} ${size})
        list(SUBLIST together ${from} ${size} part)
        beckon_write_unit(${CMAKE_CURRENT_BINARY_DIR}/${target}_${from}.cpp ${root} "${ARG_WRAP}" ${part})
        target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${target}_${from}.cpp)
    endforeach()
    list(TRANSFORM together PREPEND ${root}/)
    set_source_files_properties(${together} PROPERTIES HEADER_FILE_ONLY ON)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # it takes the sources that a unit includes for headers
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
endfunction()

function(beckon_write_unit unit root wrap)
    set(text "")
    if(wrap)
        foreach(path IN LISTS ARGN)
            file(STRINGS ${root}/${path} lines REGEX "^#include ")
            string(APPEND text "${lines};")
        endforeach()
        list(REMOVE_DUPLICATES text)
        string(REPLACE ";" "\n" text "${text}\n")
    endif()
    foreach(path IN LISTS ARGN)
        if(wrap)
            string(MAKE_C_IDENTIFIER "in_${path}" name)
            string(APPEND text "namespace ${name} {\n#include \"${path}\"\n}\n")
        else()
            string(APPEND text "#include \"${path}\"\n")
        endif()
    endforeach()
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)  # leaves an unchanged file alone
endfunction()

# beckon_precompile(<name> <header> <library> …): the object library <name>, whose precompiled header others use.
function(beckon_precompile name header)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "")
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
    target_link_libraries(${name} PRIVATE ${ARGN})
    target_precompile_headers(${name} PRIVATE ${header})
    beckon_warnings(${name})
endfunction()

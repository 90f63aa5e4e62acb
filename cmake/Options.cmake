set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(BECKON_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them")
option(BECKON_FUZZ "Build the libFuzzer targets of tests/fuzz (clang only)" OFF)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Release has the names of functions and no line numbers, which cost a seventh of a build: perf and core dumps show which
# function, and BECKON_DEBUG_INFO=-g1 which line. NDEBUG is for the assertions of Boost, which a client's bytes must not
# reach; ours (core/assert.hpp) stay on.
set(BECKON_DEBUG_INFO "" CACHE STRING "What a release build keeps for debuggers, such as -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 ${BECKON_DEBUG_INFO} -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS")

# gcc collects its garbage each time 128 MiB have come together, which took a sixth of a build's time; with half a GiB most
# units are compiled without. A compiler takes up to 1 GiB.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(--param=ggc-min-heapsize=524288)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
    add_link_options(-fuse-ld=mold)
endif()

# Hardening: a memory error ends the process and is no way in. The sanitizers bring their own checks.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)  # links as PIE where CMAKE_POSITION_INDEPENDENT_CODE is set
if(NOT BECKON_SANITIZE)
    add_compile_options($<$<CONFIG:Release>:-U_FORTIFY_SOURCE>
                        $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=3>
                        $<$<CONFIG:Release>:-fstack-protector-strong>)
    # All of it is linked into executables. CMake gives libraries -fPIC, with which gcc inlines no function that another
    # library could replace.
    add_compile_options(-fPIE)
    add_link_options($<$<CONFIG:Release>:LINKER:-z,relro> $<$<CONFIG:Release>:LINKER:-z,now>)
endif()
# -O0: one run of the tests is much shorter than one build for it, and an optimiser works long on the sanitizers' code.
if(BECKON_SANITIZE)
    # vptr: that check asks a pipe whether an object can be read, and takes it for a fault if there is no descriptor
    # left for one, as in some tests.
    # PIE: clang takes no precompiled header of a library for an executable else.
    add_compile_options(-fPIE -O0 -fsanitize=${BECKON_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer
                        -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${BECKON_SANITIZE})
endif()
if(BECKON_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)  # so that the fuzzer sees which branches it took
endif()

include(cmake/Unity.cmake)

# Compiles the libraries that follow with these options in a release, and with the precompiled header <name>, which has them
# too: gcc may end with an internal error where they differ.
macro(beckon_release_options name options)
    set(BECKON_RELEASE_OPTIONS ${options})
    set(BECKON_PRECOMPILED ${name})
    if(BECKON_UNITY)
        beckon_precompile(${name} ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp nlohmann_json::nlohmann_json tl::expected)
        target_compile_options(${name} PRIVATE "$<$<CONFIG:Release>:${options}>")
    endif()
endmacro()

# Declares the library `beckon_<folder>` (alias beckon::<folder>) of these sources with our warnings and include root.
# PUBLIC and PRIVATE name what it links, as in target_link_libraries().
function(beckon_library name)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "PUBLIC;PRIVATE")
    add_library(beckon_${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
    beckon_unity(beckon_${name} ${PROJECT_SOURCE_DIR}/src)
    if(BECKON_UNITY)
        target_precompile_headers(beckon_${name} REUSE_FROM ${BECKON_PRECOMPILED})
    endif()
    add_library(beckon::${name} ALIAS beckon_${name})
    target_compile_options(beckon_${name} PRIVATE "$<$<CONFIG:Release>:${BECKON_RELEASE_OPTIONS}>")
    target_include_directories(beckon_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(beckon_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
    beckon_warnings(beckon_${name})
endfunction()

function(beckon_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
endfunction()

# Every library comes from Debian (scripts/debian-packages.txt). Their headers are SYSTEM.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(simdjson REQUIRED)
find_package(RocksDB REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Catch2 REQUIRED)  # 2 on Debian 12, 3 on Debian 13
if(POLICY CMP0167)
    cmake_policy(SET CMP0167 NEW)  # newer CMake has no module for Boost, which brings its own configuration
endif()
find_package(Boost 1.74 REQUIRED)
find_package(CURL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(lws REQUIRED IMPORTED_TARGET libwebsockets)
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
find_library(LIBEV_LIBRARY ev REQUIRED)

# Asio and Beast, for everybody who includes them.
add_library(beckon_boost STATIC ${PROJECT_SOURCE_DIR}/cmake/boost_sources.cpp)
target_compile_definitions(beckon_boost PUBLIC BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION)
target_link_libraries(beckon_boost PUBLIC Boost::headers OpenSSL::SSL Threads::Threads)

# Annotations by which ThreadSanitizer distinguishes our threads from those of libraries that are not built with it.
if(BECKON_SANITIZE STREQUAL thread)
    add_library(beckon_c11_threads STATIC ${PROJECT_SOURCE_DIR}/tests/sanitizers/c11_threads.cpp)
    target_link_libraries(PkgConfig::rdkafka INTERFACE beckon_c11_threads)
    target_link_options(PkgConfig::rdkafka INTERFACE LINKER:--undefined=thrd_create)
    # tests/sanitizers/races.txt can name a shared library only.
    get_target_property(rocksdb_shared RocksDB::rocksdb-shared LOCATION)
    set_property(TARGET RocksDB::rocksdb APPEND PROPERTY IMPORTED_CONFIGURATIONS DEBUG)
    set_property(TARGET RocksDB::rocksdb PROPERTY IMPORTED_LOCATION_DEBUG ${rocksdb_shared})
endif()

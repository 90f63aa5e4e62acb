# `cpack --config BUILD/CPackConfig.cmake` makes beckon_<version>_<architecture>.deb: the binary with the man page and
# the completion that it makes itself, the units, the account, /etc/beckon/beckon.toml, alert rules and dashboards.
set(package ${CMAKE_BINARY_DIR}/package)
add_custom_command(
    OUTPUT ${package}/beckon.1 ${package}/beckon.bash
    COMMAND ${CMAKE_COMMAND} -E make_directory ${package}
    COMMAND beckon reference man > ${package}/beckon.1
    COMMAND beckon reference bash > ${package}/beckon.bash
    DEPENDS beckon VERBATIM)
add_custom_target(package_files ALL DEPENDS ${package}/beckon.1 ${package}/beckon.bash)

# What of others is in the binary. Only a package needs it, and it asks dpkg for each library.
add_custom_command(
    OUTPUT ${package}/beckon.spdx.json ${package}/third-party-licenses.txt.gz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${package}
    COMMAND python3 ${PROJECT_SOURCE_DIR}/scripts/sbom.py $<TARGET_FILE:beckon> ${CMAKE_LIBRARY_ARCHITECTURE}
        ${BECKON_PACKAGE_VERSION} ${BECKON_COMMIT} ${BECKON_COMMIT_TIME} ${package}
    DEPENDS beckon ${PROJECT_SOURCE_DIR}/scripts/sbom.py ${PROJECT_SOURCE_DIR}/packaging/debian/copyright VERBATIM)
add_custom_target(package_sbom DEPENDS ${package}/beckon.spdx.json)

# A package installs into /usr/bin.
foreach(name beckon.service beckon@.service)
    file(READ packaging/${name} unit)
    string(REPLACE /usr/local/bin /usr/bin unit "${unit}")
    file(WRITE ${package}/${name} "${unit}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS packaging/${name})
endforeach()

# In the package only: `cmake --install` leaves man pages, accounts and /etc to the administrator.
install(FILES ${package}/beckon.service ${package}/beckon@.service DESTINATION lib/systemd/system COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES ${package}/beckon.1 DESTINATION share/man/man1 COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES ${package}/beckon.bash DESTINATION share/bash-completion/completions RENAME beckon
    COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES packaging/debian/sysusers.conf DESTINATION lib/sysusers.d RENAME beckon.conf
    COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES packaging/prometheus/beckon.rules.yml packaging/prometheus/beckon.expected.yml
    DESTINATION share/beckon/prometheus COMPONENT deb EXCLUDE_FROM_ALL)
install(DIRECTORY packaging/grafana/dashboards/ DESTINATION share/beckon/grafana COMPONENT deb EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.json")
install(FILES packaging/debian/beckon.toml DESTINATION /etc/beckon COMPONENT deb EXCLUDE_FROM_ALL)
install(FILES packaging/debian/copyright ${package}/beckon.spdx.json ${package}/third-party-licenses.txt.gz DESTINATION share/doc/beckon
    COMPONENT deb EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${BECKON_PACKAGE_VERSION})
set(CPACK_PACKAGE_CONTACT "Beckon maintainers <maintainers@beckon.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "event-sourced Web Push service")
set(CPACK_PACKAGE_DESCRIPTION "Takes Web Push messages over HTTP and delivers them over WebSockets, from one process
with an embedded log up to a cluster on Kafka. What was answered 201 is never lost.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libwebsockets opens its libev plugin by itself, and HTTPS requests of Beckon need the authorities: no linker sees
# either.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libwebsockets-evlib-ev, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/packaging/debian/conffiles;${PROJECT_SOURCE_DIR}/packaging/debian/postinst;${PROJECT_SOURCE_DIR}/packaging/debian/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
# What is packed is built first: `./dev run` makes the binary alone.
set(CPACK_INSTALL_COMMANDS "${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target beckon beckon-bench package_files package_sbom")
# /etc is not below the prefix, so the package is gathered in a directory of its own (DESTDIR).
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS
    "${CMAKE_BINARY_DIR};beckon;runtime;/;${CMAKE_BINARY_DIR};beckon;bench;/;${CMAKE_BINARY_DIR};beckon;deb;/")
include(CPack)

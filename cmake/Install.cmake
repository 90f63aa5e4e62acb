# `cmake --install BUILD --strip`: the binaries without their symbols, the systemd unit, an example of a configuration.
include(GNUInstallDirs)
install(TARGETS beckon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(TARGETS beckon-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT bench)
install(FILES packaging/beckon.service packaging/beckon@.service DESTINATION lib/systemd/system)
install(FILES packaging/beckon.toml DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What `cmake --install` brings, as five components that are also the five Debian packages:
#   hob    programs, manual, completions, systemd units, configuration, documents
#   dev    the libraries that a renderer links, with headers, pkg-config and CMake packages
#   farm   the drivers for PostgreSQL and S3, which need libpq and libcurl
#   tools  hob-thumbnail, which needs a graphics library
#   git    hob-git, which needs libgit2
include(GNUInstallDirs)
set(doc ${CMAKE_INSTALL_DOCDIR})
set(docker ${CMAKE_SOURCE_DIR}/docker)

install(TARGETS hob hob-worker hob-exporter RUNTIME COMPONENT hob)
if(TARGET hob-worker-lean)
  install(TARGETS hob-worker-lean RUNTIME COMPONENT hob)
endif()
install(CODE "execute_process(COMMAND ${CMAKE_SOURCE_DIR}/server/cli/man.sh $<TARGET_FILE:hob> ${CMAKE_BINARY_DIR}/man
  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT hob)
install(FILES ${CMAKE_BINARY_DIR}/man/hob.1 ${CMAKE_BINARY_DIR}/man/hob-worker.1 ${CMAKE_BINARY_DIR}/man/hob-exporter.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT hob)
install(FILES ${CMAKE_BINARY_DIR}/man/hob.json.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT hob)
install(FILES ${CMAKE_BINARY_DIR}/man/hob.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT hob)
set(shells ${CMAKE_INSTALL_DATADIR})
install(FILES ${CMAKE_BINARY_DIR}/man/hob.bash DESTINATION ${shells}/bash-completion/completions RENAME hob COMPONENT hob)
install(FILES ${CMAKE_BINARY_DIR}/man/hob.zsh DESTINATION ${shells}/zsh/site-functions RENAME _hob COMPONENT hob)
install(FILES ${CMAKE_BINARY_DIR}/man/hob.fish DESTINATION ${shells}/fish/vendor_completions.d COMPONENT hob)
# The unit names the program and the configuration where this installation puts them. A configuration that is there stays.
install(CODE "set(hob_bindir \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  set(hob_etc \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SYSCONFDIR}/hob\")
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(hob_etc /etc/hob)
  endif()
  if(NOT EXISTS \"\$ENV{DESTDIR}\${hob_etc}/hob.json\")
    file(INSTALL ${docker}/hob.json DESTINATION \"\${hob_etc}\")
  endif()
  configure_file(${docker}/hob.service.in ${CMAKE_BINARY_DIR}/hob.service @ONLY)" COMPONENT hob)
install(FILES ${CMAKE_BINARY_DIR}/hob.service ${docker}/hob.socket DESTINATION lib/systemd/system COMPONENT hob)
install(FILES ${docker}/hob.sysusers DESTINATION lib/sysusers.d RENAME hob.conf COMPONENT hob)
# The pages: HTML, Markdown, and the files that they name. They need Python, as packages do.
find_program(hob_python python3)
if(hob_python)
  install(CODE "execute_process(COMMAND ${hob_python} ${CMAKE_SOURCE_DIR}/docs/site.py --installed ${CMAKE_BINARY_DIR}/doc
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)" COMPONENT hob)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/doc/ DESTINATION ${doc} COMPONENT hob)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/schema/openapi.json ${CMAKE_SOURCE_DIR}/schema/FORMATS.md
  ${docker}/debian/copyright DESTINATION ${doc} COMPONENT hob)
# The models that the pages of the documentation are about.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/art DESTINATION ${doc}/examples COMPONENT hob)

if(TARGET hob-thumbnail)
  install(TARGETS hob-thumbnail RUNTIME COMPONENT tools)
  install(FILES ${CMAKE_BINARY_DIR}/man/hob-thumbnail.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${docker}/thumbnails.conf DESTINATION lib/systemd/system/hob.service.d COMPONENT tools)
endif()

if(TARGET hob-git)
  install(TARGETS hob-git hob-lfs RUNTIME COMPONENT git)
  install(FILES ${CMAKE_BINARY_DIR}/man/hob-git.1 ${CMAKE_BINARY_DIR}/man/hob-lfs.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT git)
endif()

get_property(farm_drivers GLOBAL PROPERTY hob_farm_drivers)
if(farm_drivers)
  install(TARGETS ${farm_drivers} LIBRARY DESTINATION lib/hob COMPONENT farm)
endif()

# The headers lie beside each other, so what they include is nearer than in the sources.
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/hob)
foreach(header client/hob_client.h runtime/hob_runtime.h formats/pack_layout.h)
  file(READ ${CMAKE_SOURCE_DIR}/core/${header} text)
  string(REPLACE "\"../formats/pack_layout.h\"" "\"pack_layout.h\"" text "${text}")
  string(REPLACE "\"../../schema/formats/" "\"formats/" text "${text}")
  get_filename_component(name ${header} NAME)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/${header})
  file(CONFIGURE OUTPUT generated/installed/${name} CONTENT "@text@" @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/installed/${name} DESTINATION ${headers} COMPONENT dev)
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/schema/formats DESTINATION ${headers} COMPONENT dev FILES_MATCHING PATTERN "*.def" PATTERN "*.h")
file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(part client runtime)
  install(TARGETS hob_${part} ARCHIVE COMPONENT dev)
  configure_file(${CMAKE_SOURCE_DIR}/core/package.pc.in generated/hob-${part}.pc @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/core/package.cmake.in generated/hob-${part}-config.cmake @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/hob-${part}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  install(FILES ${CMAKE_BINARY_DIR}/generated/hob-${part}-config.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hob-${part} COMPONENT dev)
endforeach()
# The documents that the headers name.
install(FILES ${CMAKE_SOURCE_DIR}/schema/openapi.json ${CMAKE_SOURCE_DIR}/schema/FORMATS.md DESTINATION ${doc} COMPONENT dev)

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
  -DCONFIGURATION=${docker}/hob.json -P ${docker}/uninstall.cmake VERBATIM)

# Sets HOB_WEB_FILES, a C file with the dashboard's files: bundled here, taken ready from web/dist, or none of them,
# which makes a program with the plain status page.
set(HOB_WEB AUTO CACHE STRING "the dashboard: AUTO (when esbuild and web/node_modules are there), ON or OFF")
set_property(CACHE HOB_WEB PROPERTY STRINGS AUTO ON OFF)
find_program(ESBUILD esbuild)
find_program(GZIP gzip)
set(HOB_WEB_FILES ${CMAKE_BINARY_DIR}/web/web_files.c)
set(web_build ${CMAKE_SOURCE_DIR}/web/build)
set(web_dist ${CMAKE_BINARY_DIR}/web/dist)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/web)

set(web_embed ${CMAKE_COMMAND} -DGZIP=${GZIP} -DOUT=${HOB_WEB_FILES})
if(HOB_WEB STREQUAL "OFF" OR NOT GZIP)
  set(web_reason "HOB_WEB is ${HOB_WEB}")
elseif(ESBUILD AND EXISTS ${CMAKE_SOURCE_DIR}/web/node_modules/preact)
  set(web_from bundle)
elseif(EXISTS ${CMAKE_SOURCE_DIR}/web/dist/index.html)
  set(web_from dist)
else()
  set(web_reason "web/dist is not here, nor are esbuild and web/node_modules (./dev install page)")
endif()
set(HOB_WEB_READY "${web_from}" CACHE INTERNAL "where the dashboard comes from; empty: there is none")
if(HOB_WEB STREQUAL "ON" AND NOT web_from)
  message(FATAL_ERROR "no dashboard can be built: ${web_reason}")
endif()

if(web_from STREQUAL "bundle")
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/app/* ${CMAKE_SOURCE_DIR}/web/viewer/*)
  file(GLOB web_client CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/client/*.js)
  add_custom_command(OUTPUT ${HOB_WEB_FILES}
    COMMAND ${CMAKE_COMMAND} -DESBUILD=${ESBUILD} -DWEB=${CMAKE_SOURCE_DIR}/web -DDIST=${web_dist} -P ${web_build}/bundle.cmake
    COMMAND ${web_embed} -DDIST=${web_dist} -P ${web_build}/embed.cmake
    DEPENDS ${web_sources} ${web_client} ${web_build}/bundle.cmake ${web_build}/embed.cmake
      ${CMAKE_SOURCE_DIR}/web/package-lock.json
    COMMENT "Bundling the dashboard" VERBATIM)
elseif(web_from STREQUAL "dist")
  file(GLOB web_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/dist/*)
  add_custom_command(OUTPUT ${HOB_WEB_FILES}
    COMMAND ${web_embed} -DDIST=${CMAKE_SOURCE_DIR}/web/dist -P ${web_build}/embed.cmake
    DEPENDS ${web_sources} ${web_build}/embed.cmake VERBATIM)
else()
  message(STATUS "without the dashboard: ${web_reason}")
  add_custom_command(OUTPUT ${HOB_WEB_FILES}
    COMMAND ${web_embed} -DDIST= -P ${web_build}/embed.cmake DEPENDS ${web_build}/embed.cmake VERBATIM)
endif()

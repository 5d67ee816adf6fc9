# The farm's drivers, each a module of its own, so that the programs need neither libpq nor libcurl. Each knows driver.h only.
option(HOB_WITH_POSTGRES "the farm's driver for PostgreSQL (needs libpq)" ON)
option(HOB_WITH_S3 "the farm's driver for S3 (needs libcurl 7.75)" ON)
pkg_check_modules(libpq IMPORTED_TARGET libpq)
pkg_check_modules(libcurl_s3 IMPORTED_TARGET libcurl>=7.75)

function(farm_driver name library source)
  add_library(hob-farm-${name} MODULE ${source})
  set_target_properties(hob-farm-${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_compile_options(hob-farm-${name} PRIVATE -fPIC -Wall -Wextra -Wshadow -Wconversion -Wvla -Wcast-qual
    -Wstrict-prototypes -Wmissing-prototypes -fstack-protector-strong -fvisibility=hidden
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
  target_compile_definitions(hob-farm-${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(hob-farm-${name} PRIVATE ${library})
  target_link_options(hob-farm-${name} PRIVATE -Wl,-z,relro,-z,now -Wl,--as-needed)
  if(HOB_SANITIZE)
    target_compile_options(hob-farm-${name} PRIVATE -fsanitize=${HOB_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(hob-farm-${name} PRIVATE -fsanitize=${HOB_SANITIZE})
  endif()
  set_property(GLOBAL APPEND PROPERTY hob_farm_drivers hob-farm-${name})
endfunction()

if(HOB_WITH_POSTGRES AND libpq_FOUND)
  farm_driver(postgres PkgConfig::libpq ${CMAKE_SOURCE_DIR}/server/farm/postgres/postgres_driver.c)
endif()
if(HOB_WITH_S3 AND libcurl_s3_FOUND)
  farm_driver(s3 PkgConfig::libcurl_s3 ${CMAKE_SOURCE_DIR}/server/farm/s3/s3_driver.c)
endif()

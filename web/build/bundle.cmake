# cmake -DESBUILD=... -DWEB=web -DDIST=... -P bundle.cmake: bundles web/app into DIST.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${DIST})
execute_process(
  COMMAND ${ESBUILD} ${WEB}/app/main.js ${WEB}/app/worker.js --bundle --splitting --format=esm --minify --outdir=${DIST}
    --entry-names=[name]-[hash] --chunk-names=[name]-[hash] --target=chrome109,firefox115,safari16 --legal-comments=eof
    --log-level=warning
  COMMAND_ERROR_IS_FATAL ANY)
foreach(pair "MAIN main-*.js" "STYLE main-*.css" "WORKER worker-*.js")
  separate_arguments(pair)
  list(POP_FRONT pair name pattern)
  file(GLOB found RELATIVE ${DIST} ${DIST}/${pattern})
  list(LENGTH found count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "esbuild made ${count} files ${pattern}")
  endif()
  set(${name} ${found})
endforeach()
# three's transcoder of Basis Universal: with its worker one file, which has a policy of its own.
set(basis ${WEB}/node_modules/three/examples/jsm/libs/basis/basis_transcoder)
execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${basis}.js ${WEB}/viewer/basis_worker.js OUTPUT_FILE ${DIST}/basis.js
  COMMAND_ERROR_IS_FATAL ANY)
configure_file(${basis}.wasm ${DIST}/basis.wasm COPYONLY)
foreach(pair "BASIS_WORKER js" "BASIS_WASM wasm")
  separate_arguments(pair)
  list(POP_FRONT pair name ending)
  file(SHA256 ${DIST}/basis.${ending} hash)
  string(SUBSTRING ${hash} 0 8 hash)
  set(${name} basis-${hash}.${ending})
  file(RENAME ${DIST}/basis.${ending} ${DIST}/${${name}})
endforeach()
# What the first script imports is asked for with it, not after it was read.
file(READ ${DIST}/${MAIN} script)
string(REGEX MATCHALL "from\"[.]/chunk-[A-Z0-9]+[.]js\"" imports "${script}")
set(PRELOADS "")
foreach(import IN LISTS imports)
  string(REGEX REPLACE "^from\"[.]/(.*)\"$" "<link rel=\"modulepreload\" href=\"/web/\\1\">\n" line ${import})
  string(APPEND PRELOADS "${line}")
endforeach()
set(FIRST "")
configure_file(${WEB}/app/index.html.in ${DIST}/index.html @ONLY)
# The list, as it is opened without a filter: its first rows are asked for with the script, too.
file(STRINGS ${WEB}/app/pages/assets.js fields REGEX "^const FIELDS = '")
string(REGEX REPLACE "^.*'(.*)'.*$" "\\1" fields "${fields}")
string(REPLACE "," "%2C" fields "${fields}")
set(first "/api/v1/assets?fields=${fields}&amp;limit=100&amp;count=1")
set(FIRST "<link rel=\"preload\" as=\"fetch\" crossorigin href=\"${first}\">\n")
configure_file(${WEB}/app/index.html.in ${DIST}/assets.html @ONLY)
configure_file(${WEB}/app/icon.svg ${DIST}/icon.svg COPYONLY)

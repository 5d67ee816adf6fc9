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
# What the first script imports is asked for with it, not after it was read.
file(READ ${DIST}/${MAIN} script)
string(REGEX MATCHALL "from\"[.]/chunk-[A-Z0-9]+[.]js\"" imports "${script}")
set(PRELOADS "")
foreach(import IN LISTS imports)
  string(REGEX REPLACE "^from\"[.]/(.*)\"$" "<link rel=\"modulepreload\" href=\"/web/\\1\">\n" line ${import})
  string(APPEND PRELOADS "${line}")
endforeach()
configure_file(${WEB}/app/index.html.in ${DIST}/index.html @ONLY)
configure_file(${WEB}/app/icon.svg ${DIST}/icon.svg COPYONLY)

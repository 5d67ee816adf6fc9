# cmake -DDIST=... -DGZIP=gzip -DOUT=web_files.c -P embed.cmake: the files of DIST (empty: none) as a table in C.
cmake_minimum_required(VERSION 3.25)
set(types "html=text/html\; charset=utf-8" "js=text/javascript\; charset=utf-8" "css=text/css\; charset=utf-8"
  "svg=image/svg+xml" "json=application/json" "wasm=application/wasm" "png=image/png")
set(files)
if(DIST)
  file(GLOB stale ${DIST}/*.gz)
  if(stale)
    file(REMOVE ${stale})
  endif()
  file(GLOB files RELATIVE ${DIST} ${DIST}/*)
endif()
set(blocks "")
set(rows "")
set(index 0)
set(total_size 0)
set(main_size 0)
foreach(file IN LISTS files)
  execute_process(COMMAND ${GZIP} -9 -n -k -f ${DIST}/${file} COMMAND_ERROR_IS_FATAL ANY)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING "${extension}" 1 -1 extension)
  set(type "application/octet-stream")
  foreach(pair IN LISTS types)
    if(pair MATCHES "^${extension}=(.*)$")
      set(type "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  file(SIZE ${DIST}/${file} plain_size)
  file(SIZE ${DIST}/${file}.gz packed_size)
  math(EXPR total_size "${total_size} + ${packed_size}")
  if(NOT extension STREQUAL "wasm")
    math(EXPR total_size "${total_size} + ${plain_size}")
  endif()
  if(file MATCHES "^main-.*[.]js$")
    set(main_size ${packed_size})
  endif()
  # Only a browser runs WebAssembly, and each takes gzip.
  set(row ROW_PACKED)
  if(NOT extension STREQUAL "wasm")
    set(row ROW)
    string(APPEND blocks "EMBED(file${index}, \"${DIST}/${file}\")\n")
  endif()
  string(APPEND blocks "EMBED(file${index}_gz, \"${DIST}/${file}.gz\")\n")
  string(APPEND rows "\t${row}(\"${file}\", \"${type}\", file${index})\n")
  math(EXPR index "${index} + 1")
endforeach()
# What is promised about sizes: a first page over a slow line, a program that stays small.
math(EXPR main_kb "${main_size} / 1000")
math(EXPR total_kb "${total_size} / 1000")
if(files)
  message(STATUS "dashboard: main bundle ${main_kb} KB as gzip (at most 80), ${total_kb} KB in the program (at most 2000)")
endif()
if(files AND main_size EQUAL 0)
  message(FATAL_ERROR "the dashboard's main bundle is empty")
endif()
if(main_kb GREATER 80 OR total_kb GREATER 2000)
  message(FATAL_ERROR "the dashboard has grown too large")
endif()
set(content "#include \"server/http/web.h\"

#define EMBED(name, path)                                                                                    \\
	__asm__(\".section .rodata\\n.balign 16\\n.global hob_web_\" #name \"_begin\\nhob_web_\" #name \"_begin:\\n\"    \\
			\".incbin \\\"\" path \"\\\"\\n.global hob_web_\" #name \"_end\\nhob_web_\" #name \"_end:\\n.byte 0\\n.previous\\n\"); \\
	extern const char hob_web_##name##_begin[], hob_web_##name##_end[];
#define ROW(file, type, name)                                                                                \\
	{file, type, hob_web_##name##_begin, hob_web_##name##_end, hob_web_##name##_gz_begin, hob_web_##name##_gz_end},
#define ROW_PACKED(file, type, name) {file, type, 0, 0, hob_web_##name##_gz_begin, hob_web_##name##_gz_end},

${blocks}
const srv_web_file srv_web_files[] = {
${rows}	{0},
};
")
file(WRITE ${OUT} "${content}")

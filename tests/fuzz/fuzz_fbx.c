/* The FBX reader on any bytes, binary or ASCII as they begin.
 *
 * Links: hob_import
 * Run:   fuzz_fbx -dict=tests/fuzz/fuzz_fbx.dict -max_len=8192 /tmp/found tests/fuzz/corpus/fbx */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_fbx_importer)

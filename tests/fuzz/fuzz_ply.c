/* The PLY reader on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_ply -dict=tests/fuzz/fuzz_ply.dict -max_len=4096 /tmp/found tests/fuzz/corpus/ply */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_ply_importer)

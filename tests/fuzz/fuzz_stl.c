/* The STL reader on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_stl -dict=tests/fuzz/fuzz_stl.dict -max_len=4096 /tmp/found tests/fuzz/corpus/stl */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_stl_importer)

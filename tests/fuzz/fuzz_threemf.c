/* The 3MF reader on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_threemf -dict=tests/fuzz/fuzz_threemf.dict -max_len=8192 /tmp/found
 *   tests/fuzz/corpus/threemf */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_threemf_importer)

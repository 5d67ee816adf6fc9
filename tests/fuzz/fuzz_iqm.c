/* The IQM reader on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_iqm -max_len=8192 /tmp/found tests/fuzz/corpus/iqm */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_iqm_importer)

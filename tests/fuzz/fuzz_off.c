/* The OFF reader on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_off -max_len=8192 /tmp/found tests/fuzz/corpus/off */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_off_importer)

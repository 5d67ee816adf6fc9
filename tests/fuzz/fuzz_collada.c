/* The COLLADA reader, its archive and the XML below it, on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_collada -dict=tests/fuzz/fuzz_collada.dict -max_len=8192 /tmp/found
 *   tests/fuzz/corpus/collada */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_collada_importer)

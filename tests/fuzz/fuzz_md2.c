/* The MD2 reader on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_md2 -max_len=8192 /tmp/found tests/fuzz/corpus/md2 */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_md2_importer)

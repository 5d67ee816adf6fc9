/* The AMF reader on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_amf -max_len=8192 /tmp/found tests/fuzz/corpus/amf */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_amf_importer)

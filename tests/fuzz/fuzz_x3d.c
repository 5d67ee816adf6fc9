/* The reader of X3D and VRML97 on any bytes.
 *
 * Links: hob_import
 * Run:   fuzz_x3d -dict=tests/fuzz/fuzz_x3d.dict -max_len=8192 /tmp/found tests/fuzz/corpus/x3d */
#include "tests/fuzz/fuzz_reader.h"

FUZZ_READER(hob_x3d_importer)

/* plain_census.h - what OBJ, MTL, PLY and STL files hold, counted from their
 * bytes before they are read (census.h). */
#ifndef HOB_PLAIN_CENSUS_H
#define HOB_PLAIN_CENSUS_H

#include "../base/base.h"
#include "census.h"

/* `seen` may be NULL: nothing is looked at. */
/* Reads up to the first face, line or point; colours stand before it. */
void hob_census_of_obj(hob_census *seen, hob_str text);
/* `body`: the statements of one material. */
void hob_census_of_mtl(hob_census *seen, hob_str body);
/* The header alone. */
void hob_census_of_ply(hob_census *seen, hob_bytes file);
void hob_census_of_stl(hob_census *seen, hob_bytes file);

#endif

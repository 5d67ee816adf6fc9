/* plain_census.h - counts the content of OBJ, MTL, PLY and STL bytes before they are read (census.h). */
#ifndef HOB_PLAIN_CENSUS_H
#define HOB_PLAIN_CENSUS_H

#include "../base/base.h"
#include "census.h"

/* For all of these, `seen` may be NULL: nothing is counted. */
/* Reads up to the first face, line or point; colours precede it. */
void hob_census_of_obj(hob_census *seen, hob_str text);
/* `body`: the statements of one material. */
void hob_census_of_mtl(hob_census *seen, hob_str body);
/* Reads the header only. */
void hob_census_of_ply(hob_census *seen, hob_bytes file);
void hob_census_of_stl(hob_census *seen, hob_bytes file);

#endif

/* census.h - what a source holds, counted before it is converted, and what of it the model holds: nothing is
 * lost in silence.
 *
 * An importer counts in request->seen (hob_census_add), from the file's own structures and as early as it
 * can: what it counts where it converts proves nothing. hob_import compares afterwards. A model may hold more
 * than was counted. Where it holds less, some note has to say why; census.def lists which notes explain which
 * losses. Without one of them the note "import.lost" is made, which is a bug of the importer, and
 * tests/unit/import/corpus.c fails on it. */
#ifndef HOB_CENSUS_H
#define HOB_CENSUS_H

#include "../model/model.h"

typedef enum hob_census_kind {
#define HOB_CENSUS_KIND(kind, what) HOB_CENSUS_##kind,
#define HOB_CENSUS_WHY(code, kinds)
#include "census.def"
#undef HOB_CENSUS_KIND
#undef HOB_CENSUS_WHY
	HOB_CENSUS_KINDS
} hob_census_kind;

typedef struct hob_census {
	uint32_t count[HOB_CENSUS_KINDS];
} hob_census;

/* `census` may be NULL. */
static inline void hob_census_add(hob_census *census, hob_census_kind kind, uint32_t count)
{
	if (census)
		census->count[kind] += count;
}

/* The same counts of a model. False when memory is short. O(model). */
bool hob_census_of_model(const hob_model *model, hob_arena *scratch, hob_census *out) HOB_MUST_CHECK;

/* Adds a note for each kind of which the model holds less than was seen and no note says why. */
void hob_census_compare(const hob_census *seen, const hob_census *held, hob_notes *notes);

#endif

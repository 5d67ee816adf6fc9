/* census.h - counts the content of a source before conversion and compares it with the model, so that no loss
 * goes unreported.
 *
 * An importer counts into request->seen (hob_census_add) from the file's own structures, before it converts:
 * counts taken during conversion would prove nothing. hob_import compares afterwards. A model may hold more
 * than was counted. For each kind of which it holds less, a note must give the reason; census.def maps notes
 * to the kinds they explain. A loss without a reason becomes the note "import.lost": a bug of the importer,
 * on which tests/unit/import/corpus.c fails. */
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

/* Counts a model as importers count a source. O(model). */
void hob_census_of_model(const hob_model *model, hob_arena *scratch, hob_census *out);

/* Adds a note for each kind of which the model holds less than the source, unless another note explains
 * it. */
void hob_census_compare(const hob_census *seen, const hob_census *held, hob_notes *notes);

#endif

#include "lod_chunks.h"
#include "../base/arena_drop.h"
#include "mesh_bounds.h"
#include "mesh_cut.h"
#include "weld.h"

#include <assert.h>
#include <math.h>
#include <meshoptimizer.h>

enum { NOBODY = 255, SHARED = 254, HALVINGS = 3 };

typedef struct chunks {
	const hob_mesh *mesh;
	hob_lod_options options; /* for each chunk */
	const hob_lod_level *full;
	uint32_t chunk, count;
	uint8_t *of;	   /* [triangle_count] its chunk */
	uint32_t *place;   /* [vertex_count] */
	uint8_t *owner;	   /* by place: the one chunk that uses it, NOBODY or SHARED */
	uint32_t *local;   /* [vertex_count] number in the current part; HOB_NONE between parts */
	hob_arena passing; /* holds of, place and owner until the chunks are made */
	hob_arena *result; /* holds the levels' indices */
	hob_buf indices[HOB_MAX_LODS];
	float error[HOB_MAX_LODS];
	double mean[HOB_MAX_LODS], area; /* sums over the chunks so far: of mean errors times areas, of areas */
	hob_attribute_error attributes[HOB_MAX_LODS];
	hob_arena *arena;
} chunks_t;

static void find_shared(chunks_t *c)
{
	uint32_t vertices = c->mesh->vertex_count;
	hob_weld_places(c->mesh->position, vertices, c->arena, c->place);
	memset(c->owner, NOBODY, vertices);
	for (size_t i = 0; i < c->full->index_count; i++) {
		uint8_t *owner = &c->owner[c->place[c->full->indices[i]]], chunk = c->of[i / 3];
		*owner = *owner == NOBODY || *owner == chunk ? chunk : SHARED;
	}
}

/* ---- parts */

/* A part of the mesh, as a mesh of its own. */
typedef struct part {
	hob_mesh mesh;
	uint32_t *from; /* [mesh.vertex_count] the vertices in the whole mesh */
} part_t;

/* Makes a part of the mesh. indices [index_count]: of the whole mesh, rewritten to those of the part */
static part_t take_part(const chunks_t *c, uint32_t *indices, uint32_t index_count)
{
	part_t part;
	uint32_t count = 0, bound = index_count < c->mesh->vertex_count ? index_count : c->mesh->vertex_count;
	part.from = HOB_NEW(c->arena, uint32_t, bound);
	for (size_t i = 0; i < index_count; i++) {
		uint32_t v = indices[i];
		if (c->local[v] == HOB_NONE)
			part.from[count] = v, c->local[v] = count++;
		indices[i] = c->local[v];
	}
	for (uint32_t v = 0; v < count; v++)
		c->local[part.from[v]] = HOB_NONE;
	hob_mesh_gather(c->mesh, part.from, count, c->arena, &part.mesh);
	part.mesh.indices = indices;
	part.mesh.index_count = index_count;
	return part;
}

static void to_whole(const part_t *part, hob_lod_level *level)
{
	for (size_t i = 0; i < level->index_count; i++)
		level->indices[i] = part->from[level->indices[i]];
}

static void take_larger(hob_attribute_error *most, const hob_attribute_error *other)
{
	most->uv = other->uv > most->uv ? other->uv : most->uv;
	most->color = other->color > most->color ? other->color : most->color;
	most->weight = other->weight > most->weight ? other->weight : most->weight;
}

static double area_of(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count)
{
	double area = 0, mapped;
	for (uint32_t i = 0; i < index_count; i += 3)
		area += hob_twice_area(mesh->position, mesh->position, indices + i, &mapped);
	return area;
}

static void build_chunk(chunks_t *c, uint32_t chunk)
{
	uint32_t count = 0, reached = 1;
	for (size_t t = 0; t < c->full->index_count / 3; t++)
		count += c->of[t] == chunk ? 3 : 0;
	if (count == 0)
		return;
	uint32_t *indices = HOB_NEW(c->arena, uint32_t, count);
	count = 0;
	for (size_t t = 0; t < c->full->index_count / 3; t++)
		if (c->of[t] == chunk) {
			memcpy(indices + count, c->full->indices + 3 * t, 12);
			count += 3;
		}
	part_t part = take_part(c, indices, count);
	uint8_t *locked = HOB_NEW(c->arena, uint8_t, part.mesh.vertex_count);
	for (uint32_t v = 0; v < part.mesh.vertex_count; v++)
		locked[v] = c->owner[c->place[part.from[v]]] == SHARED;
	hob_lod_options options = c->options;
	options.locked = locked;
	hob_lod_level levels[HOB_MAX_LODS] = {{.indices = indices, .index_count = count}};
	hob_lods_build(&part.mesh, &options, levels, &reached, c->arena);
	hob_weld_drop_collapsed(&part.mesh, indices, &levels[0].index_count, c->arena);
	for (uint32_t l = 0; l < reached; l++)
		to_whole(&part, &levels[l]);
	double area = area_of(c->mesh, levels[0].indices, levels[0].index_count);
	c->area += area;
	for (uint32_t l = 1; l < options.max; l++) {
		const hob_lod_level *level = &levels[l < reached ? l : reached - 1];
		c->mean[l] += area * (double)level->mean_error;
		hob_buf_put(&c->indices[l], level->indices, level->index_count * sizeof(uint32_t));
		c->error[l] = level->error > c->error[l] ? level->error : c->error[l];
		take_larger(&c->attributes[l], &level->attributes);
	}
}

/* ---- the chain */

static void begin(chunks_t *c)
{
	uint32_t vertices = c->mesh->vertex_count;
	c->of = HOB_NEW(&c->passing, uint8_t, c->full->index_count / 3);
	c->place = HOB_NEW(&c->passing, uint32_t, vertices);
	c->owner = HOB_NEW(&c->passing, uint8_t, vertices);
	c->local = HOB_NEW(c->arena, uint32_t, vertices);
	memset(c->local, 0xFF, vertices * sizeof *c->local);
	hob_mesh_cut(c->mesh->position, c->mesh->vertex_count, c->full->indices, c->full->index_count, c->count,
				 c->arena, c->of);
	find_shared(c);
}

/* Joins the levels of all chunks into levels of the whole mesh. */
static hob_lod_end join(chunks_t *c, hob_lod_level *levels, uint32_t *level_count)
{
	for (uint32_t l = 1; l < c->options.max; l++) {
		hob_bytes bytes = hob_buf_bytes(&c->indices[l]);
		uint32_t count = (uint32_t)(bytes.size / sizeof(uint32_t));
		/* Vertices may be locked only because chunks meet there; the next chunks meet elsewhere. */
		if (count * 100ull > levels[*level_count - 1].index_count * 85ull || count == 0)
			return *level_count > 1 ? HOB_LOD_END_MAX : HOB_LOD_END_STUCK;
		uint32_t *indices = HOB_NEW(c->result, uint32_t, count);
		memcpy(indices, bytes.data, bytes.size);
		hob_buf_release(&c->indices[l]);
		float error = levels[*level_count - 1].error, finer = levels[*level_count - 1].mean_error;
		float mean = c->area > 0 ? (float)(c->mean[l] / c->area) : 0;
		mean = mean > finer ? mean : finer;
		take_larger(&c->attributes[l], &levels[*level_count - 1].attributes);
		levels[(*level_count)++] = (hob_lod_level){indices, count, c->error[l] > error ? c->error[l] : error,
												   mean, c->attributes[l]};
	}
	return HOB_LOD_END_MAX;
}

/* Continues from the last level as from a mesh of its own. */
static hob_lod_end go_on(chunks_t *c, const hob_lod_options *options, hob_lod_level *levels,
						 uint32_t *level_count)
{
	const hob_lod_level *base = &levels[*level_count - 1];
	hob_lod_options rest = *options;
	rest.max = options->max - (*level_count - 1);
	rest.size = c->options.size;
	rest.error = (float)((double)options->error - (double)base->error / rest.size);
	if (rest.error <= 0)
		return HOB_LOD_END_ERROR;
	hob_lod_level more[HOB_MAX_LODS] = {
		{.indices = HOB_NEW(c->arena, uint32_t, base->index_count), .index_count = base->index_count}};
	uint32_t count = 1;
	memcpy(more[0].indices, base->indices, base->index_count * sizeof(uint32_t));
	part_t part = take_part(c, more[0].indices, base->index_count);
	hob_arena_drop(c->arena, c->local);
	hob_lod_end end = hob_lod_chunks_build(&part.mesh, &rest, c->chunk, more, &count, c->arena);
	for (uint32_t l = 1; l < count; l++) {
		hob_lod_level *level = &levels[*level_count - 1 + l];
		*level = more[l];
		level->error += base->error;
		/* Independent mean errors add up as squares. */
		level->mean_error = hypotf(level->mean_error, base->mean_error);
		level->attributes.uv += base->attributes.uv;
		level->attributes.color += base->attributes.color;
		float weight = level->attributes.weight + base->attributes.weight;
		level->attributes.weight = weight < 1 ? weight : 1;
		level->indices = HOB_NEW(c->result, uint32_t, level->index_count);
		memcpy(level->indices, more[l].indices, level->index_count * sizeof *level->indices);
		to_whole(&part, level);
	}
	*level_count += count - 1;
	return end;
}

static hob_lod_end build(chunks_t *c, const hob_lod_options *options, hob_lod_level *levels,
						 uint32_t *level_count)
{
	begin(c);
	for (uint32_t i = 0; i < c->count; i++) {
		hob_arena_mark mark = hob_arena_save(c->arena);
		build_chunk(c, i);
		hob_arena_restore(c->arena, mark);
	}
	hob_arena_release(&c->passing);
	hob_lod_end end = join(c, levels, level_count);
	return end != HOB_LOD_END_MAX || *level_count == options->max ? end
																  : go_on(c, options, levels, level_count);
}

hob_lod_end hob_lod_chunks_build(const hob_mesh *mesh, const hob_lod_options *options, uint32_t chunk,
								 hob_lod_level *levels, uint32_t *level_count, hob_arena *arena)
{
	uint32_t triangles = levels[0].index_count / 3, count = triangles / chunk + 1;
	if (options->max < 2 || triangles / 2 <= chunk)
		return hob_lods_build(mesh, options, levels, level_count, arena);
	assert(*level_count == 1 && !options->locked);
	hob_arena working;
	chunks_t c = {.mesh = mesh,
				  .options = *options,
				  .full = &levels[0],
				  .chunk = chunk,
				  .count = count < HOB_MESH_MAX_CHUNKS ? count : HOB_MESH_MAX_CHUNKS,
				  .arena = &working,
				  .result = arena};
	double left = triangles;
	if (c.options.size <= 0)
		c.options.size = (double)meshopt_simplifyScale(mesh->position, mesh->vertex_count, 12);
	hob_arena_init(&working, arena->limit);
	hob_arena_init(&c.passing, arena->limit);
	uint32_t most = options->max < HALVINGS + 1 ? options->max : HALVINGS + 1;
	for (c.options.max = 1; c.options.max < most && left / 2 > chunk; c.options.max++)
		left *= (double)options->ratio;
	hob_lod_end end = build(&c, options, levels, level_count);
	hob_arena_release(&working);
	for (uint32_t l = 0; l < HOB_MAX_LODS; l++)
		hob_buf_release(&c.indices[l]);
	return end;
}

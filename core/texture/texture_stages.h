/* texture_stages.h - the stages of hob_textures_bake(), in order: sources, plan, compose, encode. All are
 * called within hob_guarded. */
#ifndef HOB_TEXTURE_STAGES_H
#define HOB_TEXTURE_STAGES_H

#include "blocks.h"
#include "ktx2.h"
#include "mips.h"
#include "picture.h"
#include "texture.h"

#include "../hash/hash.h"

/* ---- sources: one for each picture of the model that a material uses ---- */

typedef struct hob_texture_source {
	bool used;
	bool usable;	/* header read and within the limits */
	hob_str label;	/* for messages: uri, name, or "embedded picture 3" */
	hob_str path;	/* of its file; empty: embedded */
	hob_bytes file; /* RAW: width * height * 4 bytes */
	hob_picture_info info;
	hob_sha256 digest; /* of the file's bytes; RAW: of size and bytes; zeros if not usable */
	uint32_t same_as;  /* first source with the same digest; itself if it is the first */
	/* Recipe and inputs of a made picture, whose `file` is empty; NULL: a plain picture. */
	const hob_made_image *made;
	const struct hob_texture_source *diffuse, *specular; /* NULL: only the factors */
} hob_texture_source;

/* Reads files on the calling thread; digests are computed in parallel. `sources` is [image_count], followed
 * by the parts of made pictures. */
bool hob_texture_sources(const hob_texture_request *request, hob_arena *arena, hob_notes *notes,
						 hob_texture_source **sources, hob_error *err) HOB_MUST_CHECK;

/* ---- plan: the list of outputs ---- */

typedef enum hob_texture_from {
	HOB_FROM_R,
	HOB_FROM_G,
	HOB_FROM_B,
	HOB_FROM_A,
	/* from the stored codes: (77 R + 150 G + 29 B) / 256, as in stb_image */
	HOB_FROM_LUMINANCE,
	HOB_FROM_OPACITY, /* A if some alpha is below 1, else LUMINANCE */
	HOB_FROM_ONE	  /* 255; no source */
} hob_texture_from;

typedef struct hob_texture_input {
	uint32_t source; /* HOB_NONE for HOB_FROM_ONE */
	hob_texture_from from;
} hob_texture_input;

typedef struct hob_texture_recipe {
	hob_use use;
	hob_texture_input in[4];
	uint32_t channels; /* bit k: channel k is used */
	bool alpha_is_opacity;
	float cutoff;		   /* of MASK materials, over their factor; 0: no coverage to preserve */
	bool bump;			   /* in[0] is a height map, unless its pixels are those of a normal map */
	bool clamp_u, clamp_v; /* bump: repeat the edge instead of wrapping */
	bool nearest;		   /* some user samples without filtering: texels must be exact */
	uint32_t flags;		   /* HOB_IMAGE_OPACITY_PACKED, HOB_IMAGE_ORM */
} hob_texture_recipe;

typedef struct hob_texture_plan {
	uint32_t count;
	hob_texture_recipe *recipes;
} hob_texture_plan;

/* Rewrites the slots of `materials` (a copy of the request's) to recipe indices. */
bool hob_texture_plan_make(const hob_texture_request *request, const hob_texture_source *sources,
						   hob_material *materials, hob_arena *arena, hob_notes *notes, hob_texture_plan *out,
						   hob_error *err) HOB_MUST_CHECK; /* LIMIT */

/* The first source of a recipe, or HOB_NONE. */
uint32_t hob_texture_lead_source(const hob_texture_recipe *recipe);

/* The only source of a recipe that uses R, G and B (and A, or no A) of one picture unchanged; else
 * HOB_NONE. */
uint32_t hob_texture_plain_source(const hob_texture_recipe *recipe);

/* ---- load: a source's pixels ---- */

/* Decodes, or makes from other sources. */
bool hob_texture_load(const hob_texture_source *source, const hob_srgb *srgb, const hob_parallel *parallel,
					  hob_arena *arena, hob_picture *out, hob_error *err) HOB_MUST_CHECK;

/* Scales in place: colours as light, others as numbers. A scaled 16-bit picture becomes 8-bit. */
void hob_texture_resize(hob_picture *picture, hob_use use, uint32_t width, uint32_t height,
						const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena);

/* ---- compose: a recipe's inputs as one picture ---- */

typedef enum hob_texture_warning {
	HOB_TEXTURE_WARNING_PLACEHOLDER = 1, /* an input was not available */
	HOB_TEXTURE_WARNING_BUMP_IS_NORMAL = 2,
	HOB_TEXTURE_WARNING_SIDES = 4, /* BC although a side is not a multiple of four (texture_sides) */
	HOB_TEXTURE_WARNING_NO_ASTC = 8,
	HOB_TEXTURE_WARNING_UNPACKED = 16, /* uncompressed: too small for blocks, or sampled NEAREST */
	HOB_TEXTURE_WARNING_BELOW = 32,	   /* normals point into the surface: three channels are kept */
	HOB_TEXTURE_WARNING_EMPTY_ALPHA = 64
} hob_texture_warning;

typedef struct hob_compose_result {
	hob_picture picture;
	uint32_t warnings;
	/* source that could not be decoded, or HOB_NONE; the reason is in bad_reason */
	uint32_t bad_source;
	hob_error bad_reason;
} hob_compose_result;

hob_compose_result hob_texture_compose(const hob_texture_recipe *recipe, const hob_texture_source *sources,
									   const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena);

/* ---- encode: a chain of levels as a file ---- */

/* Facts of an output: a part stores them before its bytes. */
typedef struct hob_texture_facts {
	uint32_t width, height, mips, vk_format, flags, container, warnings;
} hob_texture_facts;

/* The pixel format under the settings; 0 means PNG. `channels` of normals: 3 if Z is implied, else 7.
 * `opaque` and `is_float` describe the chain. */
uint32_t hob_texture_format(const hob_texture_request *request, hob_use use, uint32_t channels, bool opaque,
							bool is_float, bool blocks);

/* Whether the settings request compressed blocks for this size. Float colours have a block format only in BC,
 * and only if their alpha is unused. */
bool hob_texture_wants_blocks(const hob_texture_request *request, const hob_texture_recipe *recipe,
							  bool is_float, uint32_t width, uint32_t height);

/* Appends a KTX2 or DDS source's own blocks as a KTX2 file if they have the requested format or cannot be
 * decoded; returns whether it did. */
bool hob_texture_pass_on(const hob_texture_request *request, const hob_texture_recipe *recipe,
						 const hob_texture_source *source, const hob_parallel *parallel, hob_arena *arena,
						 hob_texture_facts *facts, hob_buf *out);

/* For a chain built from a source with one level of blocks: the source's format and that level, to avoid
 * recompressing it. False when it does not suit the use, or has another size. */
bool hob_texture_own_blocks(const hob_texture_request *request, const hob_texture_recipe *recipe,
							const hob_texture_source *source, uint32_t width, uint32_t height,
							hob_arena *arena, uint32_t *vk_format, hob_bytes *level0);

/* Encoder's effort by the settings. */
hob_bc_quality hob_texture_effort(const hob_texture_request *request);

/* zstd level by the settings; 0: raw. */
int hob_texture_zstd_level(const hob_texture_request *request);

/* The compressed first level of a small picture. *off: its blocks are too far from the pixels, so it is to
 * stay uncompressed. Empty then, and if nothing was tried. */
hob_bytes hob_texture_try_blocks(const hob_texture_request *request, const hob_mips *mips, hob_use use,
								 uint32_t vk_format, uint32_t channels, const hob_parallel *parallel,
								 hob_arena *arena, bool *off);

/* `channels`: bit k for each channel k in use. `level0`, unless empty, replaces the compressed first
 * level. */
void hob_texture_encode(const hob_texture_request *request, const hob_mips *mips, uint32_t vk_format,
						uint32_t channels, hob_bytes level0, const hob_parallel *parallel, hob_arena *arena,
						hob_buf *out);

#endif

/* texture_stages.h - the stages behind hob_textures_bake(), in order: sources, plan, compose, encode. */
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
	hob_bytes file; /* RAW: width * height * 4 bytes */
	hob_picture_info info;
	hob_sha256 digest; /* of the file's bytes; RAW: of size and bytes; zeros when not usable */
	uint32_t same_as;  /* first source with the same digest; itself when there is none before */
	/* Recipe and inputs; NULL: the picture as it is. `file` is empty then. */
	const hob_made_image *made;
	const struct hob_texture_source *diffuse, *specular; /* NULL: the factors alone */
} hob_texture_source;

/* Reads files, from the calling thread; digests run side by side. `sources` is [image_count], and what made
 * pictures are made from behind that. */
bool hob_texture_sources(const hob_texture_request *request, hob_arena *arena, hob_notes *notes,
						 hob_texture_source **sources, hob_error *err) HOB_MUST_CHECK;

/* ---- plan: which outputs there are ---- */

typedef enum hob_texture_from {
	HOB_FROM_R,
	HOB_FROM_G,
	HOB_FROM_B,
	HOB_FROM_A,
	/* of the stored codes: (77 R + 150 G + 29 B) / 256, as stb_image turns colour into grey */
	HOB_FROM_LUMINANCE,
	HOB_FROM_OPACITY, /* A when some alpha is below 1, else LUMINANCE */
	HOB_FROM_ONE	  /* 255, no source */
} hob_texture_from;

typedef struct hob_texture_input {
	uint32_t source; /* HOB_NONE for HOB_FROM_ONE */
	hob_texture_from from;
} hob_texture_input;

typedef struct hob_texture_recipe {
	hob_use use;
	hob_texture_input in[4];
	uint32_t channels; /* bit k: somebody reads channel k */
	bool alpha_is_opacity;
	float cutoff;		   /* of MASK materials, over their factor; 0 = no coverage to keep */
	bool bump;			   /* in[0] is a height map, unless its pixels are those of a normal map */
	bool clamp_u, clamp_v; /* bump: what lies beyond the edges */
	bool nearest;		   /* somebody samples it without filtering: exact texels matter */
	uint32_t flags;		   /* HOB_IMAGE_OPACITY_PACKED, HOB_IMAGE_ORM */
} hob_texture_recipe;

typedef struct hob_texture_plan {
	uint32_t count;
	hob_texture_recipe *recipes;
} hob_texture_plan;

/* Rewrites the slots of `materials` (a copy of the request's) to recipe indices. */
bool hob_texture_plan_make(const hob_texture_request *request, const hob_texture_source *sources,
						   hob_material *materials, hob_arena *arena, hob_notes *notes, hob_texture_plan *out,
						   hob_error *err) HOB_MUST_CHECK;

/* The only source of a recipe that takes R, G and B (and A, or no A) of one picture as they are; HOB_NONE
 * else. */
uint32_t hob_texture_plain_source(const hob_texture_recipe *recipe);

/* ---- load: a source's pixels ---- */

/* Decodes, or makes from other sources. */
bool hob_texture_load(const hob_texture_source *source, const hob_srgb *srgb, const hob_parallel *parallel,
					  hob_arena *arena, hob_picture *out, hob_error *err) HOB_MUST_CHECK;

/* Scales in place: colours as light, else as numbers. Pixels of other sizes become those of eight bits. */
bool hob_texture_resize(hob_picture *picture, hob_use use, uint32_t width, uint32_t height,
						const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena,
						hob_error *err) HOB_MUST_CHECK;

/* ---- compose: a recipe's inputs as one picture ---- */

typedef enum hob_texture_warning {
	HOB_TEXTURE_WARNING_PLACEHOLDER = 1, /* an input could not be had */
	HOB_TEXTURE_WARNING_BUMP_IS_NORMAL = 2,
	HOB_TEXTURE_WARNING_SCALED = 4, /* brought to a multiple of four for block compression */
	HOB_TEXTURE_WARNING_NO_ASTC = 8,
	HOB_TEXTURE_WARNING_UNPACKED = 16, /* stays uncompressed: too small for blocks, or sampled NEAREST */
	HOB_TEXTURE_WARNING_BELOW = 32,	   /* normals point into the surface, and their Z is not stored */
	HOB_TEXTURE_WARNING_EMPTY_ALPHA = 64
} hob_texture_warning;

typedef struct hob_compose_result {
	hob_picture picture;
	hob_use use;
	uint32_t warnings;
	/* whose pixels could not be decoded, HOB_NONE when all could; reason in bad_reason */
	uint32_t bad_source;
	hob_error bad_reason;
} hob_compose_result;

bool hob_texture_compose(const hob_texture_recipe *recipe, const hob_texture_source *sources,
						 const hob_srgb *srgb, const hob_parallel *parallel, hob_arena *arena,
						 hob_compose_result *out, hob_error *err) HOB_MUST_CHECK;

/* ---- encode: a chain of levels as a file ---- */

/* Facts of an output beside its bytes: a part stores them in front. */
typedef struct hob_texture_facts {
	uint32_t width, height, mips, vk_format, flags, container, warnings;
} hob_texture_facts;

/* The pixel format for `recipe` under the settings; 0 means PNG. `opaque` and `is_float` are the chain's. */
uint32_t hob_texture_format(const hob_texture_request *request, hob_use use, uint32_t channels, bool opaque,
							bool is_float, bool blocks);

/* True when settings ask for compressed blocks of this size. Colours in floats have such a format in BC
 * alone, and only while nobody takes their alpha. */
bool hob_texture_wants_blocks(const hob_texture_request *request, const hob_texture_recipe *recipe,
							  bool is_float, uint32_t width, uint32_t height);

/* Appends a KTX2 or DDS source's own blocks as a KTX2 file when they are what is asked for or cannot be
 * unpacked; *done says whether it did. */
bool hob_texture_pass_on(const hob_texture_request *request, const hob_texture_recipe *recipe,
						 const hob_texture_source *source, const hob_parallel *parallel, hob_arena *arena,
						 hob_texture_facts *facts, hob_buf *out, bool *done, hob_error *err) HOB_MUST_CHECK;

/* For a chain built over a source of one level of blocks: the source's format and that level, so that what is
 * compressed already is not compressed again. False when it does not suit the use, or is of another size. */
bool hob_texture_own_blocks(const hob_texture_request *request, const hob_texture_recipe *recipe,
							const hob_texture_source *source, uint32_t width, uint32_t height,
							hob_arena *arena, uint32_t *vk_format, hob_bytes *level0);

/* Level for zstd by the settings; 0 = raw. */
int hob_texture_zstd_level(const hob_texture_request *request);

/* `channels`: bit k for channel k that somebody reads. `level0` replaces the compression of the first level
 * when it is not empty. */
bool hob_texture_encode(const hob_texture_request *request, const hob_mips *mips, uint32_t vk_format,
						uint32_t channels, hob_bytes level0, const hob_parallel *parallel, hob_arena *arena,
						hob_buf *out, hob_error *err) HOB_MUST_CHECK;

#endif

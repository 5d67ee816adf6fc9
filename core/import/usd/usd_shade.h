/* usd_shade.h - networks of shaders: what an input's value is and where it comes from (usd_shade.c), for
 * usd_material.c. */
#ifndef HOB_USD_SHADE_H
#define HOB_USD_SHADE_H

#include "usd_build.h"

/* Where connections lead: to an output of a shader, or to a value (on the shader itself or on some interface
 * around it). */
typedef struct hob_usd_source {
	uint32_t shader; /* prim, HOB_NONE: there is only a value */
	hob_str output;	 /* "rgb", "r", "result" */
	hob_usd_attribute value;
	bool has_value;
} hob_usd_source;

/* Follows the property ("inputs:diffuseColor", "outputs:surface") of a prim. False in the return value only
 * for memory. */
bool hob_usd_follow(hob_usd *u, uint32_t prim, const char *property, hob_usd_source *out,
					hob_error *err) HOB_MUST_CHECK;
/* The value of an input without connection; NULL when there is none. */
const hob_usd_value *hob_usd_constant(const hob_usd_source *source);
/* A shader's "info:id", or the name that it has in its MDL module. */
hob_str hob_usd_shader_id(const hob_usd *u, uint32_t prim);

/* A picture, where it lies on the surface, and what is done to its values. */
typedef struct hob_usd_texture {
	hob_texture_ref ref; /* image HOB_NONE: there is none */
	char channel;		 /* 'r' 'g' 'b' 'a', or 0 for all */
	float scale[4], bias[4], fallback[4];
	bool has_fallback;
	bool raw;		 /* its colours are linear light, not sRGB */
	hob_str primvar; /* colours of points instead of a picture; empty without */
} hob_usd_texture;

/* The texture that an input's source is; ref.image == HOB_NONE when it is something else. `look` learns which
 * primvar it reads. */
bool hob_usd_read_texture(hob_usd_build_t *b, const hob_usd_source *source, hob_usd_look *look,
						  hob_usd_texture *out, hob_error *err) HOB_MUST_CHECK;

struct hob_usd_surface;
/* The picture that an input of a surface names itself, on the texture coordinates "st"; ref.image == HOB_NONE
 * without. */
bool hob_usd_asset_input(struct hob_usd_surface *s, const char *name, hob_texture_ref *out) HOB_MUST_CHECK;

/* A texture for one number: with the channel that is read. */
hob_texture_ref hob_usd_scalar(const hob_usd_texture *texture);

/* ---- usd_material.c: what surfaces share */

typedef struct hob_usd_surface {
	hob_usd_build_t *b;
	uint32_t shader;
	hob_material *to;
	hob_usd_look *look;
	hob_error *err;
} hob_usd_surface;

/* An input: its number(s) in `out`, and its texture. A texture's neutral value is 1, to be multiplied
 * with. */
bool hob_usd_surface_input(hob_usd_surface *s, const char *name, float *out, uint32_t width,
						   hob_usd_texture *texture) HOB_MUST_CHECK;
/* Where a base colour is that of the points, their colours are what counts, and `out` is white. */
bool hob_usd_surface_colors(hob_usd_surface *s, const hob_usd_texture *color, float *out) HOB_MUST_CHECK;
/* Cut to 0..1; 0 for what is no number. */
float hob_usd_unit(float value);

/* ---- usd_mtlx.c: surfaces of MaterialX (standard_surface, open_pbr_surface, gltf_pbr, disney_principled,
 * RealityKit's) */

/* *known: whether `id` ("ND_standard_surface_surfaceshader") is one; the material is filled then. */
bool hob_usd_mtlx_surface(hob_usd_surface *s, hob_str id, bool *known) HOB_MUST_CHECK;

/* ---- usd_mdl.c: NVIDIA's OmniPBR, whose pictures are inputs of the surface itself */

/* *known: whether `id` ("OmniPBR", "OmniPBR_Opacity") is one; the material is filled then. */
bool hob_usd_mdl_surface(hob_usd_surface *s, hob_str id, bool *known) HOB_MUST_CHECK;

#endif

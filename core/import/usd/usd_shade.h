/* usd_shade.h - shader networks: the value of an input and its source (usd_shade.c), for usd_material.c. */
#ifndef HOB_USD_SHADE_H
#define HOB_USD_SHADE_H

#include "usd_build.h"

/* End of a chain of connections: a shader's output, or a value (on the shader or on an enclosing
 * interface). */
typedef struct hob_usd_source {
	uint32_t shader; /* prim; HOB_NONE: a value only */
	hob_str output;	 /* "rgb", "r", "result" */
	hob_usd_attribute value;
	bool has_value;
} hob_usd_source;

/* Follows a property of a prim: "inputs:diffuseColor", "outputs:surface". False only when memory is short. */
bool hob_usd_follow(hob_usd *u, uint32_t prim, const char *property, hob_usd_source *out,
					hob_error *err) HOB_MUST_CHECK;
/* The value of an unconnected input, or NULL. */
const hob_usd_value *hob_usd_constant(const hob_usd_source *source);
/* A shader's "info:id", or its name in its MDL module. */
hob_str hob_usd_shader_id(const hob_usd *u, uint32_t prim);

/* A picture, its placement, and the operations on its values. */
typedef struct hob_usd_texture {
	hob_texture_ref ref; /* image HOB_NONE: none */
	char channel;		 /* 'r' 'g' 'b' 'a', or 0 for all */
	float scale[4], bias[4], fallback[4];
	bool has_fallback;
	bool raw;		 /* colours are linear, not sRGB */
	hob_str primvar; /* point colours instead of a picture; else empty */
} hob_usd_texture;

/* The texture that is an input's source; ref.image == HOB_NONE if the source is something else. Records in
 * `look` the primvar that it reads. */
bool hob_usd_read_texture(hob_usd_build_t *b, const hob_usd_source *source, hob_usd_look *look,
						  hob_usd_texture *out, hob_error *err) HOB_MUST_CHECK;

struct hob_usd_surface;
/* The picture named by a surface input's value, with the texture coordinates "st"; image HOB_NONE: none. */
bool hob_usd_asset_input(struct hob_usd_surface *s, const char *name, hob_texture_ref *out) HOB_MUST_CHECK;

/* Texture of a scalar, with its channel. */
hob_texture_ref hob_usd_scalar(const hob_usd_texture *texture);

/* ---- usd_material.c: shared by the surfaces */

typedef struct hob_usd_surface {
	hob_usd_build_t *b;
	uint32_t shader;
	hob_material *to;
	hob_usd_look *look;
	hob_error *err;
} hob_usd_surface;

/* An input: its number(s) in `out`, and its texture, for which the number is a multiplier, 1 by default. */
bool hob_usd_surface_input(hob_usd_surface *s, const char *name, float *out, uint32_t width,
						   hob_usd_texture *texture) HOB_MUST_CHECK;
/* If the base colour is a primvar of the points, stores its name in the look and sets `out` to white. */
bool hob_usd_surface_colors(hob_usd_surface *s, const hob_usd_texture *color, float *out) HOB_MUST_CHECK;
/* Clamps to 0..1; NaN becomes 0. */
float hob_usd_unit(float value);

/* ---- usd_mtlx.c: surfaces of MaterialX (standard_surface, open_pbr_surface, gltf_pbr, disney_principled,
 * RealityKit's) */

/* *known: whether `id` ("ND_standard_surface_surfaceshader") is supported; if so, the material is filled. */
bool hob_usd_mtlx_surface(hob_usd_surface *s, hob_str id, bool *known) HOB_MUST_CHECK;

/* ---- usd_mdl.c: NVIDIA's OmniPBR, with pictures as inputs of the surface itself */

/* *known: whether `id` ("OmniPBR", "OmniPBR_Opacity") is supported; if so, the material is filled. */
bool hob_usd_mdl_surface(hob_usd_surface *s, hob_str id, bool *known) HOB_MUST_CHECK;

#endif

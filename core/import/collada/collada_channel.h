/* collada_channel.h - resolves the target of a <channel>: "node/sid.X", "node/sid(0)(3)", "controller(2)". */
#ifndef HOB_COLLADA_CHANNEL_H
#define HOB_COLLADA_CHANNEL_H

#include "collada_curve.h"

/* A channel bound to its target. */
typedef struct hob_collada_binding {
	hob_xml_ptr node;	   /* owner of the transform; for weights the controller */
	hob_xml_ptr transform; /* NULL for weights */
	uint32_t first; /* component of the transform, or morph target, that component 0 of the curve drives */
	uint32_t order; /* index of the channel in the file */
	hob_collada_curve curve;
} hob_collada_binding;

/* Adds the channel to `bindings`; a channel whose target the model does not have is noted and left out. */
bool hob_collada_bind(hob_collada *c, hob_xml_ptr channel, hob_buf *bindings, hob_error *err) HOB_MUST_CHECK;

#endif

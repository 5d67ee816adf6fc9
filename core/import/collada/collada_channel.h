/* collada_channel.h - what a <channel> moves: "node/sid.X", "node/sid(0)(3)", "controller(2)". */
#ifndef HOB_COLLADA_CHANNEL_H
#define HOB_COLLADA_CHANNEL_H

#include "collada_curve.h"

/* One channel, bound to what it moves. */
typedef struct hob_collada_binding {
	hob_xml_ptr node;	   /* whose transform is moved; for weights the controller */
	hob_xml_ptr transform; /* NULL for weights */
	uint32_t first;		   /* number of the transform, or target, that component 0 of the curve moves */
	uint32_t order;		   /* of channels in the file */
	hob_collada_curve curve;
} hob_collada_binding;

/* Adds the channel to `bindings`; one that moves nothing that the model holds is noted and left out. */
bool hob_collada_bind(hob_collada *c, hob_xml_ptr channel, hob_buf *bindings, hob_error *err) HOB_MUST_CHECK;

#endif

/* rt_instance.h - inside of an instance, for the sources that read it. */
#ifndef HOB_RT_INSTANCE_H
#define HOB_RT_INSTANCE_H

#include "rt_private.h"

enum { RT_NODE_MATRIX = 1, RT_NODE_IDENTITY = 2 };

/* Dirty nodes are bits, with a second level of one bit per word: finding the next one skips 4096 clean nodes
 * at a time, and marking needs no list that could overflow. */
struct hob_rt_instance {
	const rt_asset *asset;
	float *translations, *rotations, *scales; /* [node_count][3], [4], [3] */
	float *locals, *globals;				  /* [node_count][16] */
	uint8_t *flags;							  /* [node_count] RT_NODE_* */
	uint64_t *dirty, *dirty_words;
	float *weights;
	hob_rt_range *ranges;
	uint32_t range_count;
	/* The matrix before the roots. */
	float base[16];
	bool placed; /* base is not the identity */
	struct hob_rt_instance *host, *first_child, *next_sibling;
	uint32_t host_node;
};

#endif

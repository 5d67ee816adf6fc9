/* glb_roots.h - roots of scenes as glTF requires them: the joints of a skin have a common root and are in
 * every scene that shows the skin. Some sources break both rules, and packed files need neither. */
#ifndef HOB_GLB_ROOTS_H
#define HOB_GLB_ROOTS_H

#include "glb_writer.h"

typedef struct glb_roots {
	glb_writer *w;
	hob_pack_array skin_links;
	uint32_t *top;		 /* [nodes] the root above, or the node itself */
	uint8_t *gathered;	 /* [nodes] 1: a root put below an extra node: a skin has joints under several */
	uint32_t gathering;	 /* number of that node in nodes, or HOB_NONE */
	uint32_t *joint_top; /* [skins] a root of its joints, or HOB_NONE */
	/* [nodes], [skin links]: for each root, a chain of skin links (+ 1) with joints under other roots */
	uint32_t *need_first, *need_next;
	uint32_t *shown, *queue; /* [nodes + 1] */
	uint32_t gathered_count, queued, stamp;
} glb_roots;

/* Call it after all nodes are put; puts one more if joints must be gathered. Errors: MEMORY. */
bool hob_glb_roots_find(glb_roots *r, glb_writer *w);
/* Puts ,"nodes":[...] of a scene with these roots and returns their number; 0 puts nothing. */
uint32_t hob_glb_roots_put(glb_roots *r, hob_buf *json, const uint32_t *roots, uint32_t count,
						   uint32_t stride);

#endif

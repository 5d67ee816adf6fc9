/* ply_unread.h - names of properties of a PLY file that nothing reads, for one note; private to the PLY
 * reader. */
#ifndef HOB_PLY_UNREAD_H
#define HOB_PLY_UNREAD_H

#include "importer.h"

typedef struct hob_ply_unread {
	hob_buf names; /* text */
	bool matters;  /* a surface would look different with one of them */
	bool splats;   /* 3D Gaussian splats, which have a note of their own */
} hob_ply_unread;

/* `element` is what it belongs to. */
void hob_ply_unread_add(hob_ply_unread *unread, const char *element, hob_str name);
/* A warning if they matter. */
void hob_ply_unread_say(const hob_ply_unread *unread, hob_notes *notes);

#endif

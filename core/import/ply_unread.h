/* ply_unread.h - collects the properties of a PLY file that are not read, for one note; private to the PLY
 * reader. */
#ifndef HOB_PLY_UNREAD_H
#define HOB_PLY_UNREAD_H

#include "importer.h"

typedef struct hob_ply_unread {
	hob_buf names; /* text */
	bool matters;  /* some unread property would change the look of a surface */
	bool splats;   /* 3D Gaussian splats, which have their own note */
} hob_ply_unread;

/* `element`: name of the element that the property belongs to. */
void hob_ply_unread_add(hob_ply_unread *unread, const char *element, hob_str name);
/* A warning if they matter. */
void hob_ply_unread_say(const hob_ply_unread *unread, hob_notes *notes);

#endif

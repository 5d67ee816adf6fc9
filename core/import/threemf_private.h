/* threemf_private.h - shared by the files of the 3MF reader.
 *
 *   threemf.c           the importer: the archive, its model parts
 *   threemf_mesh.c      objects -> meshes, one for each material of an object
 *   threemf_material.c  base materials, colours, textures, composites
 *   threemf_filament.c  filament colours, from metadata of slicers
 *   threemf_slicer.c    metadata of slicers (Bambu Studio, OrcaSlicer, PrusaSlicer, Cura): names, helper
 *                       parts
 *
 * Source: 3MF Core Specification 1.3, Materials and Properties Extension 1.2, Production Extension 1.1 (3MF
 * Consortium). */
#ifndef HOB_THREEMF_PRIVATE_H
#define HOB_THREEMF_PRIVATE_H

#include "lists.h"
#include "name_map.h"
#include "xml.h"
#include "zip.h"

typedef struct hob_threemf_triangle {
	uint32_t vertex[3], group, property[3]; /* group: pid; HOB_NONE if absent */
} hob_threemf_triangle;

/* A model part: an XML tree without vertices and triangles, which are in lists. */
typedef struct hob_threemf_part {
	hob_str path;
	hob_xml xml;
	float unit;		   /* metres */
	hob_buf vertices;  /* float [3], metres */
	hob_buf triangles; /* hob_threemf_triangle */
	hob_buf ranges;	   /* hob_threemf_range, in the order of the file */
	bool painted;	   /* triangles carry a slicer's own colours */
} hob_threemf_part;

typedef struct hob_threemf_range {
	const hob_xml_element *mesh;
	uint32_t vertex_first, vertex_count, triangle_first, triangle_count;
} hob_threemf_range;

/* Target of an id: an object or a group of properties. */
typedef struct hob_threemf_resource {
	const hob_xml_element *element;
	uint32_t part, id;
	const hob_xml_element **items; /* of a group, by index */
	uint32_t item_count;
	uint32_t *materials; /* [item_count]; HOB_NONE: not created yet */
	uint32_t material;	 /* of a group: the material of the whole; of an object: default of its triangles */
	bool made;			 /* objects: meshes have been built */
	uint32_t mesh_first, mesh_count;
} hob_threemf_resource;

typedef struct hob_threemf {
	const hob_import_request *request;
	hob_model *model;
	hob_zip archive;
	hob_buf parts, resources; /* hob_threemf_part, hob_threemf_resource */
	hob_name_map part_ids, resource_ids;
	hob_lists lists;
	hob_name_map pictures;
	bool layered;	  /* some part has <multiproperties> */
	hob_buf settings; /* threemf_slicer.c */
	hob_name_map setting_ids;
	uint32_t helpers;	   /* number of parts that only steer the slicer */
	bool extruders, split; /* some object or part names a filament; some volume of an object does */
	hob_buf filaments;	   /* hob_threemf_filament_entry */
} hob_threemf;

typedef struct hob_threemf_filament_entry {
	float color[4]; /* linear */
	uint32_t material;
} hob_threemf_filament_entry;

/* NULL for an empty list. */
#define HOB_THREEMF_AT(buf, type, index) ((buf).data ? &((type *)(void *)(buf).data)[index] : NULL)

/* Maps from a pair of numbers (a part and an id within it). Lookup: HOB_NONE when the pair is absent. */
void hob_threemf_keep(hob_threemf *t, hob_name_map *ids, uint32_t first, uint32_t second, uint32_t index);
uint32_t hob_threemf_kept(const hob_name_map *ids, uint32_t first, uint32_t second);
/* The resource `id` of a part; NULL when there is none. */
hob_threemf_resource *hob_threemf_find(hob_threemf *t, uint32_t part, uint32_t id);
/* Unpacks the member that a path of the package names, with or without the leading slash. */
bool hob_threemf_member(hob_threemf *t, hob_arena *arena, hob_str path, hob_bytes *out) HOB_MUST_CHECK;

/* Look of the triangles of a property group. */
typedef struct hob_threemf_look {
	uint32_t material;		/* HOB_NONE: the default */
	bool colored, textured; /* each corner has a colour, or texture coordinates */
	hob_threemf_resource *group;
} hob_threemf_look;

/* The look of item `property` of group `id`. */
hob_threemf_look hob_threemf_look_of(hob_threemf *t, uint32_t part, uint32_t id, uint32_t property);
/* Replaces a corner of a multi-layer group (<multiproperties>) by one of the displayed layer: the last with
 * colours or a texture, else the first. Other corners are unchanged. */
void hob_threemf_layer(hob_threemf *t, uint32_t part, uint32_t *group, uint32_t property[3]);
/* Read an item: of a <colorgroup>, linear RGBA; of a <texture2dgroup>, U and V, with V from the top. */
void hob_threemf_color(const hob_threemf_resource *group, uint32_t property, float out[4]);
void hob_threemf_uv(const hob_threemf_resource *group, uint32_t property, float out[2]);

/* #RRGGBB or #RRGGBBAA, sRGB, to linear. False for anything else; *out is then unchanged. */
bool hob_threemf_read_color(hob_str text, float out[4]);

/* Reads the filament colours; files may have none. */
void hob_threemf_filaments(hob_threemf *t);
/* Material of an extruder, counted from 1; HOB_NONE without a colour. */
uint32_t hob_threemf_filament(hob_threemf *t, uint32_t extruder);

/* Reads slicer metadata of the start part's objects and their components. */
void hob_threemf_settings(hob_threemf *t);
/* Slicer metadata of an object, of one of its components, or of some of its triangles. */
typedef struct hob_threemf_setting {
	uint32_t first, last; /* triangles of the volume */
	uint32_t next;		  /* next volume of the same object */
	uint32_t extruder;	  /* from 1; 0: absent */
	bool helper;		  /* only steers the slicer */
	hob_str name;
} hob_threemf_setting;
/* The setting of one of an object's components; HOB_NONE as `component`: of the object itself. NULL when
 * there is none. */
const hob_threemf_setting *hob_threemf_setting_of(const hob_threemf *t, uint32_t object, uint32_t component);
/* Whether Cura's metadata say that an object only steers the slicer; notes it. */
bool hob_threemf_steers(hob_threemf *t, const hob_xml_element *object);
/* The extruder of a component, or of the object, counted from 1; 0 when the file names none. */
uint32_t hob_threemf_extruder(const hob_threemf *t, uint32_t object, uint32_t component);
/* Sets the bucket of triangles in helper parts, which only steer the slicer, to HOB_NONE. */
void hob_threemf_helper_triangles(const hob_threemf *t, uint32_t object, uint32_t *bucket_of, uint32_t count);

/* The meshes of an object, built once. */
void hob_threemf_meshes(hob_threemf *t, hob_threemf_resource *object);

#endif

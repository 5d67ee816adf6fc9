#include "glb_make.h"

#include "../../core/formats/glb.h"
#include "../../core/texture/picture_export.h"

enum { PIXEL_BYTES_MAX = 1 << 30 };

typedef struct pictures {
	const srv_glb_source *source;
	hob_arena arena; /* pixels of one picture at a time */
	hob_buf file;
	hob_notes *notes;
} pictures;

/* glTF requires PNG or JPEG, so GPU formats are decoded. A picture that cannot be decoded is left out. */
static bool get_picture(void *user, uint32_t index, const hob_pk_image *image, hob_bytes *out, hob_error *err)
{
	pictures *p = user;
	hob_bytes blob = {0};
	hob_error why = {0};
	if (!p->source->blob(p->source->user, image->cooked_sha256, &blob, err))
		return hob_fail_in(err, "image %u", index);
	*out = (hob_bytes){0};
	p->file.size = 0;
	if (blob.size == 0)
		return true;
	if (hob_picture_export(blob, image->flags, &p->arena, &p->file, &why)) {
		*out = hob_buf_bytes(&p->file);
		return true;
	}
	if (why.code != HOB_ERR_UNSUPPORTED) {
		*err = why;
		return hob_fail_in(err, "image %u", index);
	}
	hob_note_add(p->notes, HOB_NOTE_WARNING, "glb.image-not-unpacked", "image %u: %s", index, why.context);
	return true;
}

bool srv_glb_make(const srv_glb_source *source, hob_notes *notes, hob_buf *out, hob_error *err)
{
	pictures have = {.source = source, .notes = notes};
	hob_arena_init(&have.arena, PIXEL_BYTES_MAX);
	hob_glb_pictures get = {&have, get_picture};
	bool ok = hob_glb_from_packed(&source->set, &get, notes, out, err);
	hob_buf_release(&have.file);
	hob_arena_release(&have.arena);
	return ok;
}

#include "assimp_io.h"

#include <limits.h>

typedef struct hob_assimp_file {
	struct aiFile vtable;
	hob_assimp_io *io;
	hob_bytes bytes;
	size_t at;
	struct hob_assimp_file *next;
} file_t;

static size_t file_read(struct aiFile *vtable, char *out, size_t size, size_t count)
{
	file_t *file = (file_t *)(void *)vtable;
	size_t left = file->at < file->bytes.size ? file->bytes.size - file->at : 0;
	size_t wanted;
	if (size == 0 || count == 0)
		return 0;
	if (!hob_mul(size, count, &wanted) || wanted > left)
		wanted = left;
	if (wanted > 0)
		memcpy(out, file->bytes.data + file->at, wanted);
	file->at += wanted;
	return wanted / size;
}

static size_t file_write(struct aiFile *vtable, const char *data, size_t size, size_t count)
{
	(void)vtable, (void)data, (void)size, (void)count;
	return 0;
}

static size_t file_tell(struct aiFile *vtable)
{
	return ((file_t *)(void *)vtable)->at;
}

static size_t file_size(struct aiFile *vtable)
{
	return ((file_t *)(void *)vtable)->bytes.size;
}

static enum aiReturn file_seek(struct aiFile *vtable, size_t offset, enum aiOrigin origin)
{
	file_t *file = (file_t *)(void *)vtable;
	/* As in fseek, the offset may be negative; it is passed as size_t, and the addition wraps. */
	size_t base = origin == aiOrigin_SET ? 0 : origin == aiOrigin_CUR ? file->at : file->bytes.size;
	size_t target = base + offset;
	if (target > (size_t)LONG_MAX)
		return aiReturn_FAILURE;
	file->at = target;
	return aiReturn_SUCCESS;
}

static void file_flush(struct aiFile *vtable)
{
	(void)vtable;
}

static bool is_reading(const char *mode)
{
	return !mode || (!strchr(mode, 'w') && !strchr(mode, 'a') && !strchr(mode, '+'));
}

static bool load(hob_assimp_io *io, hob_str path, hob_bytes *bytes)
{
	const hob_import_request *request = io->request;
	while (path.len > 0 && (path.data[0] == '/' || path.data[0] == '\\'))
		path = hob_str_sub(path, 1, path.len);
	if (hob_str_equal(path, io->name)) {
		*bytes = request->file;
		return true;
	}
	hob_str joined, other;
	hob_error why = {0};
	if (!hob_io_join(request->io, request->scratch, hob_path_dir(request->path), path, &joined, &why)) {
		if (why.code == HOB_ERR_OUTSIDE)
			hob_note_add(request->notes, HOB_NOTE_WARNING, "assimp.file-refused",
						 "the model asks for '%.*s', which is not below the watched root; "
						 "move it beside the model",
						 HOB_FMT(path));
		return false;
	}
	const hob_io *source = request->io;
	if (source->read(source->user, joined, bytes, &why))
		return true;
	if (why.code == HOB_ERR_MISSING_FILE && source->find_nocase &&
		source->find_nocase(source->user, joined, &other) && source->read(source->user, other, bytes, &why)) {
		hob_note_add(
			request->notes, HOB_NOTE_WARNING, "file.case",
			"'%.*s' does not exist; '%.*s' is used. Correct the spelling: other tools will not find it",
			HOB_FMT(joined), HOB_FMT(other));
		return true;
	}
	if (why.code != HOB_ERR_MISSING_FILE && why.code != HOB_ERR_OUTSIDE && io->failure.code == HOB_ERR_OK)
		io->failure = why;
	return false;
}

static struct aiFile *io_open(struct aiFileIO *vtable, const char *path, const char *mode)
{
	hob_assimp_io *io = (hob_assimp_io *)(void *)vtable->UserData;
	hob_bytes bytes;
	if (!is_reading(mode) || !load(io, hob_str_of(path), &bytes))
		return NULL;
	file_t *file = io->released;
	if (file)
		io->released = file->next;
	else
		file = HOB_NEW(io->request->scratch, file_t, 1);
	if (!file) {
		hob_fail_memory(&io->failure, io->request->scratch, "an open file");
		return NULL;
	}
	*file = (file_t){
		.vtable = {file_read, file_write, file_tell, file_size, file_seek, file_flush, NULL},
		.io = io,
		.bytes = bytes,
	};
	return &file->vtable;
}

static void io_close(struct aiFileIO *vtable, struct aiFile *closed)
{
	hob_assimp_io *io = (hob_assimp_io *)(void *)vtable->UserData;
	file_t *file = (file_t *)(void *)closed;
	if (!file)
		return;
	file->next = io->released;
	io->released = file;
}

bool hob_assimp_io_init(hob_assimp_io *io, const hob_import_request *request, bool by_name, hob_error *err)
{
	hob_str extension = hob_path_extension(request->path);
	hob_str name = by_name ? hob_arena_str(request->scratch, hob_path_name(request->path))
						   : hob_arena_printf(request->scratch, HOB_ASSIMP_STEM ".%.*s", HOB_FMT(extension));
	if (!name.data)
		return hob_fail_memory(err, request->scratch, "a file name");
	*io = (hob_assimp_io){.vtable = {io_open, io_close, NULL}, .request = request, .name = name};
	io->vtable.UserData = (char *)io;
	return true;
}

#include "cook_world.h"

static bool read_file(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	const hob_io *io = ((hob_cook_world *)user)->request->io;
	struct hob_guard *guard = hob_guard_suspend();
	bool done = io->read(io->user, path, out, err);
	hob_guard_resume(guard);
	return done;
}

static bool find_nocase(void *user, hob_str path, hob_str *found)
{
	const hob_io *io = ((hob_cook_world *)user)->request->io;
	struct hob_guard *guard = hob_guard_suspend();
	bool done = io->find_nocase && io->find_nocase(io->user, path, found);
	hob_guard_resume(guard);
	return done;
}

static void refused(void *user, hob_str reference, bool absolute)
{
	const hob_io *io = ((hob_cook_world *)user)->request->io;
	struct hob_guard *guard = hob_guard_suspend();
	if (io->refused)
		io->refused(io->user, reference, absolute);
	hob_guard_resume(guard);
}

static void done_with(void *user, hob_str path)
{
	const hob_io *io = ((hob_cook_world *)user)->request->io;
	struct hob_guard *guard = hob_guard_suspend();
	if (io->done)
		io->done(io->user, path);
	hob_guard_resume(guard);
}

static hob_part_state get_part(void *user, const uint8_t key[32], bool wait, hob_bytes *out)
{
	const hob_parts *parts = ((hob_cook_world *)user)->request->parts;
	struct hob_guard *guard = hob_guard_suspend();
	hob_part_state state = parts->get ? parts->get(parts->user, key, wait, out) : HOB_PART_UNKNOWN;
	hob_guard_resume(guard);
	return state;
}

static void put_part(void *user, const uint8_t key[32], hob_bytes bytes)
{
	const hob_parts *parts = ((hob_cook_world *)user)->request->parts;
	struct hob_guard *guard = hob_guard_suspend();
	if (parts->put)
		parts->put(parts->user, key, bytes);
	hob_guard_resume(guard);
}

static bool export_glb(void *user, const hob_editor_ask *ask, hob_bytes *out, hob_error *err)
{
	const hob_editor *editor = ((hob_cook_world *)user)->request->editor;
	struct hob_guard *guard = hob_guard_suspend();
	bool done = editor->export_glb(editor->user, ask, out, err);
	hob_guard_resume(guard);
	return done;
}

void hob_cook_world_begins(const hob_cook_world *world, hob_cook_stage stage)
{
	struct hob_guard *guard = hob_guard_suspend();
	if (world->request->progress)
		world->request->progress(world->request->progress_user, stage);
	hob_guard_resume(guard);
}

void hob_cook_world_init(hob_cook_world *world, const hob_cook_request *request)
{
	*world = (hob_cook_world){.request = request,
							  .io = {world, read_file, find_nocase, refused, done_with},
							  .parts = {world, get_part, put_part},
							  .editor = {world, export_glb}};
}

#include "texture_stages.h"

#include "astc.h"

#include <assert.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <zstd.h>

/* Header of a part; the file follows it. */
typedef struct part_head {
	uint8_t magic[8];
	hob_texture_facts facts;
	uint32_t reserved;
} part_head;

static const uint8_t part_magic[8] = {'H', 'O', 'B', 'T', 'E', 'X', '0' + HOB_TEXTURE_VERSION, '\n'};

typedef struct job {
	const hob_texture_recipe *recipe;
	hob_sha256 key;
	uint64_t pixels;	  /* of all sources; sorts the work */
	bool keyed;			  /* false when a source is missing: not stored */
	hob_part_state state; /* KNOWN: `file` came from the caller's parts */
	hob_texture_facts facts;
	hob_buf made; /* part_head and file, when not known */
	hob_bytes file;
	hob_sha256 digest;
	uint32_t bad_source;
	hob_error bad_reason;
	hob_error error; /* code OK: it is made */
} job;

typedef struct bake {
	const hob_texture_request *request;
	hob_arena *result, *scratch;
	hob_notes *notes;
	hob_baked_texture *textures;
	hob_baked_materials out;
	hob_texture_source *sources;
	hob_texture_plan plan;
	hob_srgb *srgb;
	job *jobs;
	uint32_t *order; /* jobs to do, largest first */
	uint32_t order_count;
	const hob_parallel *inner;
	size_t memory; /* for one job */
} bake;

/* ---- keys */

static hob_sha256 key_of(const bake *b, const hob_texture_recipe *r)
{
	const hob_settings *s = &b->request->settings;
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob texture");
	hob_key_u64(&keyer, "version", HOB_TEXTURE_VERSION);
	hob_key_str(&keyer, "libraries", hob_str_of(hob_textures_libraries()));
	for (int k = 0; k < 4; k++) {
		hob_key_u64(&keyer, "from", (uint64_t)r->in[k].from);
		if (r->in[k].source != HOB_NONE)
			hob_key_digest(&keyer, "source", &b->sources[r->in[k].source].digest);
	}
	hob_key_u64(&keyer, "use", (uint64_t)r->use);
	hob_key_u64(&keyer, "channels", r->channels);
	hob_key_u64(&keyer, "opacity", r->alpha_is_opacity);
	hob_key_f32(&keyer, "cutoff", r->cutoff);
	hob_key_u64(&keyer, "bump", r->bump ? 1u + r->clamp_u + 2u * r->clamp_v : 0u);
	hob_key_u64(&keyer, "nearest", r->nearest);
	hob_key_u64(&keyer, "flags", r->flags);
	hob_key_u64(&keyer, "png", b->request->png);
	hob_key_u64(&keyer, "soonest", b->request->soonest);
	hob_key_u64(&keyer, "encoding", s->texture_encoding);
	hob_key_u64(&keyer, "quality", s->texture_quality);
	hob_key_u64(&keyer, "basis", s->texture_basis);
	hob_key_u64(&keyer, "sides", s->texture_sides);
	hob_key_u64(&keyer, "max size", s->texture_max_size);
	hob_key_u64(&keyer, "mipmaps", s->texture_mipmaps);
	hob_key_u64(&keyer, "zstd", s->texture_zstd);
	return hob_keyer_finish(&keyer);
}

#define TEXT(x)	  #x
#define NUMBER(x) TEXT(x)

const char *hob_textures_libraries(void)
{
	return "textures " NUMBER(HOB_TEXTURE_VERSION) ", stb_image " HOB_STB
												   ", libdeflate " LIBDEFLATE_VERSION_STRING
												   ", zstd " ZSTD_VERSION_STRING
#ifdef HOB_WEBP
												   ", libwebp " HOB_WEBP
#endif
#ifdef HOB_TIFF
												   ", libtiff " HOB_TIFF
#endif
#ifdef HOB_EXR
												   ", OpenEXR " HOB_EXR
#endif
#ifdef HOB_AVIF
												   ", libavif " HOB_AVIF
#endif
#ifdef HOB_ASTC
												   ", astcenc " HOB_ASTC
#endif
#if defined __aarch64__
												   ", arm64"
#elif !defined __x86_64__
												   ", another processor"
#endif
		;
}

/* ---- parts */

static bool open_part(hob_bytes part, hob_texture_facts *facts, hob_bytes *file)
{
	part_head head;
	if (part.size <= sizeof head)
		return false;
	memcpy(&head, part.data, sizeof head);
	if (memcmp(head.magic, part_magic, sizeof part_magic) != 0)
		return false;
	*facts = head.facts;
	*file = (hob_bytes){part.data + sizeof head, part.size - sizeof head};
	return true;
}

static void store_head(job *j)
{
	part_head head = {.facts = j->facts};
	memcpy(head.magic, part_magic, sizeof part_magic);
	memcpy(j->made.data, &head, sizeof head);
}

/* ---- one texture */

/* Passes on a file that already has the requested format, or that cannot be decoded; returns whether it
 * did. */
static bool pass_on(const bake *b, job *j, const hob_parallel *parallel, hob_arena *arena)
{
	uint32_t lone = hob_texture_plain_source(j->recipe);
	if (lone == HOB_NONE || b->request->png)
		return false;
	const hob_texture_source *source = &b->sources[lone];
	if (!source->usable || source->info.format == HOB_PICTURE_RAW)
		return false;
	if (b->request->settings.texture_encoding != HOB_TEXTURE_SOURCE)
		return hob_texture_pass_on(b->request, j->recipe, source, parallel, arena, &j->facts, &j->made);
	uint32_t flags = j->recipe->flags | (j->recipe->use == HOB_USE_COLOR ? HOB_IMAGE_SRGB : 0u);
	j->facts = (hob_texture_facts){source->info.width,
								   source->info.height,
								   source->info.mips,
								   source->info.vk_format,
								   flags,
								   HOB_IMAGE_SOURCE_FILE,
								   0};
	hob_buf_put(&j->made, source->file.data, source->file.size);
	return true;
}

static void target_size(const bake *b, job *j, const hob_picture *picture, uint32_t *width, uint32_t *height,
						bool *blocks)
{
	uint32_t cap = b->request->settings.texture_max_size;
	hob_fit_size(picture->width, picture->height, cap, width, height);
	bool is_float = picture->depth == HOB_DEPTH_FLOAT;
	*blocks = hob_texture_wants_blocks(b->request, j->recipe, is_float, *width, *height);
	uint32_t encoding = b->request->settings.texture_encoding;
	if (b->request->png || b->request->soonest || (is_float && !*blocks) ||
		(encoding != HOB_TEXTURE_BC && encoding != HOB_TEXTURE_ASTC))
		return;
	if (!*blocks) {
		j->facts.warnings |= encoding == HOB_TEXTURE_ASTC && !hob_astc_available()
								 ? HOB_TEXTURE_WARNING_NO_ASTC
								 : HOB_TEXTURE_WARNING_UNPACKED;
	} else if (encoding == HOB_TEXTURE_BC && (*width % 4 != 0 || *height % 4 != 0)) {
		j->facts.warnings |= HOB_TEXTURE_WARNING_SIDES;
		if (b->request->settings.texture_sides == HOB_SIDES_FOURS) {
			*width = (*width + 3) & ~3u;
			*height = (*height + 3) & ~3u;
		}
	}
}

static void make(const bake *b, job *j, const hob_parallel *parallel, hob_arena *arena)
{
	const hob_texture_recipe *r = j->recipe;
	hob_buf_grow(&j->made, sizeof(part_head));
	if (pass_on(b, j, parallel, arena))
		return;
	hob_compose_result composed = hob_texture_compose(r, b->sources, b->srgb, parallel, arena);
	j->bad_source = composed.bad_source;
	j->bad_reason = composed.bad_reason;
	j->facts.warnings |= composed.warnings;
	uint32_t width, height;
	bool blocks;
	target_size(b, j, &composed.picture, &width, &height, &blocks);
	bool png = b->request->png || b->request->settings.texture_encoding == HOB_TEXTURE_SOURCE;
	bool deep = composed.warnings & HOB_TEXTURE_WARNING_BELOW;
	hob_mip_options options = {.use = deep ? HOB_USE_DATA : r->use,
							   .alpha_is_opacity = r->alpha_is_opacity,
							   .cutoff = r->cutoff,
							   .width = width,
							   .height = height,
							   .level_count = 1,
							   .narrow = png,
							   .srgb = b->srgb,
							   .parallel = parallel};
	if (b->request->settings.texture_mipmaps && !png)
		options.level_count = hob_level_count(width, height);
	hob_mips mips = hob_mips_build(&composed.picture, &options, arena);
	/* A normal's third channel is implied by the first two, unless normals point into the surface. */
	uint32_t channels = r->channels;
	if (r->use == HOB_USE_NORMAL)
		channels = deep ? 7 : 3;
	uint32_t format =
		png ? 0 : hob_texture_format(b->request, r->use, channels, mips.opaque, mips.is_float, blocks);
	uint32_t lone = hob_texture_plain_source(r);
	hob_bytes level0 = {0};
	if (!png && blocks && lone != HOB_NONE && b->sources[lone].usable)
		hob_texture_own_blocks(b->request, r, &b->sources[lone], width, height, arena, &format, &level0);
	bool off = false;
	if (!png && blocks && level0.size == 0)
		level0 = hob_texture_try_blocks(b->request, &mips, r->use, format, channels, parallel, arena, &off);
	if (off) {
		uint32_t cap = b->request->settings.texture_max_size;
		hob_fit_size(composed.picture.width, composed.picture.height, cap, &width, &height);
		options.width = width;
		options.height = height;
		if (options.level_count > 1)
			options.level_count = hob_level_count(width, height);
		if (r->use == HOB_USE_NORMAL) {
			channels = 7;
			options.use = HOB_USE_DATA;
		}
		mips = hob_mips_build(&composed.picture, &options, arena);
		j->facts.warnings &= ~(uint32_t)HOB_TEXTURE_WARNING_SIDES;
		format = hob_texture_format(b->request, r->use, channels, mips.opaque, mips.is_float, false);
	}
	uint32_t flags = r->flags;
	if (r->use == HOB_USE_COLOR && !mips.is_float)
		flags |= HOB_IMAGE_SRGB;
	if (r->use == HOB_USE_NORMAL && !png && channels == 3)
		flags |= HOB_IMAGE_NORMAL_XY;
	if (j->facts.warnings & HOB_TEXTURE_WARNING_PLACEHOLDER)
		flags |= HOB_IMAGE_PLACEHOLDER;
	j->facts = (hob_texture_facts){width,
								   height,
								   mips.level_count,
								   format,
								   flags,
								   png ? HOB_IMAGE_PNG : HOB_IMAGE_KTX2,
								   j->facts.warnings};
	hob_texture_encode(b->request, &mips, format, channels, level0, parallel, arena, &j->made);
}

typedef struct making {
	const bake *b;
	job *j;
	const hob_parallel *parallel;
} making;

static bool make_within(void *context, hob_error *err)
{
	const making *m = context;
	hob_own_arena arena;
	(void)err;
	hob_arena_init(&arena, m->b->memory);
	make(m->b, m->j, m->parallel, &arena);
	return true;
}

/* Not called within hob_guarded: a job's bytes outlive it, and other jobs are kept if it fails. */
static void run_job(const bake *b, job *j, const hob_parallel *parallel)
{
	if (!hob_guarded(make_within, &(making){b, j, parallel}, &j->error)) {
		j->made = (hob_buf){0};
		return;
	}
	store_head(j);
	j->file = (hob_bytes){j->made.data + sizeof(part_head), j->made.size - sizeof(part_head)};
	j->digest = hob_sha256_of(j->file);
}

static void run_task(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	const bake *b = context;
	run_job(b, &b->jobs[b->order[index]], NULL);
}

/* ---- order of work */

static int larger_first(const void *a, const void *b, void *context)
{
	const job *jobs = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (jobs[left].pixels != jobs[right].pixels)
		return jobs[left].pixels > jobs[right].pixels ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* Large jobs run one at a time with all threads; last in the queue, one would leave the other threads
 * idle. */
static void run_all(bake *b, size_t memory)
{
	const hob_parallel *parallel = b->request->parallel;
	uint32_t threads = parallel && parallel->threads > 1 ? parallel->threads : 1;
	uint64_t left = 0;
	for (uint32_t i = 0; i < b->order_count; i++)
		left += b->jobs[b->order[i]].pixels;
	qsort_r(b->order, b->order_count, sizeof *b->order, larger_first, b->jobs);
	uint32_t alone = 0;
	b->memory = memory;
	while (threads > 1 && alone < b->order_count) {
		job *j = &b->jobs[b->order[alone]];
		bool too_long = j->pixels > left / threads, too_large = j->pixels > memory / threads / 25;
		if (!too_long && !too_large)
			break;
		run_job(b, j, parallel);
		left -= j->pixels;
		alone++;
	}
	b->memory = memory / threads;
	b->order += alone;
	hob_parallel_for(parallel, b->order_count - alone, run_task, b);
	b->order -= alone;
}

/* ---- results */

static void say_warnings(const bake *b, const job *j, hob_notes *notes)
{
	const hob_texture_recipe *r = j->recipe;
	uint32_t lead = hob_texture_lead_source(r);
	hob_str label = lead == HOB_NONE ? HOB_STR("(none)") : b->sources[lead].label;
	uint32_t warnings = j->facts.warnings;
	if (j->bad_source != HOB_NONE)
		hob_note_add(notes, HOB_NOTE_WARNING, "texture.unreadable",
					 "picture '%.*s' cannot be used: %s; a placeholder is used",
					 HOB_FMT(b->sources[j->bad_source].label), j->bad_reason.context);
	if (warnings & HOB_TEXTURE_WARNING_BUMP_IS_NORMAL)
		hob_note_add(notes, HOB_NOTE_INFO, "texture.bump-is-normal",
					 "picture '%.*s' is named as a bump map but holds normals; it is used as a normal map",
					 HOB_FMT(label));
	if (warnings & HOB_TEXTURE_WARNING_EMPTY_ALPHA)
		hob_note_add(notes, HOB_NOTE_WARNING, "texture.empty-alpha",
					 "picture '%.*s' has a fourth channel that its header does not call alpha and that is 0 "
					 "everywhere; it is taken as opaque",
					 HOB_FMT(label));
	if ((warnings & HOB_TEXTURE_WARNING_SIDES) && b->request->settings.texture_sides == HOB_SIDES_FOURS)
		hob_note_add(notes, HOB_NOTE_INFO, "texture.scaled",
					 "picture '%.*s' was scaled to %u x %u, multiples of four, for block compression",
					 HOB_FMT(label), j->facts.width, j->facts.height);
	else if (warnings & HOB_TEXTURE_WARNING_SIDES)
		hob_note_add(
			notes, HOB_NOTE_INFO, "texture.sides",
			"picture '%.*s' keeps its %u x %u pixels in blocks of 4 x 4; WebGL, WebGPU and Direct3D 11 "
			"take only multiples of four: loaders unpack it there, or texture.sides: fours scales it",
			HOB_FMT(label), j->facts.width, j->facts.height);
	if (warnings & HOB_TEXTURE_WARNING_UNPACKED)
		hob_note_add(notes, HOB_NOTE_INFO, "texture.uncompressed",
					 "picture '%.*s' (%u x %u) stays uncompressed: it is smaller than a block, or sampled "
					 "without filtering",
					 HOB_FMT(label), j->facts.width, j->facts.height);
	if (warnings & HOB_TEXTURE_WARNING_NO_ASTC)
		hob_note_add(notes, HOB_NOTE_WARNING, "texture.no-astc",
					 "this Hob was built without astcenc: textures stay uncompressed; use "
					 "texture.encoding rgba8 or bc");
}

static hob_sha256 source_digest(const bake *b, const hob_texture_recipe *r)
{
	uint32_t seen[4], count = 0;
	for (int k = 0; k < 4; k++) {
		uint32_t source = r->in[k].source;
		bool known = source == HOB_NONE;
		for (uint32_t i = 0; i < count; i++)
			known |= seen[i] == source;
		if (!known)
			seen[count++] = source;
	}
	if (count == 1)
		return b->sources[seen[0]].digest;
	hob_keyer keyer;
	hob_keyer_init(&keyer, "hob texture sources");
	for (uint32_t i = 0; i < count; i++)
		hob_key_digest(&keyer, "source", &b->sources[seen[i]].digest);
	return hob_keyer_finish(&keyer);
}

static const char *cut_by(const bake *b, const hob_texture_source *s, const hob_baked_image *image)
{
	if (image->width < s->info.width || image->height < s->info.height)
		return "texture.max_size";
	bool fours = image->width == ((s->info.width + 3) & ~3u) && image->height == ((s->info.height + 3) & ~3u);
	bool same = image->width == s->info.width && image->height == s->info.height;
	return fours && !same && b->request->settings.texture_sides == HOB_SIDES_FOURS ? "texture.sides" : NULL;
}

static void list_source(bake *b, const hob_texture_source *s, uint32_t image)
{
	if (s && s->made) {
		list_source(b, s->diffuse, image);
		list_source(b, s->specular, image);
	} else if (s && s->usable) {
		hob_baked_source *out = &b->out.sources[b->out.source_count++];
		*out = (hob_baked_source){.name = hob_arena_str(b->result, s->label),
								  .path = hob_arena_str(b->result, s->path),
								  .width = s->info.width,
								  .height = s->info.height,
								  .image = image,
								  .cut_by = cut_by(b, s, &b->out.images[image])};
		memcpy(out->sha256, s->digest.bytes, 32);
	}
}

/* Lists the pictures that are in some image; one of two equal pictures stands for both there. */
static void list_sources(bake *b)
{
	uint32_t *image_of = HOB_NEW(b->scratch, uint32_t, b->request->image_count);
	b->out.sources = HOB_NEW(b->result, hob_baked_source, 2 * (size_t)b->request->image_count);
	memset(image_of, 0xFF, b->request->image_count * sizeof *image_of);
	for (uint32_t i = b->plan.count; i-- > 0;)
		for (int k = 0; k < 4; k++)
			if (b->plan.recipes[i].in[k].source != HOB_NONE)
				image_of[b->plan.recipes[i].in[k].source] = i;
	for (uint32_t i = 0; i < b->request->image_count; i++)
		if (b->sources[i].used && image_of[b->sources[i].same_as] != HOB_NONE)
			list_source(b, &b->sources[i], image_of[b->sources[i].same_as]);
}

static bool collect(void *context, hob_error *err)
{
	(void)err;
	bake *b = context;
	hob_baked_image *images = HOB_NEW(b->result, hob_baked_image, b->plan.count);
	b->textures = HOB_NEW(b->result, hob_baked_texture, b->plan.count);

	for (uint32_t i = 0; i < b->plan.count; i++) {
		job *j = &b->jobs[i];
		const hob_texture_facts *f = &j->facts;
		uint32_t lead = hob_texture_lead_source(j->recipe);
		uint8_t *bytes = hob_arena_alloc(b->result, j->file.size, 16);
		hob_str name = hob_arena_str(b->result, lead == HOB_NONE ? (hob_str){0} : b->sources[lead].label);
		memcpy(bytes, j->file.data, j->file.size);
		b->textures[i].bytes = (hob_bytes){bytes, j->file.size};
		memcpy(b->textures[i].sha256, j->digest.bytes, 32);
		hob_baked_image *image = &images[i];
		*image = (hob_baked_image){.name = name,
								   .width = (uint16_t)f->width,
								   .height = (uint16_t)f->height,
								   .mips = (uint16_t)f->mips,
								   .vk_format = f->vk_format,
								   .flags = f->flags,
								   .container = (hob_image_container)f->container,
								   .bytes = j->file.size};
		memcpy(image->cooked_sha256, j->digest.bytes, 32);
		hob_sha256 source = source_digest(b, j->recipe);
		memcpy(image->source_sha256, source.bytes, 32);
		say_warnings(b, j, b->notes);
		hob_buf_release(&j->made);
	}
	b->out.image_count = b->plan.count;
	b->out.images = images;
	list_sources(b);
	return true;
}

static void look_up(const bake *b, job *j, bool wait)
{
	const hob_parts *parts = b->request->parts;
	hob_bytes part;
	j->state = HOB_PART_UNKNOWN;
	if (!j->keyed || !parts || !parts->get)
		return;
	j->state = parts->get(parts->user, j->key.bytes, wait, &part);
	if (j->state == HOB_PART_KNOWN && !open_part(part, &j->facts, &j->file))
		j->state = HOB_PART_UNKNOWN;
}

static void digest_known(void *context, uint32_t index, uint32_t thread)
{
	(void)thread;
	job *j = &((job *)context)[index];
	if (j->state == HOB_PART_KNOWN)
		j->digest = hob_sha256_of(j->file);
}

static void keep(const bake *b, const job *j)
{
	const hob_parts *parts = b->request->parts;
	if (parts && parts->put && j->keyed && j->state == HOB_PART_UNKNOWN && j->bad_source == HOB_NONE)
		parts->put(parts->user, j->key.bytes, hob_buf_bytes(&j->made));
}

static void prepare(bake *b)
{
	hob_arena *scratch = b->scratch;
	b->jobs = HOB_NEW(scratch, job, b->plan.count);
	b->order = HOB_NEW(scratch, uint32_t, b->plan.count);
	b->srgb = HOB_NEW(scratch, hob_srgb, 1);
	bool makes = false; /* also what another cook may give up */
	for (uint32_t i = 0; i < b->plan.count; i++) {
		job *j = &b->jobs[i];
		*j = (job){.recipe = &b->plan.recipes[i], .keyed = true, .bad_source = HOB_NONE};
		for (int k = 0; k < 4; k++) {
			uint32_t source = j->recipe->in[k].source;
			if (source == HOB_NONE)
				continue;
			const hob_picture_info *info = &b->sources[source].info;
			j->keyed &= b->sources[source].usable;
			j->pixels += b->sources[source].usable ? (uint64_t)info->width * info->height : 0;
		}
		j->key = key_of(b, j->recipe);
		look_up(b, j, false);
		if (j->state == HOB_PART_UNKNOWN)
			b->order[b->order_count++] = i;
		makes |= j->state != HOB_PART_KNOWN;
	}
	if (makes)
		hob_srgb_init(b->srgb);
	hob_parallel_for(b->request->parallel, b->plan.count, digest_known, b->jobs);
}

static bool finish(const bake *b, const job *j, hob_error *err)
{
	bool ok = j->error.code == HOB_ERR_OK;
	if (ok)
		keep(b, j);
	else if (err)
		*err = j->error;
	return ok;
}

/* Makes the parts that this cook reserved, then gets those that another cook is making. */
static bool run(bake *b, hob_error *err)
{
	size_t memory = b->scratch->limit - b->scratch->used;
	bool ok = true;
	run_all(b, memory);
	for (uint32_t i = 0; i < b->order_count; i++)
		ok = finish(b, &b->jobs[b->order[i]], ok ? err : NULL) && ok;
	b->memory = memory;
	for (uint32_t i = 0; i < b->plan.count && ok; i++) {
		job *j = &b->jobs[i];
		if (j->state != HOB_PART_ELSEWHERE)
			continue;
		look_up(b, j, true);
		if (j->state == HOB_PART_KNOWN) {
			j->digest = hob_sha256_of(j->file);
			continue;
		}
		j->state = HOB_PART_UNKNOWN;
		run_job(b, j, b->request->parallel);
		ok = finish(b, j, err);
	}
	return ok;
}

static void copy_lists(const hob_texture_request *request, hob_arena *result, hob_baked_materials *out)
{
	*out = (hob_baked_materials){.material_count = request->material_count,
								 .sampler_count = request->sampler_count,
								 .variant_count = request->variant_count};
	out->materials = HOB_NEW(result, hob_material, request->material_count);
	out->samplers = HOB_NEW(result, hob_sampler, request->sampler_count);
	out->variants = HOB_NEW(result, hob_str, request->variant_count);
	if (request->material_count > 0)
		memcpy(out->materials, request->materials, request->material_count * sizeof *out->materials);
	if (request->sampler_count > 0)
		memcpy(out->samplers, request->samplers, request->sampler_count * sizeof *out->samplers);
	if (request->variant_count > 0)
		memcpy(out->variants, request->variants, request->variant_count * sizeof *out->variants);
}

static bool plan(void *context, hob_error *err)
{
	bake *b = context;
	copy_lists(b->request, b->result, &b->out);
	if (!hob_texture_sources(b->request, b->scratch, b->notes, &b->sources, err) ||
		!hob_texture_plan_make(b->request, b->sources, b->out.materials, b->scratch, b->notes, &b->plan, err))
		return false;
	prepare(b);
	return true;
}

bool hob_textures_bake(const hob_texture_request *request, hob_arena *result, hob_arena *scratch,
					   hob_notes *notes, hob_baked_texture **textures, uint32_t *count,
					   hob_baked_materials *out, hob_error *err)
{
	assert(result != scratch);
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_texture_request own = *request;
	own.png |= request->settings.texture_encoding == HOB_TEXTURE_PNG;
	bake b = {.request = &own, .result = result, .scratch = scratch, .notes = notes};
	bool planned = hob_guarded(plan, &b, err), ok = planned && run(&b, err) && hob_guarded(collect, &b, err);
	for (uint32_t i = 0; planned && i < b.plan.count; i++)
		hob_buf_release(&b.jobs[i].made);
	hob_arena_restore(scratch, mark);
	if (!ok)
		return false;
	*textures = b.textures;
	*count = b.plan.count;
	*out = b.out;
	return true;
}

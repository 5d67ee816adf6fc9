#include "drawn.h"

#include <GLES3/gl3.h>
#include <math.h>
#include <stdlib.h>

enum { TIMES = 13, SIDE = SRV_POSED_PIXELS, BYTES = SIDE * SIDE * 4 };

typedef struct mover {
	const srv_posed *model;
	uint32_t clip;
	hob_rt_pose *pose;
} mover;

static void move_to(const mover *m, double time)
{
	if (m->clip == HOB_RT_NONE)
		return;
	const hob_rt_clip *clip = &m->model->asset->clips[m->clip];
	hob_rt_sample(m->model->asset, m->clip, hob_rt_clip_time(clip, clip->start + time, false), NULL, m->pose);
	hob_rt_apply(m->pose, m->model->instance);
	hob_rt_update(m->model->instance);
}

static float share_apart(const mover both[2], float yaw, float pitch, unsigned char *room)
{
	const hob_rt_instance *instances[2] = {both[0].model->instance, both[1].model->instance};
	draw_view view = {.pixels = 1};
	hob_draw_view_around(instances, 2, yaw, pitch, SIDE, SIDE, &view);
	for (int i = 0; i < 2; i++) {
		glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
		if (both[i].model->asset->draw_count > 0)
			hob_draw_model_draw(both[i].model->model, both[i].model->instance, &view);
		glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, room + (size_t)i * BYTES);
	}
	return srv_difference_strip(room, room + BYTES, SIDE, room + (size_t)2 * BYTES);
}

static void choose(const mover both[2], double longest, float yaw, float pitch, unsigned char *room)
{
	double best = 0;
	float most = -1;
	for (int i = 0; i < TIMES; i++) {
		double time = longest * i / (TIMES - 1);
		for (int side = 0; side < 2; side++)
			move_to(&both[side], time);
		float share = share_apart(both, yaw, pitch, room);
		if (share > most) {
			most = share;
			best = time;
		}
	}
	for (int side = 0; side < 2; side++)
		move_to(&both[side], best);
}

bool srv_posed_apart(const srv_posed models[2], const char *clip, float yaw, float pitch, int size)
{
	mover both[2] = {{.model = &models[0]}, {.model = &models[1]}};
	double longest = 0;
	bool ok = true, found = false;
	unsigned char *room = malloc((size_t)5 * BYTES);
	for (int i = 0; i < 2; i++) {
		const hob_rt_asset *asset = models[i].asset;
		both[i].clip = hob_rt_find_clip(asset, clip);
		if (both[i].clip == HOB_RT_NONE)
			continue;
		const hob_rt_clip *own = &asset->clips[both[i].clip];
		found = true;
		longest = fmax(longest, (double)own->end - (double)own->start);
		ok = hob_rt_pose_open(asset, &both[i].pose, NULL) && ok;
	}
	if (room && ok && found) {
		glViewport(0, 0, SIDE, SIDE);
		glClearColor(0, 0, 0, 0);
		glPixelStorei(GL_PACK_ALIGNMENT, 1);
		choose(both, longest, yaw, pitch, room);
		glViewport(0, 0, size, size);
	}
	for (int i = 0; i < 2; i++)
		hob_rt_pose_close(both[i].pose);
	ok = room && ok && found;
	free(room);
	return ok;
}

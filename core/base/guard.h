/* guard.h - what hob_guarded is to memory and to hob_parallel_for. */
#ifndef HOB_GUARD_H
#define HOB_GUARD_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Leaves the function of hob_guarded that runs in this thread, which fails with `why`; returns outside of
 * one. */
void hob_guard_raise(const hob_error *why);
bool hob_guard_active(void);

/* hob_guarded for a body that leaves no buffer: those that it did not release are released at its end. */
bool hob_guarded_whole(hob_body body, void *context, hob_error *err) HOB_MUST_CHECK;

/* ---- failing from any depth, for code that runs only within hob_guarded ---- */

/* Leaves the body, which fails as by hob_fail. The error names the places that are entered, from inside to
 * outside. */
#define hob_leave(code, ...) hob_guard_leave(HOB_ERR_##code, __FILE__, __LINE__, __VA_ARGS__)
void hob_guard_leave(hob_err_code code, const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn)) HOB_PRINTF(4, 5);
/* Leaves the body with the error that a function has returned. */
void hob_leave_with(const hob_error *why) __attribute__((noreturn));
/* Leaves it if a call has failed: `hob_need(hob_model_scale(model, factor, arena, &why), &why);`. */
static inline void hob_need(bool done, const hob_error *why)
{
	if (!done)
		hob_leave_with(why);
}

/* A part of the input, for errors within it. With a form: its words, with `line` for "#" and `name` for "@".
 * Without: "; geometry 'hull'", "; line 7, geometry 'hull'". */
typedef struct hob_place {
	const char *kind; /* "geometry"; NULL: an XML element, "; <name>" */
	hob_str name;
	uint32_t line; /* 0: none */
	const struct hob_place *around;
	const char *form; /* or NULL */
} hob_place;

/* Exit in the reverse order; leaving the body exits all of its places. */
void hob_place_enter(hob_place *place);
void hob_place_exit(const hob_place *place);
/* A place up to the end of the block: `HOB_PLACE("meshes[#] '@'", id, name);`. */
#define HOB_PLACE(form, number, name)		 HOB_PLACE_AT(__LINE__, form, number, name)
#define HOB_PLACE_AT(at, form, number, name) HOB_PLACE_NAMED(at, form, number, name)
#define HOB_PLACE_NAMED(at, form, number, name)                                                              \
	hob_place place_##at __attribute__((cleanup(hob_place_exit))) = {NULL, name, number, NULL, form};        \
	hob_place_enter(&place_##at)

#ifdef __cplusplus
}
#endif

#endif

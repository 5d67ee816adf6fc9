/* engine_move.h - recognises renamed and moved sources as the same asset. */
#ifndef ENGINE_MOVE_H
#define ENGINE_MOVE_H

#include "engine_assets.h"

struct engine_moves *srv_engine_moves_new(void); /* NULL without memory */
void srv_engine_moves_free(struct engine_moves *moves);
bool srv_engine_load_moves(srv_engine *engine, hob_error *err); /* call it before the assets are loaded */
void srv_engine_keep_moves(srv_engine *engine);					/* once a second */
/* Moves settings files after their models while this turn has time. */
void srv_engine_step_settings(srv_engine *engine);
void srv_engine_note_removal(const srv_engine *engine, asset *a);
bool srv_engine_moved_away(const asset *a);							 /* since its removal was noted */
uint32_t srv_engine_move_of(const srv_engine *engine, hob_str full); /* asset.move.row for this name */
/* File `id` was removed. `stat` and the digest `bytes` (NULL: unknown) are those that it had before. */
void srv_engine_move_gone(srv_engine *engine, uint32_t id, const srv_stat *stat, const hob_sha256 *bytes);
void srv_engine_move_came(srv_engine *engine, uint32_t id, const srv_stat *stat);
void srv_engine_move_read(srv_engine *engine, uint32_t id, const hob_sha256 *bytes);
/* The name whose settings file `a` uses, in *root: its own, or, until the file is moved, a former one. Empty:
 * none. */
hob_str srv_engine_settings_owner(srv_engine *engine, asset *a, uint32_t *root);
/* Appends that name, in full and NUL-terminated, if it is a former one. */
void srv_engine_put_settings_of(const srv_engine *engine, const asset *a, hob_buf *out);
/* The asset that uses the settings file of this former name; HOB_NONE: none. */
uint32_t srv_engine_settings_heir(srv_engine *engine, uint32_t root, hob_str model);
void srv_engine_asset_id(const srv_engine *engine, const asset *a, char id[SRV_ASSET_ID + 1]);
hob_str srv_engine_moved_from(const srv_engine *engine, const asset *a); /* its earlier name; empty: none */
/* Prints members of its event: the id and, once, its old or new place. */
void srv_engine_put_move(const srv_engine *engine, asset *a, hob_buf *out);
void srv_engine_show_former(srv_engine *engine);	   /* to be in the next view */
bool srv_engine_many_former(const srv_engine *engine); /* show them now, even inside a rev */

#endif

/* forecast.h - estimates how long cooks will take, from those of the same format and a similar size that have
 * finished. Pure; the caller keeps the state. */
#ifndef SRV_FORECAST_H
#define SRV_FORECAST_H

#include "../../core/base/base.h"

enum { SRV_FORECAST_SIZES = 40, SRV_FORECAST_ALL = 64 }; /* ALL: the sums over all formats */

typedef struct srv_forecast_sum {
	uint64_t count, ns;
	uint64_t guess, guessed_at; /* the answer of srv_forecast_ns, and 1 + `noted` then */
} srv_forecast_sum;

/* Finished cooks by format, any number below SRV_FORECAST_ALL, and by the logarithm of their size. Zero:
 * nothing is known. */
typedef struct srv_forecast {
	uint64_t noted;
	srv_forecast_sum of[SRV_FORECAST_ALL + 1][SRV_FORECAST_SIZES];
} srv_forecast;

/* Size of an asset for the functions below: half the bytes of pictures and buffers beside the model count. */
uint64_t srv_forecast_size(uint64_t source, uint64_t beside);
void srv_forecast_note(srv_forecast *forecast, uint32_t format, uint64_t size, uint64_t ns);
/* 0: nothing is known. */
uint64_t srv_forecast_ns(srv_forecast *forecast, uint32_t format, uint64_t size);

/* Work that is left, in ns of one worker. */
typedef struct srv_forecast_work {
	uint64_t left, longest; /* `longest`: of one cook */
	uint32_t workers;
} srv_forecast_work;

/* Work done in the last seconds; older seconds count less. Zero: nothing is known. */
typedef struct srv_forecast_speed {
	double done, in;		   /* ns */
	uint64_t worked_ns, at_ns; /* at the last tick */
} srv_forecast_speed;

void srv_forecast_add(srv_forecast_work *work, uint64_t ns);
/* Call it about once a second. worked_ns: sum over finished and running cooks. */
void srv_forecast_tick(srv_forecast_speed *speed, uint64_t worked_ns, uint64_t now_ns);
/* Time until everything is cooked, at the measured speed; before there is one, as if no worker were idle. */
uint64_t srv_forecast_left_ns(const srv_forecast_work *work, const srv_forecast_speed *speed);
/* Expected remaining time of a cook that has run for `ran` ns. */
uint64_t srv_forecast_rest_ns(uint64_t expected, uint64_t ran);

#endif

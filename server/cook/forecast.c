#include "forecast.h"

#include <math.h>

/* Prior for the exponent of cook time over size; it counts as much as SLOPE_WEIGHT cooks whose sizes differ
 * by a factor of two. */
static const double SLOPE = 0.9, SLOPE_WEIGHT = 60, SLOPE_MAX = 1.1;

static uint32_t class_of(uint64_t size)
{
	uint32_t log = 0;
	while (size >>= 1)
		log++;
	return log < SRV_FORECAST_SIZES ? log : SRV_FORECAST_SIZES - 1;
}

uint64_t srv_forecast_size(uint64_t source, uint64_t beside)
{
	return source + beside / 2;
}

void srv_forecast_note(srv_forecast *forecast, uint64_t size, uint64_t ns)
{
	forecast->of[class_of(size)].count++;
	forecast->of[class_of(size)].ns += ns;
}

/* Fits time = a * size^slope to the mean times of all classes, scaled so that the fitted sum is the sum of
 * the times. The fit counts as much as FITTED cooks of the class itself. */
uint64_t srv_forecast_ns(const srv_forecast *forecast, uint64_t size)
{
	enum { FITTED = 10 };
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, sum = 0, fitted = 0;
	for (uint32_t c = 0; c < SRV_FORECAST_SIZES; c++) {
		double count = (double)forecast->of[c].count, ns = (double)forecast->of[c].ns;
		if (count == 0)
			continue;
		double log = log2((ns + 1) / count);
		n += count;
		x += count * c;
		y += count * log;
		xx += count * c * c;
		xy += count * c * log;
		sum += ns;
	}
	if (n == 0)
		return 0;
	double slope = (xy - x * y / n + SLOPE_WEIGHT * SLOPE) / (xx - x * x / n + SLOPE_WEIGHT);
	slope = slope < 0 ? 0 : slope > SLOPE_MAX ? SLOPE_MAX : slope;
	double at = (y - slope * x) / n;
	for (uint32_t c = 0; c < SRV_FORECAST_SIZES; c++)
		fitted += (double)forecast->of[c].count * exp2(at + slope * c);
	uint32_t class = class_of(size);
	double guess = exp2(at + slope * class) * (fitted > 0 ? sum / fitted : 1);
	double count = (double)forecast->of[class].count;
	return (uint64_t)(((double)forecast->of[class].ns + FITTED * guess) / (count + FITTED));
}

void srv_forecast_add(srv_forecast_work *work, uint64_t ns)
{
	work->left += ns;
	work->longest = ns > work->longest ? ns : work->longest;
}

void srv_forecast_tick(srv_forecast_speed *speed, uint64_t worked_ns, uint64_t now_ns)
{
	const double KEPT = 0.9;
	if (speed->at_ns > 0 && now_ns > speed->at_ns) {
		double worked = worked_ns > speed->worked_ns ? (double)(worked_ns - speed->worked_ns) : 0;
		speed->done = speed->done * KEPT + worked;
		speed->in = speed->in * KEPT + (double)(now_ns - speed->at_ns);
	}
	speed->worked_ns = worked_ns;
	speed->at_ns = now_ns;
}

uint64_t srv_forecast_left_ns(const srv_forecast_work *work, const srv_forecast_speed *speed)
{
	const double EARLY = 2e9, LEAST = 0.02;
	double workers = work->workers > 0 ? work->workers : 1, share = workers;
	if (speed->in > EARLY && speed->done > 0)
		share = speed->done / speed->in;
	share = share > workers ? workers : share < LEAST ? LEAST : share;
	double left = (double)work->left / share;
	return left > (double)work->longest ? (uint64_t)left : work->longest;
}

uint64_t srv_forecast_rest_ns(uint64_t expected, uint64_t ran)
{
	uint64_t least = ran / 4; /* a cook that takes longer than expected is not over at once */
	return expected > ran + least ? expected - ran : least;
}

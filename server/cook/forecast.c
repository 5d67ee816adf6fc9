#include "forecast.h"

#include <assert.h>
#include <math.h>

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

void srv_forecast_note(srv_forecast *forecast, uint32_t format, uint64_t size, uint64_t ns)
{
	uint32_t class = class_of(size);
	assert(format < SRV_FORECAST_ALL);
	forecast->noted++;
	srv_forecast_sum *sums[] = {&forecast->of[format][class], &forecast->of[SRV_FORECAST_ALL][class]};
	for (size_t i = 0; i < HOB_COUNT_OF(sums); i++) {
		sums[i]->count++;
		sums[i]->ns += ns;
	}
}

/* The exponent of cook time over size, fitted to the mean times of all classes. */
static double slope_of(const srv_forecast *forecast)
{
	/* the prior counts as much as WEIGHT cooks whose sizes differ by a factor of two */
	const double PRIOR = 0.9, WEIGHT = 60, MOST = 1.1;
	double n = 0, x = 0, y = 0, xx = 0, xy = 0;
	for (uint32_t c = 0; c < SRV_FORECAST_SIZES; c++) {
		const srv_forecast_sum *sum = &forecast->of[SRV_FORECAST_ALL][c];
		double count = (double)sum->count, log = count > 0 ? log2(((double)sum->ns + 1) / count) : 0;
		n += count;
		x += count * c;
		y += count * log;
		xx += count * c * c;
		xy += count * c * log;
	}
	double slope = n > 0 ? (xy - x * y / n + WEIGHT * PRIOR) / (xx - x * x / n + WEIGHT) : PRIOR;
	return slope < 0 ? 0 : slope > MOST ? MOST : slope;
}

static uint64_t guess(const srv_forecast *forecast, uint32_t format, uint32_t class)
{
	const double OTHER = 0.05, USUAL = 8, USUAL_NS = 2e6, NS_PER_BYTE = 150;
	double slope = slope_of(forecast), n = 0, ns = 0;
	for (uint32_t c = 0; c < SRV_FORECAST_SIZES; c++) {
		const srv_forecast_sum *own = &forecast->of[format][c], *all = &forecast->of[SRV_FORECAST_ALL][c];
		double away = (double)class - c, weight = exp2(-fabs(away));
		n += weight * ((1 - OTHER) * (double)own->count + OTHER * (double)all->count);
		ns += weight * exp2(slope * away) * ((1 - OTHER) * (double)own->ns + OTHER * (double)all->ns);
	}
	double usual = USUAL_NS + NS_PER_BYTE * exp2(class + 0.5);
	return n > 0 ? (uint64_t)((ns + USUAL * usual) / (n + USUAL)) : 0;
}

/* The mean of former cooks, each carried to this size along the slope. One of half or twice the size counts
 * half as much, one of another format OTHER as much. Beside them, what a cook usually takes counts as much as
 * USUAL cooks: it alone speaks for a size that is far from all others. */
uint64_t srv_forecast_ns(srv_forecast *forecast, uint32_t format, uint64_t size)
{
	uint32_t class = class_of(size);
	uint64_t noted = forecast->noted + 1;
	srv_forecast_sum *sum = &forecast->of[format][class];
	if (sum->guessed_at != noted)
		sum->guess = guess(forecast, format, class);
	sum->guessed_at = noted;
	return sum->guess;
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
	const double EARLY = 2e9, LEAST = 0.001;
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

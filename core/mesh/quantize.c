#include "quantize.h"
#include "vec3.h"

static int16_t snorm16(double value)
{
	double scaled = value * 32767;
	return (int16_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

static double sign(double value)
{
	return value < 0 ? -1 : 1;
}

void hob_octahedral_encode(const float unit[3], int16_t out[2])
{
	hob_vec3 n = hob_vec3_load(unit);
	double sum = fabs(n.x) + fabs(n.y) + fabs(n.z);
	if (!(sum > 0)) {
		out[0] = out[1] = 0;
		return;
	}
	double x = n.x / sum, y = n.y / sum;
	if (n.z < 0) {
		double folded = (1 - fabs(y)) * sign(x);
		y = (1 - fabs(x)) * sign(y);
		x = folded;
	}
	out[0] = snorm16(x), out[1] = snorm16(y);
}

void hob_octahedral_decode(const int16_t code[2], float unit[3])
{
	double x = code[0] < -32767 ? -1 : code[0] / 32767.0, y = code[1] < -32767 ? -1 : code[1] / 32767.0;
	double z = 1 - fabs(x) - fabs(y);
	if (z < 0) {
		double folded = (1 - fabs(y)) * sign(x);
		y = (1 - fabs(x)) * sign(y);
		x = folded;
	}
	hob_vec3_store(unit, hob_vec3_unit((hob_vec3){x, y, z}));
}

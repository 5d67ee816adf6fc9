#include "drawn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GREY = 128, CELLS = 16 };

/* Channel value over a grey background, so that transparent pixels differ from black ones. */
static int over_grey(const unsigned char *p, int channel)
{
	return (p[channel] * p[3] + GREY * (255 - p[3])) / 255;
}

static int apart(const unsigned char *a, const unsigned char *b)
{
	int most = 0;
	for (int c = 0; c < 3; c++) {
		int d = abs(over_grey(a, c) - over_grey(b, c));
		most = d > most ? d : most;
	}
	int cover = abs(a[3] - b[3]);
	return cover > most ? cover : most;
}

static void paint(const unsigned char *a, const unsigned char *b, int d, unsigned char *out)
{
	int cover = a[3] > b[3] ? a[3] : b[3];
	int grey = (over_grey(b, 0) * 3 + over_grey(b, 1) * 6 + over_grey(b, 2)) / 10;
	if (d < SRV_DIFFERENCE_SEEN) {
		memset(out, grey / 2 + 96, 3);
		out[3] = (unsigned char)(cover * 2 / 5);
		return;
	}
	out[0] = 230;
	out[1] = (unsigned char)(d > 128 ? 20 : 180 - d * 160 / 128);
	out[2] = 30;
	out[3] = 255;
}

/* Finds the cell with the largest sum among CELLS x CELLS half overlapping ones. */
static int worst_cell(const unsigned char *map, int size, int *x, int *y)
{
	int cell = size / CELLS > 2 ? size / CELLS : 2, most = 0;
	for (int top = 0; top + cell <= size; top += cell / 2)
		for (int left = 0; left + cell <= size; left += cell / 2) {
			int sum = 0;
			for (int i = 0; i < cell * cell; i++)
				sum += map[(top + i / cell) * size + left + i % cell];
			if (sum <= most)
				continue;
			most = sum;
			*x = left + cell / 2;
			*y = top + cell / 2;
		}
	return most;
}

static void draw_ring(unsigned char *strip, int size, int x, int y)
{
	float radius = (float)size / 11, thick = (float)size / 110 + 0.8f;
	for (int row = 0; row < size; row++)
		for (int column = 0; column < size; column++) {
			float d = fabsf(hypotf((float)(column - x), (float)(row - y)) - radius);
			unsigned char *out =
				strip + ((size_t)row * (size_t)size * 3 + (size_t)size * 2 + (size_t)column) * 4;
			if (d > 2 * thick)
				continue;
			memcpy(out,
				   d <= thick ? (const unsigned char[4]){20, 90, 220, 255}
							  : (const unsigned char[4]){255, 255, 255, 255},
				   4);
		}
}

float srv_difference_strip(const unsigned char *before, const unsigned char *after, int size,
						   unsigned char *strip)
{
	size_t row = (size_t)size * 4, covered = 0, other = 0;
	unsigned char *map = calloc((size_t)size, (size_t)size);
	for (int y = 0; y < size; y++) {
		const unsigned char *a = before + (size_t)y * row, *b = after + (size_t)y * row;
		unsigned char *line = strip + (size_t)y * row * 3;
		memcpy(line, a, row);
		memcpy(line + row, b, row);
		for (int x = 0; x < size; x++) {
			int d = apart(a + x * 4, b + x * 4);
			paint(a + x * 4, b + x * 4, d, line + 2 * row + x * 4);
			covered += a[x * 4 + 3] > 0 || b[x * 4 + 3] > 0;
			other += d >= SRV_DIFFERENCE_SEEN;
			if (map && d >= SRV_DIFFERENCE_SEEN)
				map[y * size + x] = (unsigned char)d;
		}
	}
	int x = 0, y = 0;
	if (map && other > 0 && worst_cell(map, size, &x, &y) > 0)
		draw_ring(strip, size, x, y);
	free(map);
	return covered > 0 ? (float)other / (float)covered : 0;
}

void srv_difference_rename(const unsigned char *renamed, int size, unsigned char *strip)
{
	for (int y = 0; y < size; y++)
		for (int x = 0; x < size; x++) {
			unsigned char *out = strip + ((size_t)y * (size_t)size * 3 + (size_t)size * 2 + (size_t)x) * 4;
			if (renamed[((size_t)y * (size_t)size + (size_t)x) * 4 + 3] < 128 || out[3] == 255)
				continue;
			out[0] = (unsigned char)(out[0] / 2);
			out[1] = (unsigned char)(out[1] / 2 + 40);
			out[2] = 235;
			out[3] = 255;
		}
}

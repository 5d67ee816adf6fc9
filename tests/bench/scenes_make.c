/* scenes_make.c - writes one wavy grid: scenes_make COLUMNS ROWS glb|obj > FILE. Positions and uv; 32-bit
 * indices in a GLB. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(const void *data, size_t size)
{
	if (fwrite(data, 1, size, stdout) != size)
		exit(1);
}

typedef struct vertex {
	float p[3], uv[2];
} vertex;

static vertex vertex_at(uint32_t x, uint32_t y, uint32_t columns, uint32_t rows)
{
	float across = (float)x / (float)columns, along = (float)y / (float)rows, u = 100 * across,
		  v = 100 * along;
	float height = 2 * sinf(u * 0.7f) * cosf(v * 0.5f) + 0.2f * sinf(u * 9) * sinf(v * 8);
	return (vertex){{u, height, v}, {across, along}};
}

static int write_obj(uint32_t columns, uint32_t rows)
{
	for (uint32_t y = 0; y <= rows; y++)
		for (uint32_t x = 0; x <= columns; x++) {
			vertex v = vertex_at(x, y, columns, rows);
			printf("v %.6g %.6g %.6g\nvt %.6g %.6g\n", (double)v.p[0], (double)v.p[1], (double)v.p[2],
				   (double)v.uv[0], (double)v.uv[1]);
		}
	for (uint32_t y = 0; y < rows; y++)
		for (uint32_t x = 0; x < columns; x++) {
			uint32_t a = y * (columns + 1) + x + 1, b = a + 1, c = a + columns + 1, d = c + 1;
			printf("f %u/%u %u/%u %u/%u\nf %u/%u %u/%u %u/%u\n", a, a, c, c, b, b, b, b, c, c, d, d);
		}
	return fflush(stdout) != 0;
}

static int write_glb(uint32_t columns, uint32_t rows)
{
	uint64_t vertices = (uint64_t)(columns + 1) * (rows + 1), indices = 6ull * columns * rows;
	uint64_t size = 20 * vertices + 4 * indices;
	char json[2048];
	int length = snprintf(
		json, sizeof json,
		"{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],"
		"\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"name\":\"grid\","
		"\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":1},\"indices\":2}]}],"
		"\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":%llu,\"type\":\"VEC3\","
		"\"min\":[0,-3,0],\"max\":[100,3,100]},{\"bufferView\":1,\"componentType\":5126,\"count\":%llu,"
		"\"type\":\"VEC2\"},{\"bufferView\":2,\"componentType\":5125,\"count\":%llu,"
		"\"type\":\"SCALAR\"}],\"bufferViews\":[{\"buffer\":0,\"byteOffset\":0,\"byteLength\":%llu},"
		"{\"buffer\":0,\"byteOffset\":%llu,\"byteLength\":%llu},{\"buffer\":0,\"byteOffset\":%llu,"
		"\"byteLength\":%llu}],\"buffers\":[{\"byteLength\":%llu}]}",
		(unsigned long long)vertices, (unsigned long long)vertices, (unsigned long long)indices,
		(unsigned long long)(12 * vertices), (unsigned long long)(12 * vertices),
		(unsigned long long)(8 * vertices), (unsigned long long)(20 * vertices),
		(unsigned long long)(4 * indices), (unsigned long long)size);
	while (length % 4 != 0)
		json[length++] = ' ';
	const uint32_t head[5] = {0x46546C67, 2, (uint32_t)(28 + (uint64_t)length + size), (uint32_t)length,
							  0x4E4F534A};
	const uint32_t body[2] = {(uint32_t)size, 0x004E4942};
	put(head, sizeof head);
	put(json, (size_t)length);
	put(body, sizeof body);
	for (uint32_t y = 0; y <= rows; y++)
		for (uint32_t x = 0; x <= columns; x++)
			put(vertex_at(x, y, columns, rows).p, 12);
	for (uint32_t y = 0; y <= rows; y++)
		for (uint32_t x = 0; x <= columns; x++)
			put(vertex_at(x, y, columns, rows).uv, 8);
	for (uint32_t y = 0; y < rows; y++)
		for (uint32_t x = 0; x < columns; x++) {
			uint32_t a = y * (columns + 1) + x, c = a + columns + 1;
			const uint32_t corners[6] = {a, c, a + 1, a + 1, c, c + 1};
			put(corners, sizeof corners);
		}
	return fflush(stdout) != 0;
}

int main(int count, char **args)
{
	if (count != 4)
		return 2;
	uint32_t columns = (uint32_t)atoi(args[1]), rows = (uint32_t)atoi(args[2]);
	return strcmp(args[3], "obj") == 0 ? write_obj(columns, rows) : write_glb(columns, rows);
}

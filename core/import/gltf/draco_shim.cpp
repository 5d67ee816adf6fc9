#include "draco_shim.h"

#include <draco/compression/decode.h>
#include <draco/mesh/mesh.h>

#include <cstring>
#include <memory>
#include <new>

struct hob_draco {
	std::unique_ptr<draco::Mesh> mesh;
};

static void explain(char *why, size_t room, const char *text)
{
	size_t length = strlen(text);
	if (length >= room)
		length = room - 1;
	memcpy(why, text, length);
	why[length] = 0;
}

hob_draco *hob_draco_decode(const uint8_t *data, size_t size, char *why, size_t room)
{
	try {
		draco::DecoderBuffer buffer;
		buffer.Init(reinterpret_cast<const char *>(data), size);
		draco::Decoder decoder;
		auto result = decoder.DecodeMeshFromBuffer(&buffer);
		if (!result.ok()) {
			explain(why, room, result.status().error_msg());
			return nullptr;
		}
		return new hob_draco{std::move(result).value()};
	} catch (const std::bad_alloc &) {
		explain(why, room, "out of memory");
	} catch (...) {
		explain(why, room, "the decoder failed");
	}
	return nullptr;
}

void hob_draco_free(hob_draco *mesh)
{
	delete mesh;
}

uint32_t hob_draco_point_count(const hob_draco *mesh)
{
	return mesh->mesh->num_points();
}

uint32_t hob_draco_face_count(const hob_draco *mesh)
{
	return mesh->mesh->num_faces();
}

void hob_draco_indices(const hob_draco *mesh, uint32_t *out)
{
	uint32_t faces = mesh->mesh->num_faces();
	for (uint32_t i = 0; i < faces; i++) {
		const draco::Mesh::Face &face = mesh->mesh->face(draco::FaceIndex(i));
		for (size_t k = 0; k < 3; k++)
			*out++ = face[k].value();
	}
}

template <typename T>
static bool read_values(const draco::PointAttribute &attribute, uint32_t points, uint32_t width, T *out)
{
	for (uint32_t i = 0; i < points; i++, out += width) {
		draco::AttributeValueIndex value = attribute.mapped_index(draco::PointIndex(i));
		if (value.value() >= attribute.size() ||
			!attribute.ConvertValue<T>(value, static_cast<int8_t>(width), out))
			return false;
	}
	return true;
}

bool hob_draco_attribute(const hob_draco *mesh, uint32_t unique_id, hob_draco_type type, uint32_t width,
						 void *out)
{
	const draco::PointAttribute *attribute = mesh->mesh->GetAttributeByUniqueId(unique_id);
	uint32_t points = mesh->mesh->num_points();
	/* Draco copies stored bytes into bools, and any other than 0 or 1 is undefined behaviour. */
	if (!attribute || width > 16 || attribute->data_type() == draco::DT_BOOL)
		return false;
	switch (type) {
	case HOB_DRACO_I8:
		return read_values(*attribute, points, width, static_cast<int8_t *>(out));
	case HOB_DRACO_U8:
		return read_values(*attribute, points, width, static_cast<uint8_t *>(out));
	case HOB_DRACO_I16:
		return read_values(*attribute, points, width, static_cast<int16_t *>(out));
	case HOB_DRACO_U16:
		return read_values(*attribute, points, width, static_cast<uint16_t *>(out));
	case HOB_DRACO_U32:
		return read_values(*attribute, points, width, static_cast<uint32_t *>(out));
	case HOB_DRACO_F32:
		return read_values(*attribute, points, width, static_cast<float *>(out));
	}
	return false;
}

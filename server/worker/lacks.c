/* The readers that hob-worker-lean lacks: their libraries take as long to load as all others together. The
 * first call of one ends the process, and the daemon gives its models to hob-worker. */
#include "protocol.h"

#include "../../core/import/assimp/assimp_format.h"
#include "../../core/import/gltf/draco_shim.h"
#include "../../core/import/importers.h"
#include "../../core/texture/picture.h"

#include <unistd.h>

#define LACKS(result, name, ...)                                                                             \
	result name(__VA_ARGS__)                                                                                 \
	{                                                                                                        \
		_exit(SRV_WORKER_LACKS);                                                                             \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
LACKS(bool, hob_tiff_probe, hob_bytes f, hob_picture_info *o, hob_error *e)
LACKS(bool, hob_avif_probe, hob_bytes f, hob_picture_info *o, hob_error *e)
LACKS(bool, hob_tiff_read, hob_bytes f, const hob_picture_info *i, hob_arena *a, hob_picture *o, hob_error *e)
LACKS(bool, hob_avif_read, hob_bytes f, const hob_picture_info *i, hob_arena *a, hob_picture *o, hob_error *e)
LACKS(hob_draco *, hob_draco_decode, const uint8_t *data, size_t size, char *why, size_t room)
LACKS(void, hob_draco_free, hob_draco *m)
LACKS(uint32_t, hob_draco_point_count, const hob_draco *m)
LACKS(uint32_t, hob_draco_face_count, const hob_draco *m)
LACKS(void, hob_draco_indices, const hob_draco *m, uint32_t *o)
LACKS(bool, hob_draco_attribute, const hob_draco *m, uint32_t id, hob_draco_type t, uint32_t width, void *o)
static LACKS(bool, import, const hob_import_request *r, hob_model *o, hob_error *e)

	/* The version of the library that this was built with: the daemon starts hob-worker-lean only where that
 * library is installed. */
	static const char *library_version(void)
{
	return HOB_ASSIMP_TEXT;
}

const hob_importer hob_assimp_importer = {
	.name = "assimp",
	.version = HOB_ASSIMP_READER,
	.extensions = hob_assimp_extensions,
	.import = import,
	.library_version = library_version,
	.reads_name = true,
};

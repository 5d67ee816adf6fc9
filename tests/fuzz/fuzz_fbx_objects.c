/* The object model of FBX: bytes choose records, numbers and connections of a file whose syntax is right.
 *
 * Links: hob_import
 *
 *   cmake --preset fuzz && ninja -C build/fuzz fuzz_fbx_objects
 *   build/fuzz/fuzz_fbx_objects -max_len=2048 /tmp/found tests/fuzz/corpus/fbx_objects */
#include "tests/fuzz/fuzz_reader.h"

typedef struct source {
	const uint8_t *at, *end;
} source;

static unsigned take(source *s, unsigned below)
{
	return s->at < s->end ? *s->at++ % below : 0;
}

static void put_numbers(hob_buf *out, source *s)
{
	static const char *const numbers[] = {"0",	 "1",	 "-1",		"2",   "3",			  "-4", "0.5",
										  "100", "1e30", "-1.#IND", "nan", "46186158000", "-2", "5"};
	unsigned count = take(s, 24);
	for (unsigned i = 0; i < count; i++)
		hob_buf_printf(out, "%s%s", i > 0 ? "," : "", numbers[take(s, HOB_COUNT_OF(numbers))]);
}

static void put_record(hob_buf *out, source *s)
{
	static const char *const arrays[] = {"Vertices",
										 "PolygonVertexIndex",
										 "Indexes",
										 "Weights",
										 "Transform",
										 "TransformLink",
										 "KeyTime",
										 "KeyValueFloat",
										 "KeyAttrFlags",
										 "KeyAttrDataFloat",
										 "KeyAttrRefCount",
										 "FullWeights",
										 "Normals",
										 "Edges",
										 "Points",
										 "PointsIndex",
										 "Key",
										 "KeyVer",
										 "KeyCount",
										 "Default",
										 "DeformPercent",
										 "LocalTime"};
	static const char *const layers[] = {"LayerElementNormal",	  "LayerElementUV",
										 "LayerElementColor",	  "LayerElementMaterial",
										 "LayerElementSmoothing", "LayerElementTangent"};
	static const char *const values[] = {"Normals", "UV", "Colors", "Materials", "Smoothing", "Tangents"};
	static const char *const indices[] = {"NormalsIndex", "UVIndex",   "ColorIndex",
										  "Materials",	  "Smoothing", "TangentsIndex"};
	static const char *const mappings[] = {"ByPolygonVertex", "ByVertice", "ByPolygon",
										   "ByEdge",		  "AllSame",   ""};
	static const char *const props[] = {
		"Lcl Translation",		"Lcl Rotation",	 "Lcl Scaling",	 "InheritType",
		"RotationOrder",		"RotationPivot", "PreRotation",	 "GeometricScaling",
		"GeometricTranslation", "d|X",			 "Weight",		 "BlendMode",
		"LocalStart",			"LocalStop",	 "DiffuseColor", "ScalingPivot",
		"FieldOfView",			"LightType",	 "Maya|base",	 "3dsMax|ClassIDa"};
	unsigned kind = take(s, 4), k;
	if (kind == 0) {
		hob_buf_printf(out, "Properties70: {");
		for (unsigned i = take(s, 4) + 1; i > 0; i--) {
			hob_buf_printf(out, "P: \"%s\", \"\", \"\", \"A\",", props[take(s, HOB_COUNT_OF(props))]);
			put_numbers(out, s);
			hob_buf_printf(out, "\n");
		}
		hob_buf_printf(out, "}\n");
	} else if (kind == 1) {
		k = take(s, HOB_COUNT_OF(layers));
		hob_buf_printf(
			out, "%s: 0 { MappingInformationType: \"%s\"\nReferenceInformationType: \"%s\"\n%s: ", layers[k],
			mappings[take(s, HOB_COUNT_OF(mappings))], take(s, 2) ? "Direct" : "IndexToDirect", values[k]);
		put_numbers(out, s);
		hob_buf_printf(out, "\n%s: ", indices[k]);
		put_numbers(out, s);
		hob_buf_printf(out, "\n}\n");
	} else {
		hob_buf_printf(out, "%s: ", arrays[take(s, HOB_COUNT_OF(arrays))]);
		put_numbers(out, s);
		hob_buf_printf(out, "\n");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const objects[][2] = {{"Model", "Mesh"},
											 {"Model", "LimbNode"},
											 {"Geometry", "Mesh"},
											 {"Geometry", "Shape"},
											 {"Deformer", "Skin"},
											 {"Deformer", "Cluster"},
											 {"Deformer", "BlendShape"},
											 {"Deformer", "BlendShapeChannel"},
											 {"Material", ""},
											 {"Texture", ""},
											 {"LayeredTexture", ""},
											 {"Video", "Clip"},
											 {"AnimationStack", ""},
											 {"AnimationLayer", ""},
											 {"AnimationCurveNode", ""},
											 {"AnimationCurve", ""},
											 {"NodeAttribute", "Camera"},
											 {"NodeAttribute", "Light"},
											 {"Geometry", "Line"},
											 {"Model", "LodGroup"}};
	static const char *const links[] = {
		"",		 "",	"",	   "Lcl Translation", "Lcl Rotation", "Lcl Scaling",
		"d|X",	 "d|Y", "d|Z", "DeformPercent",	  "DiffuseColor", "d|DeformPercent",
		"Weight"};
	static const unsigned versions[] = {7400, 6100, 5800, 7700};
	source s = {data, data + size};
	hob_buf out = {0};
	unsigned version = versions[take(&s, 4)], count = take(&s, 24) + 1;
	hob_buf_printf(&out, "; FBX project file\nFBXHeaderExtension: {\nFBXVersion: %u\n}\nObjects: {\n",
				   version);
	for (unsigned i = 0; i < count; i++) {
		unsigned kind = take(&s, HOB_COUNT_OF(objects));
		if (version >= 7000)
			hob_buf_printf(&out, "%s: %u, \"%s::o%u\", \"%s\" {\n", objects[kind][0], i + 1, objects[kind][0],
						   i + 1, objects[kind][1]);
		else
			hob_buf_printf(&out, "%s: \"%s::o%u\", \"%s\" {\n", objects[kind][0], objects[kind][0], i + 1,
						   objects[kind][1]);
		for (unsigned k = take(&s, 6); k > 0; k--)
			put_record(&out, &s);
		hob_buf_printf(&out, "}\n");
	}
	hob_buf_printf(&out, "}\nConnections: {\n");
	while (s.at < s.end) {
		unsigned from = take(&s, count + 2), to = take(&s, count + 2);
		const char *link = links[take(&s, HOB_COUNT_OF(links))];
		if (version >= 7000)
			hob_buf_printf(&out, "C: \"%s\",%u,%u%s%s%s\n", *link ? "OP" : "OO", from, to, *link ? ",\"" : "",
						   link, *link ? "\"" : "");
		else
			hob_buf_printf(&out, "Connect: \"OO\",\"Model::o%u\",\"%s::o%u\"\n", from,
						   take(&s, 2) ? "Model" : "Deformer", to);
	}
	hob_buf_printf(&out, "}\n");
	if (!out.failed)
		fuzz_reader(&hob_fbx_importer, hob_buf_bytes(&out), (hob_bytes){0});
	hob_buf_release(&out);
	return 0;
}

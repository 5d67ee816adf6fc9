#include "assimp_format.h"

enum {
	BY_NAME = HOB_ASSIMP_BY_NAME,
	Z_UP = HOB_ASSIMP_Z_UP,
	V_DOWN = HOB_ASSIMP_V_DOWN,
	CENTRED = HOB_ASSIMP_CENTRED_UV,
	REPLACE = HOB_ASSIMP_MAP_REPLACES,
	SEARCHED = 65536,
};

#define NO_UNIT	  HOB_ASSIMP_UNIT_NONE
#define ROOT_UNIT HOB_ASSIMP_UNIT_ROOT
#define ZIP_UNIT  HOB_ASSIMP_UNIT_3MF
#define ZIP		  "=PK\003\004"
#define GZIP	  "=\037\213"
#define IRR		  "~irr"

/* clang-format off */
static const hob_assimp_format formats[] = {
	{"gltf", "glTF 1.0", HOB_ASSIMP_TALL_FOV, NO_UNIT, {"~{"}},
	{"glb", "binary glTF 1.0", HOB_ASSIMP_TALL_FOV, NO_UNIT, {"=glTF"}},
	{"dae", "COLLADA", REPLACE, ROOT_UNIT, {"~COLLADA"}},
	{"zae", "zipped COLLADA", REPLACE, ROOT_UNIT, {ZIP}},
	{"3ds", "3D Studio", CENTRED | REPLACE | HOB_ASSIMP_NODE_PLACES, NO_UNIT, {"=MM"}},
	{"blend", "Blender", Z_UP | REPLACE, NO_UNIT, {"=BLENDER", GZIP}},
	{"lwo", "LightWave object", CENTRED | REPLACE, NO_UNIT, {"=FORM"}},
	{"lxo", "Modo object", CENTRED | REPLACE, NO_UNIT, {"=FORM"}},
	{"lws", "LightWave scene", CENTRED | REPLACE, NO_UNIT, {"=LWSC"}},
	{"ase", "3ds Max ASCII", CENTRED | REPLACE, NO_UNIT, {"~*3DSMAX_ASCIIEXPORT"}},
	{"ask", "3ds Max ASCII", CENTRED | REPLACE, NO_UNIT, {"~*3DSMAX_ASCIIEXPORT"}},
	{"x", "DirectX", 0, NO_UNIT, {"=xof "}},
	{"3mf", "3MF", Z_UP | HOB_ASSIMP_FREED_TEXTURES, ZIP_UNIT, {ZIP}},
	{"ac", "AC3D", CENTRED, NO_UNIT, {"=AC3D"}},
	{"acc", "AC3D", CENTRED, NO_UNIT, {"=AC3D"}},
	{"ac3d", "AC3D", CENTRED, NO_UNIT, {"=AC3D"}},
	{"off", "Object File Format", 0, NO_UNIT, {"~OFF"}},
	{"dxf", "DXF", 0, NO_UNIT, {"~SECTION"}},
	{"ifc", "IFC", 0, NO_UNIT, {"~ISO-10303-21"}},
	{"ifczip", "zipped IFC", 0, NO_UNIT, {ZIP}},
	{"b3d", "Blitz3D", V_DOWN, NO_UNIT, {"=BB3D"}},
	{"ms3d", "MilkShape 3D", 0, NO_UNIT, {"=MS3D000000"}},
	{"cob", "trueSpace", CENTRED, NO_UNIT, {"=Caligari "}},
	{"irrmesh", "Irrlicht mesh", 0, NO_UNIT, {IRR}},
	{"irr", "Irrlicht scene", HOB_ASSIMP_TALL_FOV, NO_UNIT, {IRR}},
	{"mesh", "Ogre mesh", BY_NAME, NO_UNIT, {"~[MeshSerializer"}},
	{"ogex", "OpenGEX", 0, NO_UNIT, {"~Metric", "~Node"}},
	{"pmx", "MikuMikuDance model", 0, NO_UNIT, {"=PMX "}},
	{"md3", "Quake III model", BY_NAME, NO_UNIT, {"=IDP3"}},
	{"mdc", "Return to Castle Wolfenstein model", BY_NAME, NO_UNIT, {"=IDPC"}},
	{"mdl", "Quake, Half-Life or GameStudio model", BY_NAME, NO_UNIT, {"=IDPO", "=IDST", "=IDSQ", "=MDL"}},
	{"md5mesh", "Doom 3 model", BY_NAME, NO_UNIT, {"~MD5Version"}},
	{"md5anim", "Doom 3 animation", BY_NAME, NO_UNIT, {"~MD5Version"}},
	{"md5camera", "Doom 3 camera", BY_NAME, NO_UNIT, {"~MD5Version"}},
	{"smd", "Valve SMD", BY_NAME | Z_UP, NO_UNIT, {"~version"}},
	{"pk3", "Quake III level", BY_NAME | Z_UP | V_DOWN, NO_UNIT, {ZIP}},
	{"hmp", "3D GameStudio terrain", 0, NO_UNIT, {"=HMP"}},
	{"3d", "Unreal mesh", BY_NAME, NO_UNIT, {0}},
	{"bvh", "BVH motion", 0, NO_UNIT, {"~HIERARCHY"}},
	{"q3o", "Quick3D object", 0, NO_UNIT, {"=quick3D"}},
	{"q3s", "Quick3D scene", 0, NO_UNIT, {"=quick3D"}},
	{"sib", "Silo", 0, NO_UNIT, {0}},
	{"ndo", "Nendo", 0, NO_UNIT, {"=nendo"}},
	{"nff", "Neutral File Format", 0, NO_UNIT, {0}},
	{"enff", "Neutral File Format", 0, NO_UNIT, {0}},
	{"xgl", "XGL", 0, NO_UNIT, {"~<world"}},
	{"zgl", "compressed XGL", 0, NO_UNIT, {0}},
	{"assbin", "Assimp binary", 0, NO_UNIT, {"=ASSIMP.binary-dump."}},
};

const char *const hob_assimp_extensions[] = {
	"gltf", "glb", "dae", "zae", "3ds", "blend", "lwo", "lxo", "lws", "ase", "ask", "x", "3mf", "ac",
	"acc", "ac3d", "off", "dxf", "ifc", "ifczip", "b3d", "ms3d", "cob", "irrmesh", "irr", "mesh", "ogex",
	"pmx",
	"md3", "mdc", "mdl", "md5mesh", "md5anim", "md5camera", "smd", "pk3", "hmp", "3d", "bvh",
	"q3o", "q3s", "sib", "ndo", "nff", "enff", "xgl", "zgl", "assbin", NULL,
};
/* clang-format on */

_Static_assert(HOB_COUNT_OF(hob_assimp_extensions) == HOB_COUNT_OF(formats) + 1, "one extension per format");

const hob_assimp_format *hob_assimp_format_of(hob_str extension)
{
	for (size_t i = 0; i < HOB_COUNT_OF(formats); i++)
		if (hob_str_equal_nocase(extension, hob_str_of(formats[i].extension)))
			return &formats[i];
	return NULL;
}

static bool stands_in(hob_str text, const char *mark)
{
	hob_str wanted = hob_str_of(mark + 1);
	if (mark[0] == '=')
		return hob_str_starts(text, wanted);
	for (size_t i = 0; i + wanted.len <= text.len; i++)
		if (hob_str_equal_nocase(hob_str_sub(text, i, i + wanted.len), wanted))
			return true;
	return false;
}

static bool is_recognised(const hob_assimp_format *format, hob_str head)
{
	if (!format->marks[0])
		return true;
	for (size_t i = 0; i < HOB_COUNT_OF(format->marks) && format->marks[i]; i++)
		if (stands_in(head, format->marks[i]))
			return true;
	return false;
}

bool hob_assimp_format_check(const hob_assimp_format *format, hob_bytes file, hob_error *err)
{
	hob_str head = {(const char *)file.data, file.size < SEARCHED ? file.size : SEARCHED};
	if (!is_recognised(format, head))
		return hob_fail(err, CORRUPT,
						"a .%s file should hold %s data, but these %zu bytes do not look like it; "
						"the file is damaged or bears the wrong extension",
						format->extension, format->name, file.size);
	return true;
}

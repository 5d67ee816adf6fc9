/**
 * hob-format.js - reads packed Hob files (.meshes, .materials, .scene, .animations) in a browser or in Node.
 *
 * Printed by schema/gen.c from schema/formats/*.def and schema/hob-format.js.in: change those. No dependencies.
 * schema/FORMATS.md says what the fields mean.
 *
 *     const pack = new Pack(await (await fetch(url)).arrayBuffer());
 *     for (const mesh of pack.rows('MDSC')) console.log(mesh.name, mesh.vertex_count);
 */

/** Numbers with a name: enumerators and bits. */
export const constants = {
	VERSION_MAJOR: 1, VERSION_MINOR: 8, ENDIAN: 16909060, TABLE_ALIGN: 16, GPU_ALIGN: 256,
	FILE_RAW: 1, FILE_QUANTIZED: 2, FILE_CUT: 4,
	SECTION_MUST_UNDERSTAND: 1, SECTION_GPU: 2,
	CODEC_RAW: 0, CODEC_MESHOPT_VERTEX: 1, CODEC_MESHOPT_INDEX: 2, CODEC_MESHOPT_SEQUENCE: 3,
	TOPOLOGY_TRIANGLES: 0, TOPOLOGY_LINES: 1, TOPOLOGY_POINTS: 2,
	MESH_SKINNED: 1, MESH_MORPHED: 2, MESH_QUANTIZED: 4, MESH_HAS_TANGENTS: 8, MESH_HAS_COLORS: 16,
	MESH_GENERATED_NORMALS: 32, MESH_GENERATED_TANGENTS: 64, MESH_LINES: 128, MESH_POINTS: 256, MESH_FLAT: 512,
	SEMANTIC_POSITION: 0, SEMANTIC_NORMAL: 1, SEMANTIC_TANGENT: 2, SEMANTIC_UV: 3, SEMANTIC_COLOR: 4,
	SEMANTIC_JOINTS: 5, SEMANTIC_WEIGHTS: 6,
	ENCODING_PLAIN: 0, ENCODING_OCTAHEDRAL: 1, ENCODING_SCALED: 2,
	DELTA_POSITION: 1, DELTA_NORMAL: 2, DELTA_TANGENT: 4,
	MATERIAL_CAST_SHADOW: 1, MATERIAL_RECEIVE_SHADOW: 2, MATERIAL_TRANSPARENT: 4, MATERIAL_MASK: 8, MATERIAL_BLEND: 16,
	MATERIAL_DOUBLE_SIDED: 32, MATERIAL_IS_UNLIT: 64,
	EXT_UNLIT: 1, EXT_SPECULAR: 2, EXT_IOR: 4, EXT_CLEARCOAT: 8, EXT_SHEEN: 16, EXT_TRANSMISSION: 32, EXT_VOLUME: 64,
	EXT_IRIDESCENCE: 128, EXT_ANISOTROPY: 256, EXT_DISPERSION: 512, EXT_DIFFUSE_TRANSMISSION: 1024,
	EXT_EMISSIVE_STRENGTH: 2048, EXT_SPEC_GLOSS: 4096,
	SLOT_BASE_COLOR: 0, SLOT_METAL_ROUGH: 1, SLOT_NORMAL: 2, SLOT_OCCLUSION: 3, SLOT_EMISSIVE: 4, SLOT_OPACITY: 5,
	SLOT_SPECULAR: 6, SLOT_SPECULAR_COLOR: 7, SLOT_CLEARCOAT: 8, SLOT_CLEARCOAT_ROUGH: 9, SLOT_CLEARCOAT_NORMAL: 10,
	SLOT_TRANSMISSION: 11, SLOT_SHEEN_COLOR: 12, SLOT_SHEEN_ROUGH: 13, SLOT_THICKNESS: 14, SLOT_ANISOTROPY: 15,
	SLOT_IRIDESCENCE: 16, SLOT_IRIDESCENCE_THICKNESS: 17, SLOT_DIFFUSE_TRANSMISSION: 18,
	SLOT_DIFFUSE_TRANSMISSION_COLOR: 19, SLOT_ROUGHNESS: 20, SLOT_METALLIC: 21, SLOT_BUMP: 22,
	WRAP_REPEAT: 0, WRAP_CLAMP: 1, WRAP_MIRROR: 2,
	FILTER_DEFAULT: 0, FILTER_NEAREST: 1, FILTER_LINEAR: 2, FILTER_NEAREST_MIP_NEAREST: 3, FILTER_LINEAR_MIP_NEAREST: 4,
	FILTER_NEAREST_MIP_LINEAR: 5, FILTER_LINEAR_MIP_LINEAR: 6,
	IMAGE_SRGB: 1, IMAGE_OPACITY_PACKED: 2, IMAGE_PLACEHOLDER: 4, IMAGE_NORMAL_XY: 8, IMAGE_ORM: 16,
	IMAGE_SOURCE_FILE: 0, IMAGE_KTX2: 1, IMAGE_PNG: 2,
	NODE_FROM_MATRIX: 1, NODE_SHEAR: 2, NODE_MIRRORED: 4, NODE_HIDDEN: 8,
	SCENE_DEFAULT: 1,
	CAMERA_PERSPECTIVE: 0, CAMERA_ORTHOGRAPHIC: 1,
	LIGHT_DIRECTIONAL: 0, LIGHT_POINT: 1, LIGHT_SPOT: 2,
	EXTRA_FILE: 0, EXTRA_SCENE: 1, EXTRA_NODE: 2, EXTRA_MATERIAL: 3, EXTRA_MESH: 4, EXTRA_CAMERA: 5, EXTRA_LIGHT: 6,
	EXTRA_SKIN: 7, EXTRA_CLIP: 8,
	STEP: 0, LINEAR: 1, CUBICSPLINE: 2,
	PATH_TRANSLATION: 0, PATH_ROTATION: 1, PATH_SCALE: 2, PATH_WEIGHTS: 3,
	PROPERTY_BASE_COLOR: 0, PROPERTY_METALLIC: 1, PROPERTY_ROUGHNESS: 2, PROPERTY_EMISSIVE: 3,
	PROPERTY_EMISSIVE_STRENGTH: 4, PROPERTY_NORMAL_SCALE: 5, PROPERTY_OCCLUSION_STRENGTH: 6, PROPERTY_ALPHA_CUTOFF: 7,
	PROPERTY_IOR: 8, PROPERTY_DISPERSION: 9, PROPERTY_SPECULAR: 10, PROPERTY_SPECULAR_COLOR: 11, PROPERTY_CLEARCOAT: 12,
	PROPERTY_CLEARCOAT_ROUGHNESS: 13, PROPERTY_CLEARCOAT_NORMAL_SCALE: 14, PROPERTY_SHEEN_COLOR: 15,
	PROPERTY_SHEEN_ROUGHNESS: 16, PROPERTY_TRANSMISSION: 17, PROPERTY_THICKNESS: 18, PROPERTY_ATTENUATION_DISTANCE: 19,
	PROPERTY_ATTENUATION_COLOR: 20, PROPERTY_ANISOTROPY: 21, PROPERTY_ANISOTROPY_ROTATION: 22, PROPERTY_IRIDESCENCE: 23,
	PROPERTY_IRIDESCENCE_IOR: 24, PROPERTY_IRIDESCENCE_MIN: 25, PROPERTY_IRIDESCENCE_MAX: 26,
	PROPERTY_DIFFUSE_TRANSMISSION: 27, PROPERTY_DIFFUSE_TRANSMISSION_COLOR: 28, PROPERTY_TEXTURE_OFFSET: 29,
	PROPERTY_TEXTURE_SCALE: 30, PROPERTY_TEXTURE_ROTATION: 31, PROPERTY_CAMERA_Y: 32, PROPERTY_CAMERA_X: 33,
	PROPERTY_CAMERA_NEAR: 34, PROPERTY_CAMERA_FAR: 35, PROPERTY_LIGHT_COLOR: 36, PROPERTY_LIGHT_INTENSITY: 37,
	PROPERTY_LIGHT_RANGE: 38, PROPERTY_LIGHT_INNER_CONE: 39, PROPERTY_LIGHT_OUTER_CONE: 40, PROPERTY_NODE_VISIBLE: 41,
	VALUE_F32: 0,
};

/** Vertex formats by VkFormat number. */
export const vertexFormats = {
	16: { name: 'R8G8_UNORM', bytes: 2, components: 2, componentBytes: 1, kind: 'UNORM' },
	17: { name: 'R8G8_SNORM', bytes: 2, components: 2, componentBytes: 1, kind: 'SNORM' },
	37: { name: 'R8G8B8A8_UNORM', bytes: 4, components: 4, componentBytes: 1, kind: 'UNORM' },
	38: { name: 'R8G8B8A8_SNORM', bytes: 4, components: 4, componentBytes: 1, kind: 'SNORM' },
	41: { name: 'R8G8B8A8_UINT', bytes: 4, components: 4, componentBytes: 1, kind: 'UINT' },
	65: { name: 'A2B10G10R10_SNORM_PACK32', bytes: 4, components: 4, componentBytes: 0, kind: 'SNORM' },
	77: { name: 'R16G16_UNORM', bytes: 4, components: 2, componentBytes: 2, kind: 'UNORM' },
	78: { name: 'R16G16_SNORM', bytes: 4, components: 2, componentBytes: 2, kind: 'SNORM' },
	83: { name: 'R16G16_SFLOAT', bytes: 4, components: 2, componentBytes: 2, kind: 'HALF' },
	84: { name: 'R16G16B16_UNORM', bytes: 6, components: 3, componentBytes: 2, kind: 'UNORM' },
	91: { name: 'R16G16B16A16_UNORM', bytes: 8, components: 4, componentBytes: 2, kind: 'UNORM' },
	92: { name: 'R16G16B16A16_SNORM', bytes: 8, components: 4, componentBytes: 2, kind: 'SNORM' },
	95: { name: 'R16G16B16A16_UINT', bytes: 8, components: 4, componentBytes: 2, kind: 'UINT' },
	97: { name: 'R16G16B16A16_SFLOAT', bytes: 8, components: 4, componentBytes: 2, kind: 'HALF' },
	100: { name: 'R32_SFLOAT', bytes: 4, components: 1, componentBytes: 4, kind: 'FLOAT' },
	103: { name: 'R32G32_SFLOAT', bytes: 8, components: 2, componentBytes: 4, kind: 'FLOAT' },
	106: { name: 'R32G32B32_SFLOAT', bytes: 12, components: 3, componentBytes: 4, kind: 'FLOAT' },
	109: { name: 'R32G32B32A32_SFLOAT', bytes: 16, components: 4, componentBytes: 4, kind: 'FLOAT' },
};

/** Records: size, and fields as [name, type, offset, count (0 = one value), is a name]. */
export const records = {
	header: { bytes: 64, fields: [
		['magic', 'u8', 0, 8],
		['endian', 'u32', 8, 0],
		['ver_major', 'u16', 12, 0],
		['ver_minor', 'u16', 14, 0],
		['kind', 'u32', 16, 0],
		['flags', 'u32', 20, 0],
		['section_count', 'u32', 24, 0],
		['header_bytes', 'u16', 28, 0],
		['entry_bytes', 'u16', 30, 0],
		['file_bytes', 'u64', 32, 0],
		['prefix_bytes', 'u64', 40, 0],
		['digest', 'u8', 48, 16],
	] },
	section: { bytes: 64, fields: [
		['type', 'u32', 0, 0],
		['flags', 'u32', 4, 0],
		['offset', 'u64', 8, 0],
		['stored_bytes', 'u64', 16, 0],
		['raw_bytes', 'u64', 24, 0],
		['count', 'u32', 32, 0],
		['stride', 'u32', 36, 0],
		['codec', 'u16', 40, 0],
		['align_log2', 'u8', 42, 0],
		['part', 'u8', 43, 0],
		['owner', 'u32', 44, 0],
		['digest', 'u8', 48, 16],
	] },
	mat4: { bytes: 64, fields: [
		['m', 'f32', 0, 16],
	] },
	box: { bytes: 24, fields: [
		['min', 'f32', 0, 3],
		['max', 'f32', 12, 3],
	] },
	range: { bytes: 24, fields: [
		['offset', 'u64', 0, 0],
		['size', 'u32', 8, 0],
		['digest', 'u8', 12, 12],
	] },
	mesh: { bytes: 144, fields: [
		['name', 'u32', 0, 0, true],
		['material', 'u32', 4, 0],
		['flags', 'u32', 8, 0],
		['layout', 'u32', 12, 0],
		['first_vertex', 'u32', 16, 0],
		['vertex_count', 'u32', 20, 0],
		['lod_first', 'u32', 24, 0],
		['lod_count', 'u32', 28, 0],
		['skin', 'u32', 32, 0],
		['morph_first', 'u32', 36, 0],
		['morph_count', 'u32', 40, 0],
		['source_primitive', 'u32', 44, 0],
		['aabb_min', 'f32', 48, 3],
		['pos_scale', 'f32', 60, 0],
		['aabb_max', 'f32', 64, 3],
		['uv_density', 'f32', 76, 0],
		['sphere', 'f32', 80, 4],
		['pos_offset', 'f32', 96, 3],
		['influence_count', 'u32', 108, 0],
		['uv_scale', 'f32', 112, 2],
		['uv_offset', 'f32', 120, 2],
		['topology', 'u32', 128, 0],
		['source_mesh', 'u32', 132, 0],
		['variant_first', 'u32', 136, 0],
		['variant_count', 'u32', 140, 0],
	] },
	lod: { bytes: 32, fields: [
		['first_index', 'u32', 0, 0],
		['index_count', 'u32', 4, 0],
		['vertex_prefix', 'u32', 8, 0],
		['error', 'f32', 12, 0],
		['meshlet_first', 'u32', 16, 0],
		['meshlet_count', 'u32', 20, 0],
		['index_section', 'u32', 24, 0],
		['flags', 'u32', 28, 0],
	] },
	lod_attributes: { bytes: 16, fields: [
		['uv', 'f32', 0, 0],
		['color', 'f32', 4, 0],
		['weight', 'f32', 8, 0],
		['reserved', 'u32', 12, 0],
	] },
	layout: { bytes: 32, fields: [
		['attribute_first', 'u32', 0, 0],
		['attribute_count', 'u32', 4, 0],
		['stream_count', 'u32', 8, 0],
		['vertex_count', 'u32', 12, 0],
		['sections', 'u32', 16, 4],
	] },
	attribute: { bytes: 16, fields: [
		['semantic', 'u8', 0, 0],
		['set', 'u8', 1, 0],
		['components', 'u8', 2, 0],
		['encoding', 'u8', 3, 0],
		['format', 'u16', 4, 0],
		['stream', 'u16', 6, 0],
		['offset', 'u32', 8, 0],
		['reserved', 'u32', 12, 0],
	] },
	meshlet: { bytes: 32, fields: [
		['center', 'f32', 0, 3],
		['radius', 'f32', 12, 0],
		['cone_axis', 's8', 16, 3],
		['cone_cutoff', 's8', 19, 0],
		['vertex_offset', 'u32', 20, 0],
		['triangle_offset', 'u32', 24, 0],
		['vertex_count', 'u8', 28, 0],
		['triangle_count', 'u8', 29, 0],
		['group', 'u16', 30, 0],
	] },
	cluster_set: { bytes: 32, fields: [
		['lod_first', 'u32', 0, 0],
		['group_first', 'u32', 4, 0],
		['group_count', 'u32', 8, 0],
		['cluster_first', 'u32', 12, 0],
		['cluster_count', 'u32', 16, 0],
		['meshlet_first', 'u32', 20, 0],
		['reserved', 'u32', 24, 2],
	] },
	cluster_group: { bytes: 32, fields: [
		['sphere', 'f32', 0, 4],
		['error', 'f32', 16, 0],
		['cluster_first', 'u32', 20, 0],
		['cluster_count', 'u32', 24, 0],
		['reserved', 'u32', 28, 0],
	] },
	morph: { bytes: 64, fields: [
		['mesh', 'u32', 0, 0],
		['name', 'u32', 4, 0, true],
		['weight', 'f32', 8, 0],
		['attribute_mask', 'u32', 12, 0],
		['delta_first', 'u32', 16, 0],
		['delta_count', 'u32', 20, 0],
		['min', 'f32', 24, 3],
		['max', 'f32', 36, 3],
		['reserved', 'u32', 48, 4],
	] },
	delta: { bytes: 40, fields: [
		['vertex', 'u32', 0, 0],
		['position', 'f32', 4, 3],
		['normal', 'f32', 16, 3],
		['tangent', 'f32', 28, 3],
	] },
	variant_map: { bytes: 12, fields: [
		['mesh', 'u32', 0, 0],
		['variant', 'u32', 4, 0],
		['material', 'u32', 8, 0],
	] },
	material: { bytes: 320, fields: [
		['base_color', 'f32', 0, 4],
		['emissive', 'f32', 16, 3],
		['emissive_strength', 'f32', 28, 0],
		['metallic', 'f32', 32, 0],
		['roughness', 'f32', 36, 0],
		['normal_scale', 'f32', 40, 0],
		['occlusion_strength', 'f32', 44, 0],
		['alpha_cutoff', 'f32', 48, 0],
		['ior', 'f32', 52, 0],
		['transparency', 'f32', 56, 0],
		['dispersion', 'f32', 60, 0],
		['flags', 'u32', 64, 0],
		['ext_mask', 'u32', 68, 0],
		['name', 'u32', 72, 0, true],
		['alpha_test', 'f32', 76, 0],
		['specular_color', 'f32', 80, 3],
		['specular', 'f32', 92, 0],
		['clearcoat', 'f32', 96, 0],
		['clearcoat_roughness', 'f32', 100, 0],
		['clearcoat_normal_scale', 'f32', 104, 0],
		['transmission', 'f32', 108, 0],
		['sheen_color', 'f32', 112, 3],
		['sheen_roughness', 'f32', 124, 0],
		['attenuation_color', 'f32', 128, 3],
		['attenuation_distance', 'f32', 140, 0],
		['thickness', 'f32', 144, 0],
		['anisotropy', 'f32', 148, 0],
		['anisotropy_rotation', 'f32', 152, 0],
		['iridescence', 'f32', 156, 0],
		['iridescence_ior', 'f32', 160, 0],
		['iridescence_min', 'f32', 164, 0],
		['iridescence_max', 'f32', 168, 0],
		['diffuse_transmission', 'f32', 172, 0],
		['diffuse_transmission_color', 'f32', 176, 3],
		['reserved0', 'u32', 188, 0],
		['aniso_roughness', 'f32', 192, 4],
		['textures', 'u32', 208, 24],
		['reserved', 'u32', 304, 4],
	] },
	texref: { bytes: 32, fields: [
		['image', 'u32', 0, 0],
		['sampler', 'u32', 4, 0],
		['uv_set', 'u8', 8, 0],
		['slot', 'u8', 9, 0],
		['reserved', 'u16', 10, 0],
		['offset', 'f32', 12, 2],
		['scale', 'f32', 20, 2],
		['rotation', 'f32', 28, 0],
	] },
	image: { bytes: 96, fields: [
		['name', 'u32', 0, 0, true],
		['container', 'u32', 4, 0],
		['width', 'u16', 8, 0],
		['height', 'u16', 10, 0],
		['mips', 'u16', 12, 0],
		['layers', 'u16', 14, 0],
		['vk_format', 'u32', 16, 0],
		['flags', 'u32', 20, 0],
		['bytes', 'u64', 24, 0],
		['cooked_sha256', 'u8', 32, 32],
		['source_sha256', 'u8', 64, 32],
	] },
	texture_sampler: { bytes: 4, fields: [
		['wrap_u', 'u8', 0, 0],
		['wrap_v', 'u8', 1, 0],
		['mag', 'u8', 2, 0],
		['min', 'u8', 3, 0],
	] },
	hierarchy: { bytes: 20, fields: [
		['parent', 's32', 0, 0],
		['first_child', 's32', 4, 0],
		['next_sibling', 's32', 8, 0],
		['last_sibling', 's32', 12, 0],
		['level', 's32', 16, 0],
	] },
	trs: { bytes: 48, fields: [
		['t', 'f32', 0, 3],
		['flags', 'u32', 12, 0],
		['r', 'f32', 16, 4],
		['s', 'f32', 32, 3],
		['reserved', 'u32', 44, 0],
	] },
	link: { bytes: 8, fields: [
		['node', 'u32', 0, 0],
		['value', 'u32', 4, 0],
	] },
	camera: { bytes: 32, fields: [
		['name', 'u32', 0, 0, true],
		['type', 'u32', 4, 0],
		['yfov_or_ymag', 'f32', 8, 0],
		['aspect_or_xmag', 'f32', 12, 0],
		['znear', 'f32', 16, 0],
		['zfar', 'f32', 20, 0],
		['reserved', 'u32', 24, 2],
	] },
	light: { bytes: 48, fields: [
		['name', 'u32', 0, 0, true],
		['type', 'u32', 4, 0],
		['color', 'f32', 8, 3],
		['intensity', 'f32', 20, 0],
		['range', 'f32', 24, 0],
		['inner_cone', 'f32', 28, 0],
		['outer_cone', 'f32', 32, 0],
		['reserved', 'u32', 36, 3],
	] },
	scene: { bytes: 16, fields: [
		['name', 'u32', 0, 0, true],
		['root_first', 'u32', 4, 0],
		['root_count', 'u32', 8, 0],
		['flags', 'u32', 12, 0],
	] },
	extra: { bytes: 16, fields: [
		['kind', 'u32', 0, 0],
		['index', 'u32', 4, 0],
		['values', 'u32', 8, 0, true],
		['extensions', 'u32', 12, 0, true],
	] },
	clip: { bytes: 48, fields: [
		['name', 'u32', 0, 0, true],
		['channel_first', 'u32', 4, 0],
		['channel_count', 'u32', 8, 0],
		['flags', 'u32', 12, 0],
		['start', 'f32', 16, 0],
		['end', 'f32', 20, 0],
		['bounds_min', 'f32', 24, 3],
		['bounds_max', 'f32', 36, 3],
	] },
	channel: { bytes: 12, fields: [
		['node', 'u32', 0, 0],
		['sampler', 'u32', 4, 0],
		['path', 'u32', 8, 0],
	] },
	property_channel: { bytes: 16, fields: [
		['clip', 'u32', 0, 0],
		['property', 'u16', 4, 0],
		['slot', 'u16', 6, 0],
		['index', 'u32', 8, 0],
		['sampler', 'u32', 12, 0],
	] },
	sampler: { bytes: 16, fields: [
		['interpolation', 'u8', 0, 0],
		['value_format', 'u8', 1, 0],
		['components', 'u16', 2, 0],
		['key_count', 'u32', 4, 0],
		['time_first', 'u32', 8, 0],
		['value_first', 'u32', 12, 0],
	] },
	skin: { bytes: 16, fields: [
		['name', 'u32', 0, 0, true],
		['root', 'u32', 4, 0],
		['joint_first', 'u32', 8, 0],
		['joint_count', 'u32', 12, 0],
	] },
};

/** Section types: what an element is, and whether the section stands behind the prefix. */
export const sectionTypes = {
	STRS: { kind: 'ALL', element: 'u8', gpu: false },
	RNGS: { kind: 'ALL', element: 'range', gpu: false },
	MDSC: { kind: 'MESH', element: 'mesh', gpu: false },
	LODS: { kind: 'MESH', element: 'lod', gpu: false },
	LODA: { kind: 'MESH', element: 'lod_attributes', gpu: false },
	LODM: { kind: 'MESH', element: 'f32', gpu: false },
	LAYT: { kind: 'MESH', element: 'layout', gpu: false },
	ATTR: { kind: 'MESH', element: 'attribute', gpu: false },
	MRPH: { kind: 'MESH', element: 'morph', gpu: false },
	VMAP: { kind: 'MESH', element: 'variant_map', gpu: false },
	CLST: { kind: 'MESH', element: 'cluster_set', gpu: false },
	CLGR: { kind: 'MESH', element: 'cluster_group', gpu: false },
	CLUS: { kind: 'MESH', element: 'u32', gpu: false },
	VTX_: { kind: 'MESH', element: 'vertex', gpu: true },
	IDX_: { kind: 'MESH', element: 'index', gpu: true },
	MLET: { kind: 'MESH', element: 'meshlet', gpu: true },
	MLVT: { kind: 'MESH', element: 'u32', gpu: true },
	MLTR: { kind: 'MESH', element: 'u8', gpu: true },
	MDLT: { kind: 'MESH', element: 'delta', gpu: true },
	MATL: { kind: 'MATL', element: 'material', gpu: false },
	TEXR: { kind: 'MATL', element: 'texref', gpu: false },
	IMGS: { kind: 'MATL', element: 'image', gpu: false },
	TSMP: { kind: 'MATL', element: 'texture_sampler', gpu: false },
	VARI: { kind: 'MATL', element: 'u32', gpu: false },
	HIER: { kind: 'SCNE', element: 'hierarchy', gpu: false },
	SUBT: { kind: 'SCNE', element: 'u32', gpu: false },
	TRS_: { kind: 'SCNE', element: 'trs', gpu: false },
	LOCL: { kind: 'SCNE', element: 'mat4', gpu: false },
	GLOB: { kind: 'SCNE', element: 'mat4', gpu: false },
	AABB: { kind: 'SCNE', element: 'box', gpu: false },
	NAMS: { kind: 'SCNE', element: 'u32', gpu: false },
	LMSH: { kind: 'SCNE', element: 'link', gpu: false },
	LMAT: { kind: 'SCNE', element: 'link', gpu: false },
	LCAM: { kind: 'SCNE', element: 'link', gpu: false },
	LLGT: { kind: 'SCNE', element: 'link', gpu: false },
	LSKN: { kind: 'SCNE', element: 'link', gpu: false },
	LWGT: { kind: 'SCNE', element: 'link', gpu: false },
	WGTS: { kind: 'SCNE', element: 'f32', gpu: false },
	CAMS: { kind: 'SCNE', element: 'camera', gpu: false },
	LGTS: { kind: 'SCNE', element: 'light', gpu: false },
	SCNS: { kind: 'SCNE', element: 'scene', gpu: false },
	ROOT: { kind: 'SCNE', element: 'u32', gpu: false },
	XTRA: { kind: 'SCNE', element: 'extra', gpu: false },
	CLIP: { kind: 'ANIM', element: 'clip', gpu: false },
	CHAN: { kind: 'ANIM', element: 'channel', gpu: false },
	PROP: { kind: 'ANIM', element: 'property_channel', gpu: false },
	SMPL: { kind: 'ANIM', element: 'sampler', gpu: false },
	TIME: { kind: 'ANIM', element: 'f32', gpu: false },
	VALS: { kind: 'ANIM', element: 'f32', gpu: false },
	SKIN: { kind: 'ANIM', element: 'skin', gpu: false },
	JNTS: { kind: 'ANIM', element: 'u32', gpu: false },
	IBMS: { kind: 'ANIM', element: 'mat4', gpu: false },
};

export const NONE = 0xffffffff;

/**
 * @import { Decoder, Row } from './hob-format.js'
 * @typedef {import('./hob-format.js').Section & { known: { kind: string, element: string, gpu: boolean } }} Section
 * @typedef {[name: string, type: string, offset: number, count: number, isName?: boolean]} Field
 */

/** The tables above by whatever name. */
const layouts = /** @type {Record<string, { bytes: number, fields: Field[] }>} */ (/** @type {unknown} */ (records));
const kindsOfSection = /** @type {Record<string, { kind: string, element: string, gpu: boolean }>} */ (sectionTypes);

const MAGIC = [0x89, 0x48, 0x4f, 0x42, 0x0d, 0x0a, 0x1a, 0x0a];

/** @type {Record<string, [number, (view: DataView, at: number) => number]>} */
const readers = {
	u8: [1, (view, at) => view.getUint8(at)],
	s8: [1, (view, at) => view.getInt8(at)],
	u16: [2, (view, at) => view.getUint16(at, true)],
	u32: [4, (view, at) => view.getUint32(at, true)],
	s32: [4, (view, at) => view.getInt32(at, true)],
	u64: [8, (view, at) => view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32],
	f32: [4, (view, at) => view.getFloat32(at, true)],
};

/** @type {Record<string, Int8ArrayConstructor | Uint8ArrayConstructor | Uint16ArrayConstructor | Uint32ArrayConstructor
	| Int32ArrayConstructor | Float32ArrayConstructor>} */
const arrays = { u8: Uint8Array, s8: Int8Array, u16: Uint16Array, u32: Uint32Array, s32: Int32Array,
	f32: Float32Array };

/** @param {number} value */
const fourcc = (value) => String.fromCharCode(value & 255, (value >> 8) & 255, (value >> 16) & 255,
	(value >>> 24) & 255);

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Reads one record of `view` at `at` as an object; `text` turns the offset of a name into its string.
 * @param {string} name
 * @param {DataView} view
 * @param {number} at
 * @param {(offset: number) => unknown} [text]
 */
export function readRecord(name, view, at, text = (offset) => offset) {
	/** @type {Row} */
	const out = {};
	for (const [field, type, offset, count, isName] of layouts[name].fields)
		out[field] = readField(view, at + offset, type, count, isName, text);
	return out;
}

/**
 * @param {DataView} view
 * @param {number} at
 * @param {string} type
 * @param {number} count
 * @param {boolean | undefined} isName
 * @param {(offset: number) => unknown} text
 */
function readField(view, at, type, count, isName, text) {
	const [size, read] = readers[type];
	if (!count) return isName ? text(read(view, at)) : read(view, at);
	if (type === 'u8') return new Uint8Array(view.buffer, view.byteOffset + at, count);
	return Array.from({ length: count }, (_, i) => read(view, at + i * size));
}

/** What is wrong with a file. */
export class FormatError extends Error {}

/**
 * @param {unknown} condition
 * @param {string} message
 */
function check(condition, message) {
	if (!condition) throw new FormatError(message);
}

/**
 * True when the bytes begin like a packed file.
 * @param {Uint8Array} bytes
 */
export function isPack(bytes) {
	return bytes.length >= 64 && MAGIC.every((byte, i) => bytes[i] === byte);
}

/**
 * A packed file, or its beginning.
 *
 * Opening checks header and section table against the bytes that are there; ids in records are not checked.
 * Data is not copied: typed arrays that come from a Pack view its buffer.
 */
export class Pack {
	/**
	 * @param {ArrayBuffer | Uint8Array} source  aligned to 8 bytes, as whole ArrayBuffers are
	 * @param {{prefix?: boolean}} options       prefix: GPU sections may be missing
	 */
	constructor(source, options = {}) {
		const bytes = source instanceof Uint8Array ? source : new Uint8Array(source);
		check(isPack(bytes), 'not a packed Hob file');
		this.bytes = bytes;
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.header = readRecord('header', this.view, 0);
		const h = this.header;
		check(h.endian === constants.ENDIAN, 'another byte order');
		check(h.ver_major === constants.VERSION_MAJOR,
			`format version ${h.ver_major}, want ${constants.VERSION_MAJOR}`);
		const tableEnd = h.header_bytes + h.section_count * h.entry_bytes;
		check(h.header_bytes >= 64 && h.entry_bytes >= 64 && tableEnd <= h.prefix_bytes
				&& h.prefix_bytes <= h.file_bytes, 'bad header');
		check(bytes.length >= (options.prefix ? h.prefix_bytes : h.file_bytes),
			`${bytes.length} of ${h.file_bytes} bytes are there`);
		this.kind = fourcc(h.kind);
		/** @type {Section[]} */
		this.sections = [];
		for (let i = 0; i < h.section_count; i++) this.sections.push(
				this.#readSection(h.header_bytes + i * h.entry_bytes));
		const strings = this.find('STRS');
		this.strings = strings ? this.data(strings) : new Uint8Array();
	}

	/**
	 * @param {number} at
	 * @returns {Section}
	 */
	#readSection(at) {
		const section = /** @type {Section} */ (readRecord('section', this.view, at));
		section.type = fourcc(Number(section.type));
		section.known = kindsOfSection[section.type];
		if (!section.known) {
			check(!(section.flags & constants.SECTION_MUST_UNDERSTAND), `unknown section ${section.type}`);
			return section;
		}
		const { element } = section.known;
		const least = layouts[element]?.bytes ?? readers[element]?.[0] ?? 1;
		check(section.offset + section.stored_bytes <= this.header.file_bytes,
			`section ${section.type} leaves the file`);
		check(section.known.gpu || section.offset + section.stored_bytes <= this.header.prefix_bytes,
			`section ${section.type} leaves the prefix`);
		check(section.count * section.stride === section.raw_bytes, `section ${section.type} has a wrong size`);
		check(section.stride >= least, `section ${section.type} has short records`);
		check(section.codec !== constants.CODEC_RAW || section.raw_bytes === section.stored_bytes,
			`section ${section.type} has a wrong size`);
		return section;
	}

	/**
	 * The first section of a type, or undefined.
	 * @param {string} type
	 * @returns {Section | undefined}
	 */
	find(type) {
		return this.sections.find((section) => section.type === type);
	}

	/**
	 * The string at an offset in STRS.
	 * @param {number} offset
	 */
	text(offset) {
		const end = this.strings.indexOf(0, offset);
		return end < 0 ? '' : new TextDecoder().decode(this.strings.subarray(offset, end));
	}

	/**
	 * The stored bytes of a section.
	 * @param {Section} section
	 */
	data(section) {
		check(section.offset + section.stored_bytes <= this.bytes.length, `section ${section.type} is not there yet`);
		return this.bytes.subarray(section.offset, section.offset + section.stored_bytes);
	}

	/**
	 * Element `index` of a section that the CPU reads: an object, a number, a string, or an array for a matrix.
	 * @param {Section} section
	 * @param {number} index
	 * @returns {any}
	 */
	row(section, index) {
		const at = section.offset + index * section.stride;
		const { element } = section.known;
		/** @param {number} offset */
		const text = (offset) => this.text(offset);
		if (section.type === 'NAMS' || section.type === 'VARI') return this.text(this.view.getUint32(at, true));
		if (!layouts[element]) return readers[element][1](this.view, at);
		if (layouts[element].fields.length > 1) return readRecord(element, this.view, at, text);
		const [, type, offset, count] = layouts[element].fields[0];
		return readField(this.view, at + offset, type, count, false, text);
	}

	/**
	 * All elements of the section of a type.
	 * @param {string} type
	 */
	rows(type) {
		const section = this.find(type);
		return section ? Array.from({ length: section.count }, (_, i) => this.row(section, i)) : [];
	}

	/**
	 * A section of plain numbers (TIME, VALS, JNTS, LOCL, MLVT ...) or of indices as one typed array; vertices as
	 * bytes. Encoded sections go through `decoder`, an object like meshoptimizer's MeshoptDecoder.
	 * @param {Section} section
	 * @param {Decoder} [decoder]
	 */
	array(section, decoder) {
		const bytes = this.decode(section, decoder);
		const { element } = section.known;
		const Type = element === 'index' ? (section.stride === 2 ? Uint16Array : Uint32Array)
			: element === 'mat4' || element === 'box' ? Float32Array : arrays[element] ?? Uint8Array;
		return new Type(/** @type {ArrayBuffer} */ (bytes.buffer), bytes.byteOffset,
			bytes.byteLength / Type.BYTES_PER_ELEMENT);
	}

	/**
	 * The bytes of a section, decoded.
	 * @param {Section} section
	 * @param {Decoder} [decoder]
	 */
	decode(section, decoder) {
		const stored = this.data(section);
		if (section.codec === constants.CODEC_RAW) return stored;
		check(decoder, `section ${section.type} is encoded and there is no decoder`);
		const functions = /** @type {const} */ (['decodeVertexBuffer', 'decodeIndexBuffer', 'decodeIndexSequence']);
		const name = functions[section.codec - 1];
		check(name, `unknown codec ${section.codec}`);
		const out = new Uint8Array(section.raw_bytes);
		decoder?.[name](out, section.count, section.stride, stored);
		return out;
	}

	/**
	 * The value linked to a node in a section of links (LMSH, LMAT ...); NONE without one. O(log n).
	 * @param {string} type
	 * @param {number} node
	 */
	link(type, node) {
		const section = this.find(type);
		if (!section) return NONE;
		for (let first = 0, last = section.count; first < last; ) {
			const middle = (first + last) >> 1;
			const at = section.offset + middle * section.stride;
			const found = this.view.getUint32(at, true);
			if (found === node) return this.view.getUint32(at + 4, true);
			if (found < node) first = middle + 1;
			else last = middle;
		}
		return NONE;
	}

	/** All that the CPU reads, as `hob inspect --json` prints it. */
	describe() {
		/** @type {Record<string, any[]>} */
		const out = {};
		for (const section of this.sections)
			if (section.known && !section.known.gpu && section.type !== 'STRS') out[section.type] =
				this.rows(section.type);
		return out;
	}
}

/**
 * The attributes of a mesh (a row of MDSC), with the section, stride and byte offset of its first vertex.
 * @param {Pack} pack
 * @param {Row} mesh
 */
export function meshAttributes(pack, mesh) {
	if (mesh.layout === NONE) return [];
	const layout = pack.row(/** @type {Section} */ (pack.find('LAYT')), mesh.layout);
	const table = /** @type {Section} */ (pack.find('ATTR'));
	return Array.from({ length: layout.attribute_count }, (_, i) => {
		const attribute = pack.row(table, layout.attribute_first + i);
		const section = pack.sections[layout.sections[attribute.stream]];
		return { ...attribute, section, stride: section.stride, start: mesh.first_vertex * section.stride
				+ attribute.offset,
			layout: /** @type {Record<number, object>} */ (vertexFormats)[attribute.format] };
	});
}

/**
 * The levels of a mesh, finest first, with their index sections, mean errors (0 if the file has none) and the errors
 * of their attributes (a row of LODA; null if the file has none).
 * @param {Pack} pack
 * @param {Row} mesh
 */
export function meshLevels(pack, mesh) {
	const table = /** @type {Section} */ (pack.find('LODS'));
	const errors = pack.find('LODA');
	const means = pack.find('LODM');
	return Array.from({ length: mesh.lod_count }, (_, i) => {
		const lod = pack.row(table, mesh.lod_first + i);
		const attributes = errors ? pack.row(errors, mesh.lod_first + i) : null;
		const mean_error = means ? pack.row(means, mesh.lod_first + i) : 0;
		return { ...lod, mean_error, section: pack.sections[lod.index_section], attributes };
	});
}

/**
 * hob-three-material.js - materials and textures of a packed .materials file for three.js.
 *
 * A material becomes the cheapest class that can show it: MeshBasicMaterial if unlit, MeshPhysicalMaterial if an
 * extension needs it, else MeshStandardMaterial. Properties that three.js does not have (diffuse transmission) are in
 * userData.hob with the whole record.
 */
import * as THREE from 'three';
import { read as readKtx } from 'three/addons/libs/ktx-parse.module.js';
import { ZSTDDecoder } from 'three/addons/libs/zstddec.module.js';
import { decodeBlocks } from './hob-blocks.js';
import { NONE, constants, hex } from './hob-format.js';

/**
 * @import { KTX2Container } from 'three/addons/libs/ktx-parse.module.js'
 * @import { Pack, Row } from './hob-format.js'
 * @typedef {Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer>} Data
 * @typedef {{ data: Data, width: number, height: number }} Mip
 * @typedef {{ parse(bytes: ArrayBuffer, done: (texture: THREE.Texture) => void, failed: (error: unknown) => void):
 *     unknown
 *     }} Transcoder  three's KTX2Loader, or what is like it
 * @typedef {THREE.MeshBasicMaterial | THREE.MeshStandardMaterial | THREE.MeshPhysicalMaterial} Made
 */

const c = constants;

/** VkFormat number: [three.js format, sRGB, bytes of a block, side of a block]. */
/** @type {Record<number, [number, boolean, number, number]>} */
const ktxFormats = {
	9: [THREE.RedFormat, false, 1, 1],
	16: [THREE.RGFormat, false, 2, 1],
	37: [THREE.RGBAFormat, false, 4, 1],
	43: [THREE.RGBAFormat, true, 4, 1],
	97: [THREE.RGBAFormat, false, 8, 1],
	131: [THREE.RGB_S3TC_DXT1_Format, false, 8, 4],
	132: [THREE.RGB_S3TC_DXT1_Format, true, 8, 4],
	133: [THREE.RGBA_S3TC_DXT1_Format, false, 8, 4],
	134: [THREE.RGBA_S3TC_DXT1_Format, true, 8, 4],
	137: [THREE.RGBA_S3TC_DXT5_Format, false, 16, 4],
	138: [THREE.RGBA_S3TC_DXT5_Format, true, 16, 4],
	139: [THREE.RED_RGTC1_Format, false, 8, 4],
	141: [THREE.RED_GREEN_RGTC2_Format, false, 16, 4],
	143: [THREE.RGB_BPTC_UNSIGNED_Format, false, 16, 4],
	145: [THREE.RGBA_BPTC_Format, false, 16, 4],
	146: [THREE.RGBA_BPTC_Format, true, 16, 4],
	/* ASTC: WebGL and Vulkan number the formats in the same order. */
	...Object.fromEntries([4, 5, 5, 6, 6, 8, 8, 8, 10, 10, 10, 10, 12, 12].flatMap((side, i) =>
		[[157 + 2 * i, [THREE.RGBA_ASTC_4x4_Format + i, false, 16, side]],
			[158 + 2 * i, [THREE.RGBA_ASTC_4x4_Format + i, true, 16, side]]])),
};

/** The WebGL extension needed for block-compressed VkFormats up to a number; without it they are decoded here. */
/** @type {[number, string | null, string?][]} */
const needs = [[130, null], [138, 'WEBGL_compressed_texture_s3tc', 'BC1 to BC3'],
	[142, 'EXT_texture_compression_rgtc', 'BC4 and BC5'],
	[146, 'EXT_texture_compression_bptc', 'BC6H and BC7'], [184, 'WEBGL_compressed_texture_astc', 'ASTC']];

let zstd;

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {number} size
 */
async function inflate(bytes, size) {
	zstd ??= new ZSTDDecoder();
	await zstd.init();
	return zstd.decode(bytes, size);
}

/**
 * Textures kept as Basis Universal (texture.basis: keep): three's own transcoder converts them to a format of the
 * graphics card.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {KTX2Container} ktx
 * @param {Transcoder | null} transcoder
 */
async function readBasis(bytes, ktx, transcoder) {
	if (!transcoder) throw new Error('a texture in Basis Universal: give the loader a KTX2Loader with setKTX2Loader, ' +
			'or cook it with texture.basis transcode');
	const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
	const texture = await new Promise((resolve, reject) => transcoder.parse(whole, resolve, reject));
	texture.userData.levels = Math.max(1, ktx.levels.length);
	return texture;
}

/**
 * A level of a cube holds the six faces one after another.
 * @param {KTX2Container} ktx
 * @param {Mip[]} mipmaps
 * @param {THREE.CompressedPixelFormat} format
 */
function makeCube(ktx, mipmaps, format) {
	/**
	 * @param {Data} data
	 * @param {number} i
	 */
	const face = (data, i) => data.subarray(i * data.length / 6, (i + 1) * data.length / 6);
	const images = Array.from({ length: 6 }, (_, i) => ({ width: ktx.pixelWidth, height: ktx.pixelHeight,
		mipmaps: mipmaps.map(({ data, ...size }) => ({ ...size, data: face(data, i) })) }));
	const texture = new THREE.CompressedCubeTexture(images, format);
	const irradiance = ktx.keyValue.HobIrradiance;
	texture.minFilter = THREE.LinearMipmapLinearFilter;
	/* Copied: floats must be aligned to four bytes. */
	if (irradiance) texture.userData.irradiance = new Float32Array(irradiance.slice().buffer);
	texture.needsUpdate = true;
	return texture;
}

/**
 * @param {number} vkFormat
 * @param {Data} data
 * @param {number} width
 * @param {number} height
 * @param {number} faces
 */
async function unpackLevel(vkFormat, data, width, height, faces) {
	const { length } = data;
	const parts = await Promise.all(Array.from({ length: faces }, (_, i) =>
		decodeBlocks(vkFormat, /** @type {Uint8Array} */ (
			data.subarray(i * length / faces, (i + 1) * length / faces)), width, height)));
	if (faces === 1) return parts[0];
	const whole = new /** @type {new (length: number) => Data} */ (parts[0].constructor)(faces * parts[0].length);
	parts.forEach((part, i) => whole.set(part, i * part.length));
	return whole;
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {(name: string) => boolean} hasExtension
 * @param {Transcoder | null} transcoder
 */
async function readKtx2(bytes, hasExtension, transcoder) {
	const ktx = readKtx(bytes);
	if (ktx.vkFormat === 0) return readBasis(bytes, ktx, transcoder);
	const found = ktxFormats[ktx.vkFormat];
	if (!found) throw new Error(`KTX2 with VkFormat ${ktx.vkFormat}, which this loader does not show`);
	const [, extension, name] = needs.find(([last]) => ktx.vkFormat <= last) ?? [];
	/* WebGL takes blocks BC1 to BC7 only if both sides are multiples of four. */
	const ragged = ktx.vkFormat > 130 && ktx.vkFormat <= 146 && (ktx.pixelWidth % 4 > 0 || ktx.pixelHeight % 4 > 0);
	const unpacked = Boolean(extension) && (ragged || !hasExtension(extension ?? ''));
	const [format, srgb, , side] = unpacked ? [THREE.RGBAFormat, found[1], 4, 1] : found;
	const halves = ktx.vkFormat === 97 || (unpacked && ktx.vkFormat === 143);
	const mipmaps = [];
	for (const [i, level] of ktx.levels.entries()) {
		const [width, height] = [Math.max(1, ktx.pixelWidth >> i), Math.max(1, ktx.pixelHeight >> i)];
		const data = ktx.supercompressionScheme === 2 ? await inflate(level.levelData, level.uncompressedByteLength)
			: level.levelData;
		const pixels = unpacked ? await unpackLevel(ktx.vkFormat, data, width, height, ktx.faceCount) : data;
		/* Copied: half floats must be aligned to two bytes. */
		mipmaps.push({ data: halves ? new Uint16Array(pixels.slice().buffer) : pixels, width, height });
	}
	const texture = ktx.faceCount === 6 ? makeCube(ktx, mipmaps, /** @type {THREE.CompressedPixelFormat} */ (format))
		: side > 1 ? new THREE.CompressedTexture(mipmaps, ktx.pixelWidth, ktx.pixelHeight,
			/** @type {THREE.CompressedPixelFormat} */ (format))
			: new THREE.DataTexture(mipmaps[0].data, ktx.pixelWidth, ktx.pixelHeight,
				/** @type {THREE.PixelFormat} */ (format));
	if (halves) texture.type = THREE.HalfFloatType;
	if (side === 1 && ktx.faceCount === 1) texture.mipmaps = mipmaps.length > 1 ? mipmaps : [];
	texture.colorSpace = srgb ? THREE.SRGBColorSpace : THREE.NoColorSpace;
	texture.userData.levels = mipmaps.length;
	if (unpacked) texture.userData.unpacked = ragged ? `${name} of ${ktx.pixelWidth} x ${ktx.pixelHeight}` : name;
	return texture;
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function readPicture(bytes) {
	const bitmap = await createImageBitmap(new Blob([bytes]),
		{ colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
	const texture = new THREE.Texture(bitmap);
	texture.userData.levels = 0;
	return texture;
}

/** @param {Uint8Array} bytes */
const isKtx2 = (bytes) => bytes[0] === 0xab && bytes[1] === 0x4b && bytes[2] === 0x54 && bytes[3] === 0x58;

const wraps = { [c.WRAP_REPEAT]: THREE.RepeatWrapping, [c.WRAP_CLAMP]: THREE.ClampToEdgeWrapping,
	[c.WRAP_MIRROR]: THREE.MirroredRepeatWrapping };

const minFilters = {
	[c.FILTER_DEFAULT]: THREE.LinearMipmapLinearFilter,
	[c.FILTER_NEAREST]: THREE.NearestFilter,
	[c.FILTER_LINEAR]: THREE.LinearFilter,
	[c.FILTER_NEAREST_MIP_NEAREST]: THREE.NearestMipmapNearestFilter,
	[c.FILTER_LINEAR_MIP_NEAREST]: THREE.LinearMipmapNearestFilter,
	[c.FILTER_NEAREST_MIP_LINEAR]: THREE.NearestMipmapLinearFilter,
	[c.FILTER_LINEAR_MIP_LINEAR]: THREE.LinearMipmapLinearFilter,
};

/** @type {Record<number, THREE.MinificationTextureFilter>} */
const withoutMips = {
	[THREE.NearestMipmapNearestFilter]: THREE.NearestFilter,
	[THREE.NearestMipmapLinearFilter]: THREE.NearestFilter,
	[THREE.LinearMipmapNearestFilter]: THREE.LinearFilter,
	[THREE.LinearMipmapLinearFilter]: THREE.LinearFilter,
};

/**
 * @param {THREE.Texture} texture
 * @param {Row | null} sampler
 */
function applySampler(texture, sampler) {
	texture.wrapS = wraps[sampler?.wrap_u ?? c.WRAP_REPEAT];
	texture.wrapT = wraps[sampler?.wrap_v ?? c.WRAP_REPEAT];
	texture.magFilter = sampler?.mag === c.FILTER_NEAREST ? THREE.NearestFilter : THREE.LinearFilter;
	texture.minFilter = minFilters[sampler?.min ?? c.FILTER_DEFAULT];
	const { levels } = texture.userData;
	if (levels === 1) texture.minFilter = withoutMips[texture.minFilter] ?? texture.minFilter;
	texture.generateMipmaps = levels === 0 && texture.minFilter !== THREE.NearestFilter
		&& texture.minFilter !== THREE.LinearFilter;
}

/**
 * three.js multiplies scale and rotation in the other order, so with a rotation the matrix is set here.
 * @param {THREE.Texture} texture
 * @param {{ offset: number[], scale: number[], rotation: number }} given
 */
export function applyTransform(texture, { offset, scale, rotation }) {
	texture.offset.fromArray(offset);
	texture.repeat.fromArray(scale);
	texture.rotation = rotation;
	if (rotation === 0 && texture.matrixAutoUpdate) return;
	const cos = Math.cos(rotation);
	const sin = Math.sin(rotation);
	texture.matrixAutoUpdate = false;
	texture.matrix.set(scale[0] * cos, scale[1] * sin, offset[0], -scale[0] * sin, scale[1] * cos, offset[1], 0, 0, 1);
}

const colorSlots = new Set([c.SLOT_BASE_COLOR, c.SLOT_EMISSIVE, c.SLOT_SPECULAR_COLOR, c.SLOT_SHEEN_COLOR,
		c.SLOT_DIFFUSE_TRANSMISSION_COLOR]);

/** @type {[number, ...string[]][]} */
const plainSlots = [
	[c.SLOT_BASE_COLOR, 'map'],
	[c.SLOT_OPACITY, 'alphaMap'],
];

/** @type {[number, ...string[]][]} */
const standardSlots = [
	[c.SLOT_METAL_ROUGH, 'metalnessMap', 'roughnessMap'],
	[c.SLOT_NORMAL, 'normalMap'],
	[c.SLOT_OCCLUSION, 'aoMap'],
	[c.SLOT_EMISSIVE, 'emissiveMap'],
	[c.SLOT_BUMP, 'bumpMap'],
];

/** @type {[number, ...string[]][]} */
const physicalSlots = [
	[c.SLOT_SPECULAR, 'specularIntensityMap'],
	[c.SLOT_SPECULAR_COLOR, 'specularColorMap'],
	[c.SLOT_CLEARCOAT, 'clearcoatMap'],
	[c.SLOT_CLEARCOAT_ROUGH, 'clearcoatRoughnessMap'],
	[c.SLOT_CLEARCOAT_NORMAL, 'clearcoatNormalMap'],
	[c.SLOT_TRANSMISSION, 'transmissionMap'],
	[c.SLOT_SHEEN_COLOR, 'sheenColorMap'],
	[c.SLOT_SHEEN_ROUGH, 'sheenRoughnessMap'],
	[c.SLOT_THICKNESS, 'thicknessMap'],
	[c.SLOT_ANISOTROPY, 'anisotropyMap'],
	[c.SLOT_IRIDESCENCE, 'iridescenceMap'],
	[c.SLOT_IRIDESCENCE_THICKNESS, 'iridescenceThicknessMap'],
];

/**
 * The fields of a three.js material for a slot.
 * @param {number} slot
 */
export function slotFields(slot) {
	return [...plainSlots, ...standardSlots, ...physicalSlots].filter(([own]) => own === slot)
		.flatMap(([, ...fields]) => fields);
}

const physicalMask = c.EXT_SPECULAR | c.EXT_IOR | c.EXT_CLEARCOAT | c.EXT_SHEEN | c.EXT_TRANSMISSION | c.EXT_VOLUME
	| c.EXT_IRIDESCENCE
	| c.EXT_ANISOTROPY | c.EXT_DISPERSION;

/** @param {number[]} rgb */
const linear = (rgb) => new THREE.Color().setRGB(rgb[0], rgb[1], rgb[2], THREE.LinearSRGBColorSpace);

/** @param {Row} m */
function standardParameters(m) {
	return {
		metalness: m.metallic,
		roughness: m.roughness,
		emissive: linear(m.emissive),
		emissiveIntensity: m.emissive_strength,
		normalScale: new THREE.Vector2(m.normal_scale, m.normal_scale),
		aoMapIntensity: m.occlusion_strength,
	};
}

/* Before release 187 three had both thicknesses as a pair, before 164 no dispersion. */
const release = parseInt(THREE.REVISION, 10);
/** @type {any} */
let PhysicalMaterial = THREE.MeshPhysicalMaterial;
if (release < 187)
	PhysicalMaterial = class extends PhysicalMaterial {
		get iridescenceThicknessMinimum() { return this.iridescenceThicknessRange[0]; }
		set iridescenceThicknessMinimum(nm) { this.iridescenceThicknessRange[0] = nm; }
		get iridescenceThicknessMaximum() { return this.iridescenceThicknessRange[1]; }
		set iridescenceThicknessMaximum(nm) { this.iridescenceThicknessRange[1] = nm; }
	};

/** @param {Row} m */
function physicalParameters(m) {
	const sheen = m.ext_mask & c.EXT_SHEEN;
	return {
		...(m.ext_mask & c.EXT_SPECULAR && { specularIntensity: m.specular, specularColor: linear(m.specular_color) }),
		ior: m.ior === 0 ? 1000 : m.ior,
		clearcoat: m.clearcoat,
		clearcoatRoughness: m.clearcoat_roughness,
		clearcoatNormalScale: new THREE.Vector2(m.clearcoat_normal_scale, m.clearcoat_normal_scale),
		sheen: sheen ? 1 : 0,
		...(sheen && { sheenColor: linear(m.sheen_color), sheenRoughness: m.sheen_roughness }),
		transmission: m.transmission,
		thickness: m.thickness,
		attenuationDistance: m.attenuation_distance,
		attenuationColor: linear(m.attenuation_color),
		iridescence: m.iridescence,
		iridescenceIOR: m.iridescence_ior,
		iridescenceThicknessMinimum: m.iridescence_min,
		iridescenceThicknessMaximum: m.iridescence_max,
		anisotropy: m.anisotropy,
		anisotropyRotation: m.anisotropy_rotation,
		...(release >= 164 && { dispersion: m.dispersion }),
	};
}

/**
 * Reads materials of a pack. Each picture is fetched and uploaded once: materials that sample it differently share its
 * source.
 */
export class MaterialReader {
	/**
	 * @param {import('./hob-format.js').Pack} pack
	 * @param {(sha256: string, image: object) => Promise<ArrayBuffer>} fetchBlob
	 * @param {(error: Error) => void} onTextureError  a texture that cannot be had is left out
	 * @param {(name: string) => boolean} [hasExtension]  whether the GPU has a WebGL extension
	 * @param {Transcoder | null} [transcoder]  three's KTX2Loader, for Basis Universal
	 */
	constructor(pack, fetchBlob, onTextureError, hasExtension = () => true, transcoder = null) {
		this.hasExtension = hasExtension;
		this.transcoder = transcoder;
		this.pack = pack;
		this.fetchBlob = fetchBlob;
		this.onTextureError = onTextureError;
		this.records = pack.rows('MATL');
		this.texrefs = pack.rows('TEXR');
		this.images = pack.rows('IMGS');
		this.samplers = pack.rows('TSMP');
		this.variants = pack.rows('VARI');
		this.pictures = new Map();
		this.textures = new Map();
		this.materials = new Map();
		this.drawn = new Map();
		this.shown = new Map();
	}

	/**
	 * The three.js materials made from a record so far.
	 * @param {number} index
	 */
	shownAs(index) {
		return this.shown.get(index) ?? [];
	}

	/**
	 * The picture of image `index` as a texture without a sampler, read once; null if it cannot be read.
	 * @param {number} index
	 */
	picture(index) {
		if (!this.pictures.has(index)) this.pictures.set(index, this.#fetchPicture(this.images[index]));
		return this.pictures.get(index);
	}

	/** @param {Row} image */
	async #fetchPicture(image) {
		try {
			const bytes = new Uint8Array(await this.fetchBlob(hex(image.cooked_sha256), image));
			const texture = isKtx2(bytes) ? await readKtx2(bytes, this.hasExtension, this.transcoder)
				: await readPicture(bytes);
			texture.name = image.name;
			texture.userData.twoChannels = Boolean(image.flags & c.IMAGE_NORMAL_XY);
			texture.flipY = false;
			return texture;
		} catch (error) {
			this.onTextureError(new Error(`texture '${image.name}': ${/** @type {Error} */ (error).message}`,
				{ cause: error }));
			return null;
		}
	}

	/** @param {number} index */
	#texture(index) {
		const ref = this.texrefs[index];
		const key = JSON.stringify([ref.image, colorSlots.has(ref.slot), ref.sampler, ref.uv_set, ref.offset, ref.scale,
				ref.rotation]);
		if (!this.textures.has(key)) this.textures.set(key, this.#makeTexture(ref));
		return this.textures.get(key);
	}

	/** @param {Row} ref */
	async #makeTexture(ref) {
		const picture = await this.picture(ref.image);
		if (!picture) return null;
		const texture = picture.clone();
		applySampler(texture, ref.sampler === NONE ? null : this.samplers[ref.sampler]);
		applyTransform(texture, /** @type {{ offset: number[], scale: number[], rotation: number }} */ (ref));
		texture.channel = ref.uv_set;
		/* An unconverted picture can hold colours or numbers; KTX2 files say which. */
		if (picture.userData.levels === 0) texture.colorSpace = colorSlots.has(ref.slot) ? THREE.SRGBColorSpace
			: THREE.NoColorSpace;
		texture.needsUpdate = true;
		return texture;
	}

	/**
	 * The material of a record; the default material for NONE.
	 * @param {number} index
	 */
	material(index) {
		if (!this.materials.has(index))
			this.materials.set(index, index === NONE || !this.records[index] ? Promise.resolve(defaultMaterial())
					: this.#make(this.records[index]));
		return this.materials.get(index);
	}

	/** @param {Row} m */
	async #make(m) {
		const unlit = m.flags & c.MATERIAL_IS_UNLIT;
		const physical = !unlit && m.ext_mask & physicalMask;
		const slots = [...plainSlots, ...(unlit ? [] : standardSlots), ...(physical ? physicalSlots : [])];
		/** @type {Record<string, any>} */
		const parameters = {
			name: m.name,
			color: linear(m.base_color),
			opacity: m.base_color[3],
			side: m.flags & c.MATERIAL_DOUBLE_SIDED ? THREE.DoubleSide : THREE.FrontSide,
			transparent: Boolean(m.flags & c.MATERIAL_BLEND),
			depthWrite: !(m.flags & c.MATERIAL_BLEND),
			alphaTest: m.flags & c.MATERIAL_MASK ? m.alpha_cutoff : 0,
			...(!unlit && standardParameters(m)),
			...(physical && physicalParameters(m)),
		};
		await Promise.all(slots.map(async ([slot, ...fields]) => {
			const texture = m.textures[slot] === NONE ? null : await this.#texture(m.textures[slot]);
			if (texture) for (const field of fields) parameters[field] = texture;
		}));
		const Type = unlit ? THREE.MeshBasicMaterial : physical ? PhysicalMaterial
			: THREE.MeshStandardMaterial;
		const material = new Type(parameters);
		material.userData.hob = m;
		return material;
	}

	/**
	 * The material as a geometry requires it: with vertex colours, without tangents, for lines or points.
	 * @param {number} index
	 * @param {string} kind
	 * @param {THREE.BufferGeometry} geometry
	 */
	async materialFor(index, kind, geometry) {
		const colors = geometry.hasAttribute('color');
		const flat = kind === 'triangles' && !geometry.hasAttribute('normal');
		const derived = kind === 'triangles' && !geometry.hasAttribute('tangent');
		const key = `${index} ${kind} ${colors} ${flat} ${derived}`;
		if (!this.drawn.has(key)) this.drawn.set(key, this.material(index).then((/** @type {Made} */ base) => {
			const made = variant(base, { kind, colors, flat, derived });
			this.shown.set(index, [...this.shownAs(index), made]);
			return made;
		}));
		return this.drawn.get(key);
	}
}

/** @param {THREE.Texture | null | undefined} texture */
const isTwoChannel = (texture) => Boolean(texture?.userData.twoChannels);

/**
 * three.js reconstructs the third component of a normal map if its format has two channels, which not all graphics
 * cards have; for a clear coat's normal map it never does.
 * @param {THREE.MeshPhysicalMaterial} material
 */
function mendClearcoatNormal(material) {
	if (!isTwoChannel(material.clearcoatNormalMap)) return;
	material.onBeforeCompile = (shader) => {
		const chunk = THREE.ShaderChunk.clearcoat_normal_fragment_maps.replace(
				'clearcoatMapN.xy *= clearcoatNormalScale;',
			'clearcoatMapN.z = sqrt( saturate( 1.0 - dot( clearcoatMapN.xy, clearcoatMapN.xy ) ) ' +
				');\n\tclearcoatMapN.xy *= clearcoatNormalScale;');
		shader.fragmentShader = shader.fragmentShader.replace('#include <clearcoat_normal_fragment_maps>', chunk);
	};
	material.customProgramCacheKey = () => 'hob two-channel clearcoat normal';
}

/**
 * @param {Made} base
 * @param {{ kind: string, colors: boolean, flat: boolean, derived: boolean }} given
 */
function variant(base, { kind, colors, flat, derived }) {
	if (kind !== 'triangles') {
		const material = kind === 'points' ? new THREE.PointsMaterial({ sizeAttenuation: false })
			: new THREE.LineBasicMaterial();
		THREE.Material.prototype.copy.call(material, base);
		material.color.copy(base.color);
		material.map = base.map;
		material.vertexColors = colors;
		return material;
	}
	const material = /** @type {THREE.MeshPhysicalMaterial} */ (base.clone());
	material.vertexColors = colors;
	if ('flatShading' in material) material.flatShading = flat;
	/* Without tangents three.js derives them in the shader, where v has the opposite direction. */
	if (derived) {
		if (material.normalScale) material.normalScale.y *= -1;
		if (material.clearcoatNormalScale) material.clearcoatNormalScale.y *= -1;
	}
	if (isTwoChannel(material.normalMap)) material.defines = { ...material.defines, USE_PACKED_NORMALMAP: '' };
	mendClearcoatNormal(material);
	return material;
}

function defaultMaterial() {
	return new THREE.MeshStandardMaterial({ metalness: 1, roughness: 1 });
}

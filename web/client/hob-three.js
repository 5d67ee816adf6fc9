/**
 * hob-three.js - cooked assets of a Hob daemon in three.js.
 *
 *     import { HobLoader } from './hob-three.js';
 *     const loader = new HobLoader().setPath('http://127.0.0.1:7780/a/');
 *     const model = await loader.loadAsync('art/props/duck.glb');
 *     scene.add(model);
 *     const stop = loader.watch(model, () => render(), (error) => show(error.file, error.message, error.hint));
 *
 * `load` and `loadAsync` fetch an asset by name: a THREE.Group with `animations`, and the names of material variants in
 * `userData.variants` (see selectVariant). `parse` builds the same from buffers. An ES module: `three` and
 * `three/addons/` come from an import map or a bundler. A page of another origin needs the daemon's permission.
 *
 * Custom properties of the source (glTF's extras, FBX user properties) are in `userData.extras` of nodes, materials and
 * the group, those of the whole file in `userData.file.extras` of the group. `userData.rev` is the change that is
 * shown, `userData.transfer` {fetched, bytes} how much of it came over the network. With `loader.keepData` a model
 * keeps what it was read from in `userData.cooked`: {scene, meshes, materials, anims} as packs, {geometry, pictures} as
 * readers; selectLod and tools need it.
 *
 * An environment map (hob-three-environment.js) is an empty group with `userData.environment`: {cube, probe}, null for
 * everything else. environmentLight() makes of the cube what scene.environment needs; the probe is a LightProbe.
 */
import { Loader } from 'three';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { HobClient, HobError, errorOf } from './hob.js';
import { Pack } from './hob-format.js';
import { environmentLight, irradianceProbe } from './hob-three-environment.js';
import { GeometryReader } from './hob-three-geometry.js';
import { MaterialReader } from './hob-three-material.js';
import { SceneBuilder } from './hob-three-scene.js';

/**
 * @import { Group, LoadingManager, WebGLRenderer } from 'three'
 * @import { AssetChange, FetchOptions, NamedBlob, OutputName } from './hob.js'
 * @import { HobParts } from './hob-three.js'
 * @import { HobOverlay } from './hob-overlay.js'
 * @typedef {Record<string, any>} Thing  an object of three.js of any kind
 * @typedef {Record<string, NamedBlob | undefined>} Blobs
 */

export { HobError, environmentLight };

const outputs = { meshes: true, materials: true, scene: true, animations: false };
const attempts = 4;

/**
 * An environment map has one picture, a cube, and no materials that use it.
 * @param {MaterialReader} pictures
 */
async function readEnvironment(pictures) {
	if (pictures.records.length > 0 || pictures.images.length !== 1) return null;
	const cube = await pictures.picture(0);
	return cube?.isCubeTexture ? { cube, probe: irradianceProbe(cube.userData.irradiance) } : null;
}

export class HobLoader extends Loader {
	#abort = new AbortController();
	#hasExtension = (/** @type {string} */ _) => true;
	/** @type {import('./hob-three-material.js').Transcoder | null} */
	#transcoder = null;
	/** @type {Map<string, HobClient>} */
	#clients = new Map();
	#held = new WeakMap(); // group -> {shown: {output: hash}, base: {output: blob}}

	/** @param {LoadingManager | undefined} manager */
	constructor(manager) {
		super(manager);
		/** Level of detail of all meshes, 0 = full; a mesh with fewer levels shows its last. */
		this.lod = 0;
		/** Scene number; undefined = the default scene. */
		this.sceneIndex = /** @type {number | undefined} */ (undefined);
		/** false: leave out tangents that the source did not have; three.js then derives them in the shader. */
		this.generatedTangents = true;
		/** false: leave out normals that the source did not have; three.js then shades flat. */
		this.generatedNormals = true;
		/** true: models keep the data they were read from, for selectLod. */
		this.keepData = false;
		/** false: the asset is known to have no skins and clips, so they are not requested. */
		this.withAnimations = true;
		/** Seconds to wait for a running cook. */
		this.wait = 10;
		/** A user whose unsaved models are shown (hob serve --live). */
		this.live = /** @type {string | undefined} */ (undefined);
		/** {output: promise of a HobClient.get result} for the next load, which then does not request these outputs. */
		this.ahead = /** @type {Record<string, Promise<NamedBlob>> | undefined} */ (undefined);
		/** false: the bytes of loaded models are not kept, so a change is fetched as a whole instead of as
		 * differences. */
		this.delta = true;
		/** A HobOverlay that shows errors of watched models. */
		this.overlay = /** @type {HobOverlay | null} */ (null);
		/** Called with the number of bytes of each piece received. */
		this.onBytes = /** @type {((count: number) => void) | undefined} */ (undefined);
		/** Called with an Error if a texture cannot be loaded; the model is shown without it. */
		this.onTextureError = (/** @type {Error} */ error) => console.warn(error);
	}

	/** @param {number} lod */
	setLod(lod) {
		this.lod = lod;
		return this;
	}

	/**
	 * Sets three's own transcoder for textures kept as Basis Universal.
	 * @param {import('./hob-three-material.js').Transcoder} ktx2Loader  a KTX2Loader with its transcoder's path and
	 * the renderer's support
	 * @returns {this}
	 */
	setKTX2Loader(ktx2Loader) {
		this.#transcoder = ktx2Loader;
		return this;
	}

	/**
	 * Decodes textures whose format this renderer's graphics card does not support and would show as black; they then
	 * take four to eight times the memory.
	 * @param {WebGLRenderer} renderer
	 */
	detectSupport(renderer) {
		this.#hasExtension = (name) => renderer.extensions.has(name);
		return this;
	}

	abort() {
		this.#abort.abort();
		this.#abort = new AbortController();
		return this;
	}

	/**
	 * @param {string} url  root/path of the asset below setPath, or its whole URL
	 * @param {(group: Group) => void} onLoad
	 * @param {(event: ProgressEvent) => void} [onProgress]
	 * @param {(error: unknown) => void} [onError]
	 */
	load(url, onLoad, onProgress, onError) {
		const where = this.#resolve(url);
		this.manager.itemStart(where.href);
		const { signal } = this.#abort;
		this.#fetchAsset(where, {}, signal, onProgress)
			.then((blobs) => this.#open(blobs, where, signal))
			.then(onLoad)
			.catch((error) => {
				if (onError) onError(error);
				else console.error(error);
				this.manager.itemError(where.href);
			})
			.finally(() => this.manager.itemEnd(where.href));
	}

	/**
	 * Builds from buffers: {meshes, materials, scene, animations?}, and `blob(sha256, image)`, a function that gives
	 * the bytes of a texture; without it textures are fetched from /blobs/ below setPath's origin.
	 * @param {HobParts} parts
	 * @param {(group: Group) => unknown} [onLoad]
	 * @param {(error: unknown) => void} [onError]
	 */
	parse(parts, onLoad, onError) {
		return this.#build(parts, this.#resolve(''), this.#abort.signal).then(onLoad ?? ((group) => group), (error) => {
			if (!onError) throw error;
			onError(error);
		});
	}

	/** @param {string} url */
	#resolve(url) {
		const page = globalThis.location?.href ?? 'http://127.0.0.1:7780/';
		const path = url.split('/').map((part) => encodeURIComponent(decodeURIComponent(part))).join('/');
		return /^[a-z]+:/i.test(url) ? new URL(url) : new URL(path, new URL(this.path || '/a/', page));
	}

	/**
	 * Owner of the asset, and its name there.
	 * @param {URL} where
	 */
	#place(where) {
		const at = where.pathname.indexOf('/a/');
		const key = `${where.origin}${where.pathname.slice(0,
				at + 1)} ${JSON.stringify(this.requestHeader)} ${this.withCredentials}`;
		const credentials = this.withCredentials ? 'include' : 'same-origin';
		const client = this.#clients.get(key)
			?? new HobClient(key.split(' ')[0], { headers: { ...this.requestHeader }, credentials });
		this.#clients.set(key, client);
		client.wait = this.wait;
		client.live = this.live;
		return { client, name: decodeURIComponent(where.pathname.slice(at + 3)) };
	}

	/**
	 * Outputs are requested one by one; those of different cooks do not fit together.
	 * @param {URL} where
	 * @param {Blobs} held
	 * @param {AbortSignal} signal
	 * @param {(event: ProgressEvent) => void} [onProgress]
	 * @returns {Promise<Blobs>}
	 */
	async #fetchAsset(where, held, signal, onProgress) {
		const { client, name } = this.#place(where);
		let { ahead = {} } = this;
		this.ahead = undefined;
		for (let attempt = 0; attempt < attempts; attempt++) {
			/** @type {Blobs} */
			const blobs = {};
			const asked = Object.entries(outputs).filter(([output]) => output !== 'animations' || this.withAnimations);
			/** @type {Record<string, Promise<NamedBlob>>} */
			const coming = {};
			for (const [output, needed] of asked)
				if (needed) coming[output] = ahead[output] ?? client.get(name, output,
						{ older: held[output], signal, onBytes: this.onBytes });
			await Promise.all(asked.map(async ([output, needed]) => {
				blobs[output] = await (coming[output] ?? ahead[output] ?? this.#animations(client, name, coming.meshes,
						{ older: held[output], signal,
							onBytes: this.onBytes })).catch((/** @type {HobError} */ error) => {
					if (error.status !== 404 || needed) throw error;
					return undefined;
				});
				onProgress?.(new ProgressEvent('progress',
						{ loaded: Object.keys(blobs).length, total: asked.length, lengthComputable: true }));
			}));
			if (new Set(Object.values(blobs).map((blob) => blob?.rev).filter((rev) =>
				rev !== undefined)).size === 1) return blobs;
			ahead = {};
		}
		throw new HobError('the asset changes faster than it can be fetched', { file: where.pathname });
	}

	/**
	 * Browsers report every 404, so animations of a still model are not requested. Its outputs are known once it is
	 * cooked.
	 * @param {HobClient} client
	 * @param {string} name
	 * @param {Promise<unknown>} cooked
	 * @param {FetchOptions} options
	 */
	async #animations(client, name, cooked, options) {
		await cooked;
		const { outputs: made } = await client.asset(name, options).catch(() => null) ?? {};
		return made && !made.some((output) => output.name === 'animations') ? undefined
			: client.get(name, 'animations', options);
	}

	/**
	 * Outputs named by one event belong together.
	 * @param {URL} where
	 * @param {Blobs} held
	 * @param {{ outputs: OutputName[], rev: number }} given
	 * @param {AbortSignal} signal
	 * @returns {Promise<Blobs>}
	 */
	async #fetchOutputs(where, held, { outputs: named, rev }, signal) {
		const { client, name } = this.#place(where);
		const wanted = named.filter((output) => output.name in outputs
				&& (output.name !== 'animations' || this.withAnimations));
		const blobs = await Promise.all(wanted.map((output) =>
				client.blob(output.hash, { older: held[output.name], signal, name, onBytes: this.onBytes })));
		return Object.fromEntries(wanted.map((output, i) => [output.name, { ...blobs[i], rev, stale: false }]));
	}

	/**
	 * @param {URL} where
	 * @param {string} sha256
	 * @param {AbortSignal} signal
	 */
	async #fetchBlob(where, sha256, signal) {
		return (await this.#place(where).client.blob(sha256, { signal, onBytes: this.onBytes })).bytes;
	}

	/**
	 * @param {Blobs} blobs
	 * @param {URL} where
	 * @param {AbortSignal} signal
	 */
	async #open(blobs, where, signal) {
		const parts = Object.fromEntries(Object.entries(blobs).map(([output, blob]) => [output, blob?.bytes]));
		const group = await this.#build(/** @type {HobParts} */ (/** @type {unknown} */ (parts)), where, signal);
		const came = Object.values(blobs).filter((blob) => blob !== undefined);
		/** @param {(blob: NamedBlob) => number} count */
		const sum = (count) => came.reduce((total, blob) => total + count(blob), 0);
		group.userData.transfer = { fetched: sum(({ fetched }) => fetched), bytes: sum(({ bytes }) => bytes.length) };
		group.userData.rev = came[0].rev;
		const pairs = /** @type {[string, NamedBlob][]} */ (Object.entries(blobs).filter(([, blob]) => blob));
		this.#held.set(group, {
			shown: Object.fromEntries(pairs.map(([output, blob]) => [output, blob.hash])),
			base: Object.fromEntries(this.delta ? pairs : []),
		});
		return group;
	}

	/**
	 * The final version has more in common with the final one before it than with its preview.
	 * @param {Group} group
	 * @param {Group} fresh
	 * @param {string} [quality]
	 */
	#adopt(group, fresh, quality) {
		replaceContent(group, fresh);
		const { base } = this.#held.get(group) ?? {};
		const held = this.#held.get(fresh);
		this.#held.set(group, quality === 'preview' && base ? { ...held, base } : held);
		return group;
	}

	/**
	 * @param {HobParts} parts
	 * @param {URL} where
	 * @param {AbortSignal} signal
	 */
	async #build(parts, where, signal) {
		await MeshoptDecoder.ready;
		const blob = parts.blob ?? ((sha256) => this.#fetchBlob(where, sha256, signal));
		const scene = new Pack(parts.scene);
		const anims = parts.animations ? new Pack(parts.animations) : null;
		const geometry = new GeometryReader(new Pack(parts.meshes), this.#geometryOptions());
		const pictures = new MaterialReader(new Pack(parts.materials),
			/** @type {(sha256: string) => Promise<ArrayBuffer>} */ (blob), this.onTextureError, this.#hasExtension,
			this.#transcoder);
		const group = await new SceneBuilder({ scene, anims, geometry, materials: pictures }).build(this.sceneIndex);
		group.userData.url = where.href;
		group.userData.environment = await readEnvironment(pictures);
		if (this.keepData) group.userData.cooked = { scene, anims, meshes: geometry.pack, materials: pictures.pack,
			geometry, pictures };
		return group;
	}

	#geometryOptions() {
		const { lod, generatedTangents, generatedNormals } = this;
		return { lod, generatedTangents, generatedNormals, decoder: MeshoptDecoder };
	}

	/**
	 * Fetches the asset of a loaded model again and puts the data into the same group; objects that still exist stay
	 * the same objects. On failure it throws a HobError and changes nothing.
	 * @param {Group} group
	 */
	async reload(group) {
		const where = new URL(group.userData.url);
		const { signal } = this.#abort;
		return this.#adopt(group, await this.#open(await this.#fetchAsset(where, this.#held.get(group)?.base ?? {},
				signal), where, signal));
	}

	/**
	 * Keeps a loaded model up to date: after every cook of its asset the new data replaces the old inside the same
	 * group, and objects that still exist stay the same objects. If a cook or a fetch fails, the model stays as it is
	 * and onError gets a HobError; the next good cook continues.
	 *
	 * @param {import('three').Group} group  from load or loadAsync
	 * @param {(group: import('three').Group, event: object) => void} [onReload]
	 * @param {(error: HobError) => void} [onError]
	 * @returns {() => void} stops watching
	 */
	watch(group, onReload, onError) {
		const where = new URL(group.userData.url);
		const { client, name } = this.#place(where);
		let newest = 0;
		/** @param {HobError} error */
		const complain = (error) => {
			this.overlay?.show(name, error);
			onError?.(error);
		};
		/** @param {Partial<AssetChange>} event */
		const reload = async (event) => {
			const turn = ++newest;
			const held = this.#held.get(group)?.base ?? {};
			const { signal } = this.#abort;
			try {
				const blobs = event.outputs ? await this.#fetchOutputs(where, held,
					/** @type {AssetChange & { outputs: OutputName[] }} */ (event), signal)
					: await this.#fetchAsset(where, held, signal);
				const fresh = await this.#open(blobs, where, signal);
				if (turn !== newest) return disposeContent(fresh);
				this.#adopt(group, fresh, event.quality);
				this.overlay?.clear(name);
				onReload?.(group, event);
			} catch (error) {
				if (turn === newest) complain(error instanceof HobError ? error
						: new HobError(/** @type {Error} */ (error).message, { file: name, cause: error }));
			}
		};
		let heard = 0;
		/** @param {Partial<AssetChange> & { moved_to?: string }} event */
		const told = (event) => {
			heard++;
			if (event.error) complain(errorOf(name, event.error));
			else if (event.kind === 'removed') complain(new HobError(event.moved_to
				? `the source is called ${event.moved_to} now` : 'the source was removed', { file: name }));
			else if (event.kind !== 'missing' && event.kind !== 'returned') reload(event);
			/* without outputs, only the state has changed */
		};
		/* For saves between loading and listening, or while the daemon was unreachable. */
		const lookAgain = async () => {
			const before = heard;
			const asset = await client.asset(name).catch(() => null);
			if (heard !== before) return;
			const { shown } = this.#held.get(group) ?? { shown: {} };
			if (asset?.error) complain(errorOf(name, asset.error));
			else if (asset?.outputs.some(({ name: output, hash }) => shown[output]
					&& shown[output] !== hash)) reload(asset);
			else this.overlay?.clear(name);
		};
		const stop = client.watch(name.replace(/[*?]/g, '?'), ({ kind, data }) => {
			if (kind === 'asset' && data.asset === name) told(data);
			else if (kind === 'hello' || kind === 'reset') lookAgain();
		});
		return () => {
			newest++;
			this.overlay?.clear(name);
			stop();
		};
	}
}

/**
 * Shows a material variant by name; undefined shows the materials of the nodes.
 * @param {Thing} group
 * @param {string} [name]
 */
export function selectVariant(group, name) {
	group.traverse((/** @type {Thing} */ object) => {
		if (object.userData.hob) object.material = object.userData.hob.variants[name ?? '']
			?? object.userData.hob.material;
	});
}

/**
 * Shows level of detail `lod` of every mesh of a model that was loaded with keepData; skins, poses and materials
 * stay.
 * @param {Thing} group
 * @param {number} lod
 */
export function selectLod(group, lod) {
	const { geometry: reader } = group.userData.cooked;
	const fresh = new Map();
	const old = new Set();
	group.traverse((/** @type {Thing} */ object) => {
		const index = object.userData.hob?.mesh;
		if (index === undefined) return;
		if (!fresh.has(index)) fresh.set(index, reader.read(index, lod).geometry);
		old.add(object.geometry);
		object.geometry = fresh.get(index);
	});
	for (const geometry of old) geometry.dispose();
}

/**
 * Frees a model's GPU resources.
 * @param {Thing} group
 */
export function disposeContent(group) {
	const doomed = new Set();
	group.userData.environment?.cube.dispose();
	group.traverse((/** @type {Thing} */ object) => {
		if (!object.userData.hob) return;
		doomed.add(object.geometry);
		for (const material of [object.userData.hob.material, object.material,
				...Object.values(object.userData.hob.variants)]) {
			doomed.add(material);
			for (const value of Object.values(material)) if (value?.isTexture) doomed.add(value);
		}
		if (object.skeleton) doomed.add(object.skeleton);
	});
	for (const thing of doomed) thing.dispose();
}

/**
 * Clips that animate materials or cameras refer to these objects.
 * @param {Thing} a
 * @param {Thing} b
 */
const sameShape = (a, b) => a.type === b.type && a.name === b.name && !a.isSkinnedMesh && !b.isHobCarrier
	&& a.children.length === b.children.length
	&& a.children.every((/** @type {Thing} */ child, /** @type {number} */ i) => sameShape(child, b.children[i]));

/**
 * @param {Thing} kept
 * @param {Thing} fresh
 */
function adopt(kept, fresh) {
	kept.position.copy(fresh.position);
	kept.quaternion.copy(fresh.quaternion);
	kept.scale.copy(fresh.scale);
	kept.matrix.copy(fresh.matrix);
	kept.matrixAutoUpdate = fresh.matrixAutoUpdate;
	kept.userData = fresh.userData;
	if (fresh.geometry) {
		kept.geometry = fresh.geometry;
		kept.material = fresh.material;
		kept.morphTargetInfluences = fresh.morphTargetInfluences;
		kept.morphTargetDictionary = fresh.morphTargetDictionary;
	} else if (kept.isLight || kept.isCamera) kept.copy(fresh, false);
	kept.children.forEach((/** @type {Thing} */ child, /** @type {number} */ i) => adopt(child, fresh.children[i]));
}

/**
 * @param {Group} group
 * @param {Group} fresh
 */
function replaceContent(group, fresh) {
	disposeContent(group);
	const { children } = group;
	if (children.length === fresh.children.length && children.every((child, i) => sameShape(child, fresh.children[i])))
		children.forEach((child, i) => adopt(child, fresh.children[i]));
	else {
		group.remove(...children);
		group.add(...fresh.children);
	}
	group.animations = fresh.animations;
	group.userData = fresh.userData;
	group.updateMatrixWorld(true);
}

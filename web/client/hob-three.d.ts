import type { CompressedCubeTexture, Group, LightProbe, Loader, LoadingManager, Object3D, WebGLCubeRenderTarget,
	WebGLRenderer } from 'three';
import type { AssetChange, HobError, NamedBlob } from './hob.js';
import type { HobOverlay } from './hob-overlay.js';

export { HobError } from './hob.js';

export interface HobParts {
	meshes: ArrayBuffer | Uint8Array;
	materials: ArrayBuffer | Uint8Array;
	scene: ArrayBuffer | Uint8Array;
	animations?: ArrayBuffer | Uint8Array | null;
	/** The bytes of a texture; without it they are fetched. */
	blob?: (sha256: string, image: object) => Promise<ArrayBuffer | Uint8Array>;
}

/** userData.environment of an environment map; null for everything else. */
export interface HobEnvironment {
	/** Level i of n is blurred for roughness 1 - sqrt(1 - i / (n - 1)). */
	cube: CompressedCubeTexture;
	/** Its irradiance, for materials that scene.environment does not light. */
	probe: LightProbe;
}

/**
 * A group; `animations` are its clips, userData.variants names, userData.rev the change shown, userData.transfer
 * {fetched, bytes}, userData.file the source's own extras; nodes, materials and the group have userData.extras where
 * the source gives custom properties.
 */
export class HobLoader extends Loader<Group> {
	constructor(manager?: LoadingManager);
	lod: number;
	sceneIndex: number | undefined;
	generatedTangents: boolean;
	generatedNormals: boolean;
	keepData: boolean;
	withAnimations: boolean;
	wait: number;
	live: string | undefined;
	delta: boolean;
	overlay: HobOverlay | null;
	ahead: Record<string, Promise<NamedBlob>> | undefined;
	onBytes: ((count: number) => void) | undefined;
	onTextureError: (error: Error) => void;
	setLod(lod: number): this;
	detectSupport(renderer: WebGLRenderer): this;
	/** Textures that were kept in Basis Universal go to this KTX2Loader. */
	setKTX2Loader(ktx2Loader: object): this;
	abort(): this;
	load(url: string, onLoad: (group: Group) => void, onProgress?: (event: ProgressEvent) => void,
		onError?: (error: unknown) => void): void;
	parse(parts: HobParts, onLoad?: (group: Group) => void, onError?: (error: unknown) => void): Promise<Group>;
	reload(group: Object3D): Promise<Object3D>;
	/** Returns what stops it. */
	watch(group: Group, onReload?: (group: Group, event: Partial<AssetChange>) => void,
		onError?: (error: HobError) => void): () => void;
}

export function selectVariant(group: Object3D, name?: string): void;
export function selectLod(group: Object3D, lod: number): void;
export function disposeContent(group: Object3D): void;
/** Its `texture` is for scene.environment and scene.background; dispose() frees it. Made anew after a reload. */
export function environmentLight(environment: HobEnvironment, renderer: WebGLRenderer): WebGLCubeRenderTarget;

/* Types of the 3D view. */
declare namespace View {
	type Viewer = import('../viewer/viewer.js').Viewer;
	/** A record of a packed file, as schema/FORMATS.md describes it. */
	type Row = import('../client/hob-format.js').Row;
	type Pictures = import('../client/hob-three-material.js').MaterialReader;
	type Camera = import('three').PerspectiveCamera | import('three').OrthographicCamera;
	/** All that a material can have; a simple one lacks most. */
	type Material = import('three').MeshPhysicalMaterial;
	/** Any object of a model: what it has follows from its kind. */
	interface Thing extends Omit<import('three').Object3D, 'children' | 'parent' | 'traverse' | 'traverseVisible'> {
		isMesh?: boolean;
		isLine?: boolean;
		isPoints?: boolean;
		isCamera?: boolean;
		isSkinnedMesh?: boolean;
		isInstancedMesh?: boolean;
		geometry: import('three').BufferGeometry<Record<string, import('three').BufferAttribute>>;
		material: Material;
		skeleton?: import('three').Skeleton;
		morphTargetInfluences?: number[];
		morphTargetDictionary?: Record<string, number>;
		count: number;
		getMatrixAt(index: number, matrix: import('three').Matrix4): void;
		getVertexPosition(index: number, vertex: import('three').Vector3): void;
		children: Thing[];
		parent: Thing | null;
		traverse(callback: (object: Thing) => unknown): void;
		traverseVisible(callback: (object: Thing) => unknown): void;
	}
	/** A loaded model; its source beside it has no data of the cook. */
	interface Model extends Thing {
		isGroup: true;
		animations: import('three').AnimationClip[];
	}
	/** What the page knows of the asset that is shown. */
	type Asset = Api.Asset & { poster?: string };
	/** Everything that is chosen in a view. */
	type State = { from: number[]; to: number[]; level: number; look: string; clip: number; time: number;
		other?: number; share?: number; hidden?: number[] } & Choices;
	/** Choices that are left out where they are as usual: switches, numbers, names. */
	type Choices = { [Name in 'wireframe' | 'bounds' | 'normals' | 'tangents' | 'skeleton' | 'gridOff' | 'byDistance'
		| 'shadow' | 'turning']?: boolean }
		& { [Name in 'exposure' | 'variant' | 'camera' | 'joint' | 'alone']?: number }
		& { surroundings?: string; ground?: string };
}

/* three has no types for the parser of KTX2 that it carries. */
declare module 'three/addons/libs/ktx-parse.module.js' {
	export interface KTX2Container {
		vkFormat: number;
		pixelWidth: number;
		pixelHeight: number;
		faceCount: number;
		supercompressionScheme: number;
		levels: { levelData: Uint8Array<ArrayBuffer>; uncompressedByteLength: number }[];
		keyValue: Record<string, Uint8Array<ArrayBuffer>>;
		dataFormatDescriptor: { transferFunction: number }[];
	}
	export function read(bytes: Uint8Array): KTX2Container;
}

/** three's transcoder of Basis Universal, which stands before viewer/basis_worker.js in one file. */
interface BasisModule {
	initializeBasis(): void;
	KTX2File: new (bytes: Uint8Array) => {
		isValid(): number;
		startTranscoding(): number;
		getLevels(): number;
		getImageLevelInfo(level: number, layer: number, face: number): { origWidth: number; origHeight: number };
		getImageTranscodedSizeInBytes(level: number, layer: number, face: number, format: number): number;
		transcodeImage(target: Uint8Array, ...how: number[]): number;
		close(): void;
		delete(): void;
	};
}
declare function BASIS(options: { wasmBinary: ArrayBuffer }): Promise<BasisModule>;

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
	type Model = Thing & import('three').Group;
	/** What the page knows of the asset that is shown. */
	type Asset = Api.Asset & { poster?: string };
	/** Everything that is chosen in a view. */
	type State = { from: number[]; to: number[]; level: number; look: string; clip: number; time: number;
		other?: number; share?: number; hidden?: number[] } & { [choice: string]: unknown };
}

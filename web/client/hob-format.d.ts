export const NONE: 0xffffffff;
/** What the tables of schema/formats name: constants, records, sections. */
export const constants: Readonly<Record<string, number>>;
export const records: Readonly<Record<string, { bytes: number; fields: unknown[] }>>;
export const sectionTypes: Readonly<Record<string, { element: string; gpu: boolean }>>;
export const vertexFormats: Readonly<Record<number, unknown>>;

/** A record, as schema/FORMATS.md describes it. */
export type Row = Record<string, any>;

export function hex(bytes: Uint8Array): string;
export function isPack(bytes: Uint8Array): boolean;
export function readRecord(name: string, view: DataView, at: number,
	text?: (offset: number) => unknown): Record<string, any>;

export class FormatError extends Error {}

export interface Section {
	type: string;
	flags: number;
	offset: number;
	stored_bytes: number;
	raw_bytes: number;
	count: number;
	stride: number;
	codec: number;
	part: number;
	owner: number;
	digest: Uint8Array;
}

/** Like meshoptimizer's MeshoptDecoder. */
export interface Decoder {
	decodeVertexBuffer(target: Uint8Array, count: number, size: number, source: Uint8Array): void;
	decodeIndexBuffer(target: Uint8Array, count: number, size: number, source: Uint8Array): void;
	decodeIndexSequence(target: Uint8Array, count: number, size: number, source: Uint8Array): void;
}

export type TypedArray = Uint8Array | Int8Array | Uint16Array | Uint32Array | Int32Array | Float32Array;

/** A packed file, or its beginning. Nothing is copied. Rows are described in FORMATS.md. */
export class Pack {
	constructor(source: ArrayBuffer | Uint8Array, options?: { prefix?: boolean });
	readonly bytes: Uint8Array;
	readonly kind: string;
	readonly header: Record<string, any>;
	readonly sections: Section[];
	find(type: string): Section | undefined;
	text(offset: number): string;
	data(section: Section): Uint8Array;
	row(section: Section, index: number): any;
	rows(type: string): any[];
	array(section: Section, decoder?: Decoder): TypedArray;
	decode(section: Section, decoder?: Decoder): Uint8Array;
	link(type: string, node: number): number;
	describe(): Record<string, any[]>;
}

export function meshAttributes(pack: Pack, mesh: any): any[];
export function meshLevels(pack: Pack, mesh: any): any[];

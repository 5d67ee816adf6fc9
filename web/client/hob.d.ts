/** Why something cannot be had or shown. */
export class HobError extends Error {
	constructor(message: string, facts?: object);
	/** Of the source, where the daemon told. */
	file?: string;
	line?: number;
	/** What to do. */
	hint?: string;
	/** The daemon's name of the trouble; of the client: 'unreachable', 'not-ready', 'hash'. */
	code?: string;
	/** Of HTTP. */
	status?: number;
}

/** Bytes that hash to `hash`. */
export interface HobBlob {
	bytes: Uint8Array<ArrayBuffer>;
	/** SHA-256, 64 hexadecimal digits. */
	hash: string;
	/** Bytes that came over the network for it. */
	fetched: number;
}

export interface NamedBlob extends HobBlob {
	/** The change that published it. */
	rev: number;
	/** The source has changed since. */
	stale: boolean;
}

export interface OutputName {
	name: string;
	hash: string;
	size: number;
}

export interface CookError {
	code: string;
	message: string;
	hint?: string | null;
	location?: { file?: string; line?: number; column?: number } | null;
}

export interface AssetChange {
	rev: number;
	kind: string;
	/** root/path */
	asset: string;
	id: string;
	state: string;
	/** 'preview' when the final cook is still to come. */
	quality: string;
	outputs?: OutputName[];
	error?: CookError | null;
}

export type HobEvent =
	| { kind: 'asset'; id: string; data: AssetChange }
	/** The stream is up, or up again. */
	| { kind: 'hello'; id: string; data: { name: string; version: string; epoch: string; rev: number } }
	/** Events were lost: fetch again whatever is shown. */
	| { kind: 'reset'; id: string; data: { reason: string } }
	/** The daemon is away; it is tried again. */
	| { kind: 'lost'; id: string; data: { message: string } };

export interface HobOptions {
	token?: string;
	headers?: Record<string, string>;
	credentials?: RequestCredentials;
	/** Seconds to wait for an asset that is being cooked; 10. */
	wait?: number;
	/** A user whose models are shown before they are saved (hob serve --live). */
	live?: string;
}

export interface FetchOptions {
	/** An earlier blob of the same kind: only bytes that differ are fetched. */
	older?: { bytes: Uint8Array; hash: string };
	signal?: AbortSignal;
}

export class HobClient {
	constructor(url?: string | URL, options?: HobOptions);
	readonly url: URL;
	wait: number;
	live?: string;
	/** The current output of an asset by name, "root/path"; `output` is 'meshes' unless said. */
	get(name: string, output?: string, options?: FetchOptions): Promise<NamedBlob>;
	/** A blob by its SHA-256. */
	blob(hash: string, options?: FetchOptions & { name?: string }): Promise<HobBlob>;
	/** null: there is none of that name. */
	asset(name: string, options?: { signal?: AbortSignal }): Promise<{
		name: string; state: string; quality: string; rev: number; outputs: OutputName[]; error: CookError | null;
	} | null>;
	/** Answers when every change saved before (in these watched folders, by name) is cooked or has failed. */
	sync(options?: { timeout?: number; roots?: string[]; signal?: AbortSignal }):
		Promise<{ rev: number; failed: string[] }>;
	/** '?' one character, '*' a run without '/', '**' any run; against root/path and path. Returns what stops it. */
	watch(glob: string, callback: (event: HobEvent) => void): () => void;
}

/** Why something cannot be fetched or shown. */
export class HobError extends Error {
	constructor(message: string, facts?: object);
	/** Of the source, if the daemon sent it. */
	file?: string;
	line?: number;
	/** What to do. */
	hint?: string;
	/** The daemon's error code, or one of the client: 'unreachable', 'not-ready', 'hash'. */
	code?: string;
	/** Of HTTP. */
	status?: number;
}

/** Makes a HobError from an error of the daemon, as in events, lists and problem+json. */
export function errorOf(name: string, facts: Partial<CookError> & { detail?: string; status?: number }): HobError;

/** Bytes whose SHA-256 is `hash`. */
export interface HobBlob {
	bytes: Uint8Array<ArrayBuffer>;
	/** SHA-256, 64 hexadecimal digits. */
	hash: string;
	/** Bytes that were transferred for it. */
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
	/** how it stands: fresh, updating, waiting, broken, blocked, interrupted, missing, skipped, removed */
	standing: string;
	/** @deprecated as 0.2 said it */
	state: string;
	/** 'preview' if the final cook is not finished. */
	quality: string;
	outputs?: OutputName[];
	error?: CookError | null;
}

export type HobEvent =
	| { kind: 'asset'; id: string; data: AssetChange }
	/** The stream is up, or up again. */
	| { kind: 'hello'; id: string; data: { name: string; version: string; epoch: string; rev: number } }
	/** Events were lost: fetch everything that is shown again. */
	| { kind: 'reset'; id: string; data: { reason: string } }
	/** The daemon is unreachable; the client tries again. */
	| { kind: 'lost'; id: string; data: { message: string } };

export interface HobOptions {
	token?: string;
	headers?: Record<string, string>;
	credentials?: RequestCredentials;
	/** Seconds to wait for a running cook; default 10. */
	wait?: number;
	/** A user whose models are shown before they are saved (hob serve --live). */
	live?: string;
}

export interface FetchOptions {
	/** An earlier blob of the same kind: only the differences are fetched. */
	older?: { bytes: Uint8Array; hash: string };
	/** Called with the length of each piece of a large one. */
	onBytes?: (count: number) => void;
	signal?: AbortSignal;
}

export class HobClient {
	constructor(url?: string | URL, options?: HobOptions);
	readonly url: URL;
	wait: number;
	live?: string;
	/** The current output of an asset by name, "root/path"; `output` is 'meshes' by default. */
	get(name: string, output?: string, options?: FetchOptions): Promise<NamedBlob>;
	/** A blob by its SHA-256. */
	blob(hash: string, options?: FetchOptions & { name?: string }): Promise<HobBlob>;
	/** null: there is no such asset. */
	asset(name: string, options?: { signal?: AbortSignal }): Promise<{
		name: string; standing: string;
		state: string; quality: string; rev: number; outputs: OutputName[]; error: CookError | null;
	} | null>;
	/** Resolves when every change saved before (in these watched folders, by name) is cooked or has failed. */
	sync(options?: { timeout?: number; roots?: string[]; signal?: AbortSignal }):
		Promise<{ rev: number; failed: string[] }>;
	/** '?' one character, '*' a run without '/', '**' any run; against root/path and path. Returns a function
	 * that stops it. */
	watch(glob: string, callback: (event: HobEvent) => void): () => void;
}

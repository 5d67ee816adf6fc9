/* Types that several files of the pages share; api.d.ts has those of the API's answers. */
declare module '*.css';

declare namespace Page {
	type Children = import('preact').ComponentChildren;
	type Node = import('preact').VNode;
	/** The address's parameters; one that is not there is undefined. */
	type Query = Record<string, string>;
	type Change = Record<string, string | number | boolean | null | undefined>;
	type Problem = import('../app/api.js').Problem;
	/** What useResource gives. */
	type Source<Data> = { data: Data | undefined; error: Problem | null; loading: boolean; reload(): void };
	type Table<Value = string> = Record<string, Value>;
	type Stop = () => void;
	/** An event of an element that listens to it. */
	type On<Element, Kind = Event> = Kind & { currentTarget: Element };
	/** Lines of a chart over the same times. */
	type Series = { label: string; values: (number | null)[]; tone: string; format?: (value: number) => string };
	type Said = string | number | boolean | null | undefined;
	/** Texts by name; functions put what is told into a sentence. */
	type Words = { [name: string]: string | number | null | number[] | (string | string[] | string[][])[]
		| ((...given: Said[]) => string) | Words };

	/** Events of the daemon; `hello` each time that the stream begins. */
	type Told = { kind: 'asset'; data: AssetTold } | { kind: 'job'; data: JobTold } | { kind: 'log'; data: LogLine }
		| { kind: 'hello'; data: Hello | null } | { kind: 'thumbnail'; data: { id: string } }
		| { kind: 'reset' | 'root' | 'farm' | 'config'; data: unknown };
	type AssetTold = { asset: string; id: string; kind: string; rev: number; standing: Api.Standing; quality: string;
		outputs?: Api.Output[]; error?: Api.Error; moved_to?: string };
	type JobTold = { id: string; job: number; asset: string; state: string; result: string | null };
	type LogLine = Api.Answer<'/api/v1/log'>['items'][number];
	type Hello = { name: string; version: string; epoch: string; rev: number };
	type Live = { connected: boolean; hello: Hello | null; known: boolean; lost?: number };

	/** Something that an address names. */
	type Named = { id: string; root: string; path: string; path_encoded?: string };
	/** An asset of which a small picture is shown. */
	type Drawn = { id: string; rev: number; bytes: { cooked: number }; error?: Api.Error };
	type Selection = { label: string; items: Api.Asset[]; has(item: Api.Asset): boolean; toggle(item: Api.Asset): void;
		add(items: Api.Asset[]): void; clear(): void };
	/** Problems of one shape. */
	type Group = { code: string; message: string; hint: string | null; root_cause: string | null; assets: Affected[] };
	type Affected = Api.ErrorGroups['items'][number]['assets'][number] & { hint: string; message: string | null;
		location: Api.Location | null };
	/** An asset as lists have it: with the fields that they ask for. */
	type Listed = Pick<Api.Asset, 'id' | 'root' | 'path'> & Partial<Api.Asset>;
	/** The output `report`, as far as the pages show it. */
	type Report = { findings?: Finding[]; unchecked?: string[]; timings_us?: Table<number>;
		notes?: { level: string; code?: string; text?: string; message?: string }[] };
	type Finding = { rule: string; kind: string; name: string; value: number; places?: Place[] };
	type Place = [number, number, number];
	/** JSON schema of the settings, as far as the pages read it. */
	type Schema = { $ref?: string; type?: string; enum?: string[]; description: string; default?: Setting;
		minimum?: number; maximum?: number; properties?: Table<Schema>; items?: Schema };
	/** A tree of values, such as settings. */
	type Tree = { [name: string]: unknown };
	type Setting = string | number | boolean;
	type SettingKey = Schema & { path: string };
	/** Counts of what an asset is made of. */
	type Stats = Partial<NonNullable<Api.Asset['stats']>>;
	/** An error as the view shows it: of the API, or of a client. */
	type Fault = { message?: string; detail?: string; hint?: string | null; code?: string; file?: string; line?: number;
		column?: number; location?: Api.Location | null };
	type Tone = 'bad' | 'warn' | 'note' | 'good' | 'same';
	type Number = Api.Comparison['numbers'][number];
	type Difference = Api.AssetChange['changes'][number];
}

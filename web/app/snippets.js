// Lines to copy: how to fetch an asset in each language. A file's name is foreign text, and the line is executed by the
// person who pastes it, so every name is quoted by the rules of its language.

// Characters that an editor does not show, or displays in another order than a compiler reads them.
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/**
 * @param {string} char
 * @param {number} digits
 */
const hex = (char, digits) => Number(char.codePointAt(0)).toString(16).padStart(digits, '0');
/** @param {string} char */
const octal = (char) => [...new TextEncoder().encode(char)].map((byte) =>
		`\\${byte.toString(8).padStart(3, '0')}`).join('');
const backslash = String.raw`\$&`;

/** @param {string} value */
export const quoteShell = (value) => `'${value.replaceAll("'", String.raw`'\''`)}'`;
/** @param {string} value */
export const quoteJs = (value) => `'${value.replace(/[\\']/g, backslash).replace(unseen,
		(char) => `\\u{${hex(char, 1)}}`)}'`;
// \? because ?? may begin a trigraph; octal because it ends after three digits, while \x would also take following
// letters.
/** @param {string} value */
export const quoteC = (value) => `"${value.replace(/[\\"?]/g, backslash).replace(unseen, octal)}"`;
/** @param {string} value */
export const quotePython = (value) => `"${value.replace(/[\\"]/g, backslash).replace(unseen,
		(char) => `\\U${hex(char, 8)}`)}"`;

/** @param {Pick<Api.Asset, 'root' | 'path' | 'links'>} asset */
const nameOf = (asset) => `${asset.root}/${asset.path}`;

export const snippets = {
	/**
	 * @param {Pick<Api.Asset, 'root' | 'path' | 'links'>} asset
	 * @param {string} origin
	 * @param {string} file
	 */
	curl: (asset, origin, file) => `curl -f ${quoteShell(
			`${origin}${asset.links.data}?output=meshes`)} -o ${quoteShell(file)}`,
	/**
	 * @param {Pick<Api.Asset, 'root' | 'path' | 'links'>} asset
	 * @param {string} origin
	 */
	js: (asset, origin) => `import { HobLoader } from ${quoteJs(`${origin}/client/hob-three.js`)};

const loader = new HobLoader().setPath(${quoteJs(`${origin}/a/`)});
const model = await loader.loadAsync(${quoteJs(nameOf(asset))});
scene.add(model);
loader.watch(model, () => render());   // new data as soon as the file is saved`,
	/**
	 * @param {Pick<Api.Asset, 'root' | 'path' | 'links'>} asset
	 * @param {string} origin
	 */
	c: (asset, origin) => `hobc_client *client = NULL;
hobc_options options = {.url = ${quoteC(origin)}};
if (hobc_open(&options, &client) == HOBC_OK)
	hobc_get(client, ${quoteC(nameOf(asset))}, "meshes", on_blob, NULL, NULL);`,
	/**
	 * @param {Pick<Api.Asset, 'root' | 'path' | 'links'>} asset
	 * @param {string} origin
	 */
	python: (asset, origin) => `import hob

client = hob.Client(${quotePython(origin)})
data = client.get(${quotePython(nameOf(asset))}, "meshes")`,
};

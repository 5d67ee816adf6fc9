/* page.mjs: the JavaScript of web/ as tsc --checkJs --strict and ESLint see it, and the templates of the pages, into which
 * neither looks: a component gets only what it takes. Prints one line per finding; exits with 1 if there is any, with 77
 * where the packages are missing (npm ci --prefix web). */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';

export const web = join(dirname(fileURLToPath(import.meta.url)), '../../web');
const missing = ['typescript', 'eslint', '@eslint/js', '@types/three'].filter((name) => !existsSync(join(web, 'node_modules', name)));
const isMain = argv[1] === fileURLToPath(import.meta.url);
if (missing.length && isMain) {
	console.log(`skipped: npm ci --prefix web fetches ${missing.join(', ')}`);
	exit(77);
}
const fetched = createRequire(join(web, 'package.json'));
export const ready = missing.length === 0;
const ts = ready ? fetched('typescript') : null;

/** Findings of tsc; planted: {path below web: text instead of the file's}. */
export function typeFindings(planted = {}) {
	const texts = new Map(Object.entries(planted).map(([name, text]) => [join(web, name), text]));
	const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(join(web, 'types/tsconfig.json'), {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (found) => { throw new Error(found.messageText); } });
	const host = ts.createCompilerHost(options);
	const { readFile } = host;
	host.readFile = (path) => texts.get(resolve(path)) ?? readFile(path);
	const program = ts.createProgram(fileNames, options, host);
	return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
		const line = file ? `${relative(web, file.fileName)}:${file.getLineAndCharacterOfPosition(start).line + 1}` : 'tsconfig.json';
		return `${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
	});
}

/** Findings of ESLint; planted as above. */
export async function styleFindings(planted = null) {
	const { ESLint } = fetched('eslint');
	const eslint = new ESLint({ cwd: web });
	const results = planted ? (await Promise.all(Object.entries(planted).map(([name, text]) => eslint.lintText(text, { filePath: join(web, name) })))).flat()
		: await eslint.lintFiles(['.']);
	return results.flatMap(({ filePath, messages }) => messages.map(({ line, message, ruleId }) => `${relative(web, filePath)}:${line}: ${message} (${ruleId})`));
}

const always = new Set(['key', 'ref', 'children']);

/* A component's properties, {names, open}: it is open if it passes on whatever it gets; null: this is no component. */
function propsOf(made) {
	if (!made || !(ts.isArrowFunction(made) || ts.isFunctionDeclaration(made) || ts.isFunctionExpression(made))) return null;
	const [first] = made.parameters;
	if (!first) return { names: new Set(), open: false };
	if (!ts.isObjectBindingPattern(first.name)) return { names: new Set(), open: true };
	const { elements } = first.name;
	return { names: new Set(elements.map((each) => (each.propertyName ?? each.name).text)), open: elements.some((each) => each.dotDotDotToken) };
}

/* A file's components by name, what it imports, its templates. */
function read(path, source) {
	const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
	const found = { path, components: new Map(), imports: new Map(), templates: [] };
	const isName = (name) => /^[A-Z]/.test(name ?? '');
	const visit = (node) => {
		if (ts.isFunctionDeclaration(node) && isName(node.name?.text)) found.components.set(node.name.text, propsOf(node));
		if (ts.isVariableDeclaration(node) && isName(node.name.text)) found.components.set(node.name.text, propsOf(node.initializer));
		if (ts.isImportDeclaration(node) && node.moduleSpecifier.text.startsWith('.'))
			for (const { name, propertyName } of node.importClause?.namedBindings?.elements ?? [])
				found.imports.set(name.text, [resolve(dirname(path), node.moduleSpecifier.text), (propertyName ?? name).text]);
		if (ts.isTaggedTemplateExpression(node) && node.tag.text === 'html')
			found.templates.push({ template: node.template, line: file.getLineAndCharacterOfPosition(node.pos).line + 1 });
		ts.forEachChild(node, visit);
	};
	visit(file);
	return found;
}

/* [component's name, [property, ...]] of each component in a template. */
function* usesOf(template) {
	if (!ts.isTemplateExpression(template)) return;
	const { templateSpans: spans } = template;
	const text = template.head.text + spans.map(({ literal }, i) => `\0${i};${literal.text}`).join('');
	for (const [, opening, given] of text.matchAll(/<\0(\d+);((?:\s+(?:\.\.\.\0\d+;|[\w-]+(?:=(?:\0\d+;|"[^"]*"|'[^']*'))?))*)\s*\/?>/g)) {
		const component = spans[opening].expression;
		if (!ts.isIdentifier(component)) continue;
		const names = [];
		for (const [, spread, name] of given.matchAll(/\s+(?:\.\.\.\0(\d+);|([\w-]+))/g)) {
			const { properties } = spread ? spans[spread].expression : {};
			names.push(...(name ? [name] : (properties ?? []).map((each) => each.name?.text).filter(Boolean)));
		}
		yield [component.text, names];
	}
}

/** {findings, uses}: what components get that they do not take, and how many uses of components were seen; planted as above. */
export function propFindings(planted = {}) {
	const sources = readdirSync(web, { recursive: true }).filter((name) => /^(app|viewer)\/.*\.js$/.test(name));
	const files = new Map(sources.map((name) => [join(web, name), read(join(web, name), planted[name] ?? readFileSync(join(web, name), 'utf8'))]));
	const findings = [];
	let uses = 0;
	for (const { path, components, imports, templates } of files.values())
		for (const { template, line } of templates)
			for (const [name, given] of usesOf(template)) {
				const [from, as] = imports.get(name) ?? [];
				const props = components.get(name) ?? files.get(from)?.components.get(as);
				if (!props) continue;
				uses++;
				for (const each of given) if (!props.open && !props.names.has(each) && !always.has(each))
					findings.push(`${relative(web, path)}:${line}: <${name}> takes no '${each}'`);
			}
	return { findings, uses };
}

if (isMain) {
	const { findings, uses } = propFindings();
	const found = [...typeFindings(), ...findings, ...await styleFindings()];
	for (const line of found) console.log(`web/${line}`);
	if (!found.length) console.log(`page: types, ${uses} uses of components and the rules of ESLint are kept`);
	exit(found.length ? 1 : 0);
}

/* Components get only what they take: a misspelt property of a template is found here; needs no browser. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import ts from 'typescript';

const web = join(dirname(fileURLToPath(import.meta.url)), '../../web');
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

/** sources: {path: text}. Returns ["file:line: <Component> takes no 'property'"] and the number of uses that were checked. */
function check(sources) {
	const files = new Map(Object.entries(sources).map(([path, text]) => [path, read(path, text)]));
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

const sources = Object.fromEntries(readdirSync(web, { recursive: true }).filter((name) => /^(app|viewer)\/.*\.js$/.test(name))
	.map((name) => [join(web, name), readFileSync(join(web, name), 'utf8')]));

test('every property of a component is one that it takes', () => {
	const { findings, uses } = check(sources);
	assert.deepEqual(findings, []);
	assert.ok(uses > 350, `${uses} uses of components were seen`);
});

test('a misspelt one is found, wherever it stands', () => {
	const planted = [['app/pages/latest.js', '<${Strip} change=', '<${Strip} changing=', 'Strip'], ['app/shell.js', '<${Work} stats=', '<${Work} stat=', 'Work'],
		['app/pages/jobs.js', '<${Panel} id=', '<${Panel} idd=', 'Panel'], ['viewer/view.js', '<${TreeSection} tree=', '<${TreeSection} trees=', 'TreeSection'],
		['app/pages/overview.js', '<${Counts} stats=', '<${Counts} nothing stats=', 'Counts'], ['app/pages/asset.js', '...${{ asset, shown }}', '...${{ asset, show: shown }}', 'Viewer']];
	for (const [name, right, wrong, component] of planted) {
		const path = join(web, name);
		assert.ok(sources[path].includes(right), `${name}: ${right}`);
		const { findings } = check({ ...sources, [path]: sources[path].replace(right, wrong) });
		assert.equal(findings.length, 1, `${name}: ${findings}`);
		assert.match(findings[0], new RegExp(`^${name}:\\d+: <${component}> takes no '`));
	}
});

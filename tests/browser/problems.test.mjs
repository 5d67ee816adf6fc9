/* How problems are put together and found; needs no browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findProblems, folderOf, formatOf, groupProblems, shapeOf, whenFailed } from '../../web/app/problems.js';

const asset = (path, root = 'art') => ({ id: path, root, path });
const cause = (message, paths, { code = 'import.corrupt', hint = 'export it again', root_cause = null, location } = {}) =>
	({ code, message, hint, root_cause, location, assets: paths.map((path) => asset(path)) });

test('numbers and names are no part of a message’s shape', () => {
	for (const [one, other] of [['line 1, column 464: unclosed token', 'line 17, column 2: unclosed token'], ['the file ends at byte 1,234.5', 'the file ends at byte 7'],
		["image 'a b.png' is missing", "image 'x\\y.png' is missing"], ['chunk 0xFFfe01 is unknown', 'chunk 0x1 is unknown']]) assert.equal(shapeOf(one), shapeOf(other));
	for (const [one, other] of [['the file holds no vertex', 'the file holds no face'], ["'a' is missing", "'a' is unknown"]]) assert.notEqual(shapeOf(one), shapeOf(other));
});

test('places of one kind of damage are one problem, in the order of the newest; each asset says its own', () => {
	const groups = groupProblems([cause('line 9: no token', ['new/a.dae'], { location: { file: 'new/a.dae', line: 9 } }), cause('the file is empty', ['b.obj', 'c/b.obj'], { location: { file: 'b.obj', line: 3 } }),
		cause('line 12: no token', ['d.dae']), cause('line 12: no token', ['e.gltf'], { code: 'import.truncated' }), cause('it needs this', ['f.obj'], { root_cause: 'art/a.mtl' })]);
	assert.deepEqual(groups.map(({ message, assets }) => [message, assets.map(({ path }) => path)]), [['line …: no token', ['new/a.dae', 'd.dae']],
		['the file is empty', ['b.obj', 'c/b.obj']], ['line 12: no token', ['e.gltf']], ['it needs this', ['f.obj']]]);
	assert.deepEqual(groups[0].assets.map(({ message }) => message), ['line 9: no token', 'line 12: no token']);
	assert.deepEqual(groups[0].assets[0].location, { file: 'new/a.dae', line: 9 });
	assert.deepEqual(groups[1].assets.map(({ location }) => location?.line), [3, undefined]);
	assert.ok(groups[1].assets.every(({ message }) => message === null));
	assert.equal(groups[3].root_cause, 'art/a.mtl');
});

test('they are found by words, kind, folder and format', () => {
	const groups = groupProblems([cause('line 9: no token', ['new/a.dae', 'old/deep/a.DAE']), cause('the file is empty', ['b.obj'], { code: 'import.empty' })]);
	const found = (query) => findProblems(groups, query).map(({ assets }) => assets.map(({ path }) => path).join());
	assert.deepEqual(found({}), ['new/a.dae,old/deep/a.DAE', 'b.obj']);
	assert.deepEqual(found({ q: 'TOKEN deep' }), ['old/deep/a.DAE']);
	assert.deepEqual(found({ format: 'dae' }), ['new/a.dae,old/deep/a.DAE']);
	assert.deepEqual(found({ folder: 'art/new' }), ['new/a.dae']);
	assert.deepEqual(found({ folder: 'art' }), ['b.obj']);
	assert.deepEqual(found({ code: 'import.empty', format: 'dae' }), []);
	assert.deepEqual([folderOf(asset('a/b/c.x')), formatOf(asset('a.b/c'))], ['art/a', '']);
});

test('each failure has its time, and the author of the commit that its root was at', () => {
	const at = (minute) => `2026-11-30T12:${minute}:00Z`;
	const jobs = [{ asset: 'art/a.obj', finished_at: at(50) }, { asset: 'art/b.obj', finished_at: at(20) }, { asset: 'art/a.obj', finished_at: at(10) }, { asset: 'other/a.obj', finished_at: at(50) }, { asset: null, finished_at: at(50) }];
	const commits = { root: 'art', items: [{ author: 'Bea', subject: 'second', time: at(40) }, { author: 'Ann', subject: 'first', time: at(15) }] };
	const found = whenFailed(jobs, commits);
	assert.deepEqual(['art/a.obj', 'art/b.obj', 'other/a.obj'].map((name) => [found.get(name).at, found.get(name).author]), [[at(50), 'Bea'], [at(20), 'Ann'], [at(50), undefined]]);
	assert.deepEqual([...whenFailed(jobs).values()].map(({ author }) => author), [undefined, undefined, undefined]);
});

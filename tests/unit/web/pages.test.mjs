/* The pages without a browser: components as text, from answers as the API gives them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load, read, show } from './page.mjs';

const standings = { fresh: 0, updating: 0, waiting: 0, broken: 0, blocked: 0, interrupted: 0, missing: 0 };
const stats = (change = {}) => ({ ready: true, assets: { total: 10 }, standings: { ...standings, fresh: 10, ...change.standings }, bytes: { source: 1000, inputs: 2000, cooked: 500 }, errors: 0, warned: 0,
	warnings: 0, degraded: null, upstream: null, queue: { length: 0, eta_ms: 0 }, uptime_ms: 1e7, ...change, ...(change.standings && { standings: { ...standings, ...change.standings } }) });
const asset = (change = {}) => ({ id: 'a1', name: 'art/props/duck.glb', path: 'props/duck.glb', root: 'art', kind: 'gltf', standing: 'fresh', quality: 'final', rev: 4, cooked_at: '2026-11-20T18:31:29Z', cook_ms: 183,
	bytes: { source: 1200, inputs: 2400, cooked: 900, textures: 300 }, stats: { triangles: 4212, vertices: 2399, lods: 4, materials: 1, textures: 1, animations: 0 }, warnings: 0,
	findings: { errors: 0, warnings: 0, infos: 0 }, error: null, links: { self: '/api/v1/assets/a1', data: '/a/art/props/duck.glb' }, settings: null,
	outputs: [{ name: 'meshes', hash: 'ab'.repeat(32), size: 600, url: '/blobs/ab' }, { name: 'textures/0', hash: 'cd'.repeat(32), size: 300, url: '/blobs/cd' }], ...change });

describe('values', async () => {
	const { valueAt, nest } = await load('app/values.js');
	test('a path leads to a value, and to nothing where it breaks off', () => {
		assert.equal(valueAt({ a: { b: 3 } }, ['a', 'b']), 3);
		assert.equal(valueAt({ a: null }, ['a', 'b', 'c']), undefined);
	});
	test('flat names become a tree', () => assert.deepEqual(nest({ 'lods.max': 3, 'lods.error': 0.1, up_axis: 'y' }), { lods: { max: 3, error: 0.1 }, up_axis: 'y' }));
});

describe('requests', async () => {
	const { get, Problem, query } = await load('app/api.js');
	test('a query leaves out what is empty, and true is 1', () => assert.equal(query({ q: 'a b', root: '', limit: 0, warning: true, rule: null, uses: undefined, x: false }), '?q=a+b&limit=0&warning=1'));
	test('no parameter, no question mark', () => assert.equal(query({ q: '' }), ''));
	test('a problem has the words of the daemon, or its number', () => {
		assert.deepEqual(['code', 'hint', 'message', 'status'].map((name) => new Problem(404, { detail: 'gone', code: 'http.x', hint: 'look' })[name]), ['http.x', 'look', 'gone', 404]);
		assert.equal(new Problem(500, {}).message, 'HTTP 500');
	});
	test('no daemon is a problem of its own', async () => {
		globalThis.fetch = async () => { throw new TypeError('fetch failed'); };
		await assert.rejects(get('/api/v1/nothing'), { code: 'offline', status: 0 });
	});
	test('an answer of the wrong kind still is a problem with a number', async () => {
		globalThis.fetch = async () => new Response('<html>', { status: 502 });
		await assert.rejects(get('/api/v1/nothing'), { status: 502, message: 'HTTP 502' });
	});
	test('a request that was ended from here is not a problem of the daemon', async () => {
		globalThis.fetch = async () => { throw new DOMException('ended', 'AbortError'); };
		await assert.rejects(get('/api/v1/nothing'), { name: 'AbortError' });
	});
});

describe('addresses', async () => {
	const { assetAddress, encodePath, nameAddress, navigate, setQuery } = await load('app/router.js');
	test('each part of a path is escaped, its slashes are not', () => assert.equal(encodePath('a b/#1/ü?.glb'), 'a%20b/%231/%C3%BC%3F.glb'));
	test('an asset has its name as address, or its id if the name is not UTF-8', () => {
		assert.equal(assetAddress({ id: 'x', root: 'art', path: 'a/b.glb' }), '/ui/asset/art/a/b.glb');
		assert.equal(assetAddress({ id: 'x', root: 'art', path: 'a/\ufffd.glb', path_encoded: 'a/%ff.glb' }), '/ui/asset?id=x');
		assert.equal(nameAddress('art/a b.glb'), '/ui/asset/art/a%20b.glb');
	});
	test('a filter changes the address, and an empty one leaves it', () => {
		navigate('/ui/assets?q=a');
		setQuery({ q: '', state: 'broken' });
		assert.equal(location.search, '?state=broken');
		navigate('/');
	});
});

describe('what lists have shown', async () => {
	const { know, idOf, isCooked } = await load('app/known.js');
	test('its id is known by its name', () => {
		know([asset(), asset({ id: 'b2', path: 'raw.glb', bytes: { cooked: 0 } })]);
		assert.equal(idOf('art/props/duck.glb'), 'a1');
		assert.equal(idOf('art/other.glb'), undefined);
	});
	test('and whether there is something to show', () => assert.deepEqual(['art/props/duck.glb', 'art/raw.glb', 'art/other.glb'].map(isCooked), [true, false, false]));
	test('the oldest are forgotten', () => {
		know(Array.from({ length: 5001 }, (_, i) => ({ id: `n${i}`, root: 'many', path: `${i}.glb` })));
		assert.equal(idOf('art/props/duck.glb'), undefined);
		assert.equal(idOf('many/5000.glb'), 'n5000');
	});
});

describe('the state of an asset', async () => {
	const { Failure, State, stateOf, isSettled, problemStates, Breakable } = await load('app/ui.js');
	test('a preview is a state of its own', () => assert.deepEqual([['fresh', 'preview'], ['fresh', 'final'], ['broken', 'preview']].map(([standing, quality]) => stateOf({ standing, quality })), ['preview', 'fresh', 'broken']));
	test('work that goes on is not settled', () => assert.deepEqual(['fresh', 'broken', 'updating', 'waiting', 'missing'].map((standing) => isSettled({ standing })), [true, true, false, false, false]));
	for (const state of problemStates) test(`${state} has words, a meaning and a tone`, () => assert.match(show(State, { state }), /tone-(bad|warn)" title="[^"]{20,}/));
	test('no connection is told as such, without a button', () => {
		const shown = show(Failure, { error: { code: 'offline', message: '' }, retry() {} });
		assert.match(read(shown), /^No connection Hob does not respond/);
		assert.doesNotMatch(shown, /<button/);
	});
	test('another failure has its words, its hint and a button', () => {
		const shown = show(Failure, { error: { code: 'x', message: 'It broke', hint: 'Mend it' }, retry() {} });
		assert.equal(read(shown), 'That did not work It broke Mend it Try again');
	});
	test('long names may wrap after a slash and before a dot', () => assert.equal(show(Breakable, { path: 'a_b/c.glb' }), 'a_<wbr/>b/<wbr/>c<wbr/>.glb'));
});

describe('progress of work', async () => {
	const { Work, workOf } = await load('app/work.js');
	const run = (change) => stats({ progress: { began_at: 'x', ended_at: null, done: 40, left: 60, failed: 3, per_minute: 30, ...change }, errors: 1 });
	test('there is none before it began and after it ended', () => assert.deepEqual([{ began_at: null }, { ended_at: 'x' }, { left: 0 }].map((change) => workOf(run(change))), [null, null, null]));
	test('its share is of all that was and will be done', () => assert.equal(workOf(run()).share, 0.4));
	test('the daemon\'s estimate comes before the speed so far', () => {
		assert.equal(workOf({ ...run(), queue: { eta_ms: 5000 } }).eta, 5000);
		assert.equal(workOf(run()).eta, 120000);
		assert.equal(workOf(run({ per_minute: 0 })).eta, 0);
	});
	test('a failure that was repaired meanwhile is none', () => assert.equal(workOf(run()).failed, 1));
	test('it is told in words', () => assert.match(read(show(Work, { stats: run() })), /^40 of 100 done 30 a minute about 2 min left 1 failed/));
	test('a few cooks are not told on every page', () => assert.equal(show(Work, { stats: run({ done: 1, left: 2 }) }), ''));
});

describe('the overview', async () => {
	const { Overview } = await load('app/pages/overview.js');
	const { FirstModel } = await load('app/drop.js');
	const told = (change) => read(show(Overview, {}, { '/api/v1/stats': stats(change), '/api/v1/roots': { items: [{ name: 'art', path: '/srv/art', mode: 'inotify', note: '', missing_since: null }] } }));
	test('each asset stands in one tile: a problem that is cooked again is a problem', () => {
		const words = told({ assets: { total: 10 }, standings: { fresh: 5, updating: 3, waiting: 1, broken: 1 }, errors: 2 });
		assert.match(words, /10 all assets .* 5 Up to date 2 Updating 1 Waiting 2 Problems/);
	});
	test('sizes of sources count every file', () => assert.match(told(), /2.00 KB source files, 500 B cooked/));
	test('warnings have a tile where there are any', () => {
		assert.match(told({ warned: 3 }), /3 With warnings/);
		assert.doesNotMatch(told(), /With warnings/);
	});
	test('an empty folder says so, how its path is, and has a sample; a repository is no folder to copy to', () => {
		assert.match(told({ assets: { total: 0 } }), /No models yet .*\/srv\/art Copy path .*Download a sample model/);
		const git = read(show(FirstModel, {}, { '/api/v1/roots': { items: ['art', 'art~commits', 'more'].map((name) => ({ name, path: `/srv/${name}` })) } }));
		assert.deepEqual(git.match(/\/srv\/\S+/g), ['/srv/more']);
	});
	test('a folder that is still read is not called empty', () => assert.doesNotMatch(told({ assets: { total: 0 }, ready: false }), /No models yet/));
	test('cook processes that cannot be started are told', () => assert.match(told({ degraded: 'no memory is left' }), /No memory is left/));
	test('an upstream that is away is told, with what waits for it', () => assert.match(told({ upstream: { state: 'degraded', farm: false, since: null, outbox: 2, reason: 'refused' } }), /is unreachable or fails.*2 results are waiting to be uploaded/));
});

describe('an asset', async () => {
	const { Asset } = await load('app/pages/asset.js');
	const told = (change, query = {}) => show(Asset, { below: '', query: { id: 'a1', ...query } }, { '/api/v1/assets/a1': asset(change), '/api/v1/assets/a1/history?limit=2': { items: [], next: null } });
	test('its numbers', () => assert.match(read(told()), /Triangles 4,212 Vertices 2,399 Levels( of detail)? 4 .*Textures 1 300 B/));
	test('no number of what it has not', () => assert.doesNotMatch(read(told()), /Animations 0|Clips 0/));
	test('its folders are links to their lists', () => assert.match(told(), /href="\/ui\/assets\?root=art&amp;q=props%2F"|href="\/ui\/assets\?root=art&q=props%2F"/));
	test('why it cannot be cooked, where, and what stays', () => {
		const words = read(told({ standing: 'broken', error: { code: 'import.x', message: 'texture is gone', hint: 'put it back', location: { file: 'props/duck.gltf', line: 7, column: 2 }, root_cause: null } }));
		assert.match(words, /Texture is gone Put it back props\/duck\.gltf:7:2/);
	});
	test('a budget that is exceeded', () => assert.match(read(told({ settings: { budget: { triangles: 4000, bytes: 0 } } })), /4,212 of 4,000 \(over budget\)/));
	test('a budget that is kept', () => assert.doesNotMatch(read(told({ settings: { budget: { triangles: 5000, bytes: 0 } } })), /over budget/));
	test('warnings lead to their reasons', () => assert.match(told({ warnings: 2 }), /href="\?tab=why"[^]*2 warnings/));
	test('the size of its own file, where there are others', () => assert.match(read(told()), /2\.40 KB the file itself 1\.20 KB/));
	test('one that is not there is looked for', () => assert.match(read(show(Asset, { below: 'art/never.glb', query: {} }, { '/api/v1/assets?path=art%2Fnever.glb&limit=1&fields=id': { items: [], next: null } })), /never\.glb/));
});

describe('files of an asset', async () => {
	const { Files } = await load('app/pages/asset_files.js');
	const shown = show(Files, { asset: asset() });
	test('what each is, its size and share', () => assert.match(read(shown), /Texture 0 textures\/0 300 B/));
	test('meshes come first', () => assert.ok(shown.indexOf('/blobs/ab') < shown.indexOf('/blobs/cd')));
	test('names to save them under', () => assert.match(shown, /download="duck\.glb\.textures-0\.ktx2"/));
	test('lines to copy in each language', () => assert.match(read(shown), /Command line.*JavaScript.*C .*Python/));
	test('nothing to download before it is cooked', () => assert.doesNotMatch(show(Files, { asset: asset({ outputs: [] }) }), /Download/));
});

describe('why it was cooked', async () => {
	const { Why, LogText, reasonText } = await load('app/pages/asset_why.js');
	const why = (change) => ({ verdict: 'recooked', asset: 'art/props/duck.glb', reason: [{ kind: 'changed', path: 'props/duck.glb' }], key: 'k', previous_key: 'p', previous: null, compared: null, changed: [], unchanged: 3,
		cook_ms: 200, cooked_by: null, ...change });
	const told = (id, change, report) => read(show(Why, { asset: asset({ id, outputs: report ? [{ name: 'report', hash: id, size: 1, url: `/blobs/${id}` }] : [] }) }, { [`/api/v1/assets/${id}/why`]: why(change), ...(report && { [`/blobs/${id}`]: report }) }));
	test('its own file is not named again', () => {
		assert.equal(reasonText({ kind: 'changed', path: 'a.glb' }, 'a.glb'), 'Was saved');
		assert.equal(reasonText({ kind: 'changed', path: 'b.png' }, 'a.glb'), 'b.png was saved');
		assert.equal(reasonText({ kind: 'unheard', path: 'b' }, 'a'), 'unheard b');
	});
	test('nothing changed is said', () => assert.match(told('w1'), /No input has changed since the previous cook/));
	test('the first cook has nothing to compare with', () => assert.match(told('w2', { previous_key: null }), /There is no earlier cook/));
	test('what changed, by name, with short digests', () => assert.match(told('w3', { changed: [{ input: 'tex.png', from: 'a'.repeat(64), to: 'b'.repeat(64) }, { setting: 'lods.max', from: 3, to: 5, origin: 'x' }] }), /tex\.png a{12} b{12} .* 3 5/));
	test('where the time went, the longest first', () => assert.match(told('w4', {}, { timings_us: { import: 2000, textures: 8000, write: 50 } }), /Where the time went 10 ms Textures 80 % 8 ms Reading the source 20 % 2 ms/));
	test('a machine of the farm is named', () => assert.match(told('w5', { cooked_by: 'mill' }), /Cooked by mill\./));
	test('a log with nothing to say says so', () => assert.match(read(show(LogText, { asset: asset({ id: 'w6', outputs: [] }) }, { '/api/v1/assets/w6/log': '' })), /The last cook reported nothing/));
	test('notes stand in the log, too', () => assert.match(read(show(LogText, { asset: asset({ id: 'w7', outputs: [{ name: 'report', hash: 'w7', size: 1, url: '/blobs/w7' }] }) }, { '/api/v1/assets/w7/log': '', '/blobs/w7': { notes: [{ level: 'warning', text: 'gone.mtl' }] } })), /Warning gone\.mtl/));
});

describe('settings', async () => {
	const { limits, settingsOf, wordsOf } = await load('app/pages/asset_settings.js');
	const schema = { $ref: '#/definitions/settings', definitions: { settings: { properties: { $schema: {}, rules: { type: 'object' }, lods: { type: 'object', properties: { max: { type: 'integer', minimum: 1, maximum: 7, default: 7, description: 'x' } } }, up_axis: { type: 'string', description: 'y' } } } } };
	test('the schema is flattened, without what is edited in files only', () => assert.deepEqual(settingsOf(schema).map(({ path }) => path), ['lods.max', 'up_axis']));
	test('limits in words', () => assert.equal(limits(settingsOf(schema)[0]), ', 1 to 7, default 7'));
	test('a bound that limits nothing is "above"', () => assert.equal(limits({ path: 'x', type: 'number', minimum: 1e-9, maximum: 1e12, default: 1, description: '' }), ', default 1'));
	test('a setting without a label is called by its name', () => assert.deepEqual(wordsOf({ path: 'no.such', description: 'about it' }), ['no.such', 'about it']));
});

describe('jobs', async () => {
	const { Jobs } = await load('app/pages/jobs.js');
	const job = (change) => ({ id: 1, kind: 'cook', asset: 'art/a.glb', state: 'done', result: 'cooked', queued_at: '2026-11-20T18:00:00Z', started_at: '2026-11-20T18:00:02Z', finished_at: '2026-11-20T18:00:03Z', reason: [{ kind: 'changed', path: 'a.glb' }], ...change });
	const told = (items, query = {}) => read(show(Jobs, { query }, { '/api/v1/jobs?limit=1000': { items, next: null }, '/api/v1/stats': { ...stats(), queue: { length: 0 }, activity: { cooked_by_minute: [], cooked: 0, average_cook_ms: 0, average_wait_ms: 0, slowest: null } } }));
	test('a job: its asset, result, reason, waiting and cooking time', () => assert.match(told([job()]), /a\.glb art\/ Cooked Was saved 2\.0 s 1\.0 s/));
	test('a remembered failure is a known problem, not a hit', () => assert.match(told([job({ result: 'hit', error: { message: 'it is bad' } })]), /It is bad Failed before/));
	test('what waits is counted apart from what runs', () => assert.match(told([job({ state: 'cooking', result: null, finished_at: null }), job({ id: 2, state: 'queued', result: null, started_at: null, finished_at: null })]), /Running 1 .*Waiting 1 /));
	test('nothing at all is said in words', () => assert.ok(told([]).length > 20));
	const { lasted } = await load('app/pages/jobs_timeline.js');
	test('no job took no time', () => assert.equal(lasted(0), '1\u00a0ms'));
	const { Timeline } = await load('app/pages/jobs_timeline.js');
	const bar = (tid, ts, dur, cat = 'cooked') => ({ ph: 'X', name: `art/${ts}.glb`, cat, pid: 1, tid, ts, dur, args: { job: ts } });
	test('the newest build begins after a pause, the longest of it first', () => assert.match(read(show(Timeline, {}, { '/api/v1/trace?limit=2000': { traceEvents: [bar(0, 0, 1e6), bar(0, 100e6, 3e6), bar(1, 101e6, 1e6, 'failed')] } })), /The newest build: 2 jobs in 3\.0 s.*100000000\.glb 3\.0 s .*101000000\.glb 1\.0 s/));
});

describe('comparing', async () => {
	const { clipsOf, Difference } = await load('app/pages/asset_compare.js');
	test('clips that changed, each once; not those with another name only', () => assert.deepEqual(clipsOf([{ part: 'clip', change: 'changed', name: 'Walk' }, { part: 'clip', change: 'gone', name: 'Walk' }, { part: 'clip', change: 'renamed', name: 'Run' }, { part: 'mesh', change: 'changed', name: 'x' }]), ['Walk']));
	for (const [given, words] of [[{ from: 100, to: 140, tone: 'bad' }, '+40 (+40 %)'], [{ from: 2000, to: 1000, unit: 'bytes', tone: 'good' }, '−1.00 KB (−50 %)'], [{ from: 0, to: 3, tone: 'note' }, '+3'], [{ from: 1, to: 1, tone: 'same' }, 'same'],
		[{ from: 0, to: 0.5, unit: 'metres', tone: 'note' }, '+0.5 m'], [{ from: 0, to: 90, unit: 'degrees', tone: 'note' }, '+90°'], [{ from: 1, to: 3, unit: 'seconds', tone: 'note' }, '+2.0 s (+200 %)']])
		test(`a difference in words: ${words}`, () => assert.equal(read(show(Difference, given)), words));
	const { concerns, versionNames } = await load('app/pages/asset_history.js');
	test('versions are told by when, preview or final, size and commit; those of one moment apart', () => {
		const at = (minutes) => new Date(Date.now() - minutes * 60000).toISOString();
		const made = (job, minutes, result = 'cooked') => ({ job, at: at(minutes), result, cooked_bytes: 900 });
		const names = [...versionNames([made(4, 2), made(3, 2, 'preview'), made(2, 30), made(1, 180)], 'art', { root: 'art', items: [{ author: 'Ann', subject: 'Door', time: at(60) }, { author: 'Bo', subject: 'Wall', time: at(240) }] }).values()];
		assert.match(names[0], /^2 minutes ago \(\d.*\), final, 900\sB, Ann: Door$/);
		assert.match(names[1], /^2 minutes ago \(\d.*\), preview, 900\sB, Ann: Door$/);
		assert.match(names[2], /^30 minutes ago, final, 900\sB, Ann: Door$/);
		assert.match(names[3], /^3 hours ago, final, 900\sB, Bo: Wall$/);
		assert.doesNotMatch([...versionNames([made(1, 2)], 'other', { root: 'art', items: [{ author: 'Ann', subject: 'Door', time: at(60) }] }).values()].join(), /Ann/);
	});
	const { CommitState, Names } = await load('app/pages/commits.js');
	test('a commit without models is not told as cooked', () => {
		const told = (assets) => show(CommitState, { commit: { state: 'warm', assets } });
		assert.match(told(3), /Everything is cooked[^]*Cooked/);
		assert.doesNotMatch(told(0), /ooked/);
		assert.match(read(told(0)), /^No models$/);
	});
	test('above the pictures of a pull request stands a list of names, by what became of them', () => {
		const change = (asset, tone, said = 'x') => ({ asset, tone, changes: [{ tone, text: said }] });
		const list = show(Names, { changes: [change('art/a/b c.glb', 'bad'), change('art/d.glb', 'bad'), change('art/e.glb', 'note'), change('art/f.glb', 'note', 'it is new')], gone: ['g.glb'] });
		assert.equal(read(list).replaceAll(' ,', ','), 'Lost 2 a/b c.glb, d.glb Changed 1 e.glb New 1 f.glb Removed 1 g.glb');
		assert.match(list, /href="#art%2Fa%2Fb%20c\.glb"/);
	});
	test('a final cook like its preview is told by its job alone', () => {
		const mine = concerns(asset());
		assert.deepEqual([{ kind: 'asset', data: { id: 'a1' } }, { kind: 'job', data: { asset: 'art/props/duck.glb' } }, { kind: 'job', data: { asset: 'art/other.glb' } }, { kind: 'log', data: {} }].map(mine), [true, true, false, false]);
	});
});

describe('problems', async () => {
	const { placeOf } = await load('app/fault.js');
	test('a place is a file, a line and a column, as far as they are known', () => assert.deepEqual([placeOf({ file: 'a', line: 3, column: 7 }), placeOf({ file: 'a', line: 3 }), placeOf(null, 'b'), placeOf(null)], ['a:3:7', 'a:3', 'b', '']));
	const { Errors } = await load('app/pages/errors.js');
	const cause = (change) => ({ code: 'import.x', message: 'texture is gone', hint: 'put it back', location: null, root_cause: null, count: 1, rev: 1, assets: [{ id: 'e1', root: 'art', path: 'a/b.glb', standing: 'broken' }], ...change });
	const told = (items, query = {}) => read(show(Errors, { query }, { '/api/v1/errors': { items, assets: items.flatMap(({ assets }) => assets).length }, '/api/v1/stats': stats() }));
	test('causes of one shape are one problem', () => assert.match(told([cause(), cause({ assets: [{ id: 'e2', root: 'art', path: 'c.glb', standing: 'broken' }] })]), /1 (cause|problem), 2 assets/));
	test('a search that finds nothing leads back', () => assert.match(told([cause()], { q: 'nowhere' }), /No/));
	test('none is good news', () => assert.doesNotMatch(told([]), /Texture/));
});

describe('cache', async () => {
	const { Cache } = await load('app/pages/cache.js');
	const cached = (change) => read(show(Cache, {}, { '/api/v1/stats?outputs=1': { ...stats(), cache: { bytes: 1073741824, limit_bytes: 4294967296, disk_free_bytes: 5e9, oldest_idle_s: 60, evicted_bytes: 0, damaged_blobs: 0 }, cooks: { hits: 30, misses: 10, saved_ms: 5000 }, by_output: [{ name: 'meshes', count: 2, bytes: 100 }, { name: 'report', count: 0, bytes: 0 }], ...change },
		'/api/v1/assets?sort=-bytes&limit=50&fields=id,path,root,bytes,outputs': { items: [asset()], next: null } }));
	test('a limit in the unit it was set in, and what is used in the same', () => assert.match(cached(), /1\.00 GiB On disk of 4 GiB at most/));
	test('the rate of hits', () => assert.match(cached(), /75 % Cache hit rate 30 of 40 since start/));
	test('kinds without a file are left out', () => assert.doesNotMatch(cached(), /Reports 0/));
	test('an asset\'s largest kind', () => assert.match(cached(), /duck\.glb art\/props\/ 900 B Meshes/));
});

describe('small pages', async () => {
	const { Clients } = await load('app/pages/clients.js');
	const client = (change) => ({ address: '1.2.3.4', agent: 'Mozilla/5.0 (X11) Chrome/156', since: '2026-11-20T18:00:00Z', assets: [], kinds: ['asset'], uses: 2, seq: 1, behind: 0, ...change });
	const told = (items) => read(show(Clients, {}, { '/api/v1/clients': { items, count: items.length }, '/api/v1/mirrors': { items: [] } }));
	test('a browser has a name', () => assert.match(told([client()]), /Browser \(Chrome\)|browser \(Chrome\)/i));
	test('one that is behind is told', () => assert.match(told([client({ behind: 1 })]), /1 change behind/));
	const { Settings } = await load('app/pages/settings.js');
	test('settings of the daemon in units, grouped', () => assert.match(read(show(Settings, {}, { '/api/v1/config': { values: [{ key: 'cache.max_size', value: 0, origin: 'default' }, { key: 'cook.timeout_seconds', value: 90, origin: 'flag' }, { key: 'log.colors', value: true, origin: 'file' }] } })), /No limit Default .*1 min 30 s Command line .*yes file/));
	const { ItemName, usersOf } = await load('app/pages/library.js');
	test('a texture leads to the models that use it', () => assert.deepEqual(usersOf('textures', { name: 'art/t/wood.png' }), { uses: 'art/t/wood.png' }));
	test('its name and its folder', () => assert.match(read(show(ItemName, { kind: 'textures', item: { name: 'art/t/wood.png', hash: 'h', bytes: 100, users: 3 } })), /wood\.png.*art\/t\//));
	const { Api } = await load('app/pages/api.js');
	const document = { info: { description: 'First.\n\nMore `code`.' }, paths: { '/a': { get: { summary: 'Gives a', responses: {} } }, '/b': { post: { summary: 'Makes b', responses: {} } } } };
	test('the API is searched', () => {
		const shown = read(show(Api, { query: { q: 'makes' } }, { '/openapi.json': document }));
		assert.match(shown, /POST \/b Makes b/);
		assert.doesNotMatch(shown, /Gives a/);
	});
	const { SignIn } = await load('app/pages/sign_in.js');
	test('a session that has ended says so', () => assert.match(read(show(SignIn, { lost: true })), /You were signed out/));
	const { Keys } = await load('app/keys.js');
	test('the keys are listed', () => assert.match(read(show(Keys)), /\? Show this list.*F Fit the model/));
	const { BrokenRules } = await load('app/pages/findings.js');
	test('broken rules, the worst first', () => assert.match(read(show(BrokenRules, {}, { '/api/v1/findings?limit=1': { rules: [{ rule: 'b', level: 'info', assets: 1, count: 1, meaning: 'is odd', mend: '' }, { rule: 'a', level: 'error', assets: 2, count: 5, meaning: 'is wrong', mend: '' }] } })), /Is wrong a 2 assets 5 .*Is odd b 1 asset/));
});

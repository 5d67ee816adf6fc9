/* The 3D view's logic without a browser: clips, parts, levels, UVs, links, findings, on models made of three.js' objects. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { load, read, show, web } from './page.mjs';

const THREE = await import(pathToFileURL(join(web, 'node_modules/three/build/three.module.js')));

/* A square of two triangles in the x-y plane, named, as mesh number `mesh` of the cooked data. */
function square(name, mesh = 0, side = 1) {
	const geometry = new THREE.PlaneGeometry(side, side);
	geometry.computeBoundingBox();
	const made = new THREE.Mesh(geometry, new THREE.MeshStandardMaterial());
	Object.assign(made, { name });
	made.userData = { name, hob: { mesh, material: made.material, variants: {} } };
	return made;
}

/* body (a square), body/arm (a square), and a second body */
function model() {
	const group = new THREE.Group();
	const [body, arm, again] = [square('body', 0), square('arm', 1, 2), square('body', 0)];
	body.add(arm);
	arm.position.x = 4;
	again.position.x = -4;
	group.add(body, again);
	group.userData.cooked = { meshes: null, geometry: { meshes: [{ name: 'square', lod_count: 2, topology: 0, vertex_count: 4 }, { name: 'large', lod_count: 1, topology: 0, vertex_count: 4 }] }, pictures: { records: [], texrefs: [], images: [] } };
	group.updateMatrixWorld(true);
	return group;
}

describe('clips', async () => {
	const { Clips } = await load('viewer/clips.js');
	const moving = () => {
		const group = model();
		const track = (values) => new THREE.VectorKeyframeTrack('arm.position', [0, 1, 2], values);
		group.animations = [new THREE.AnimationClip('Walk', 2, [track([4, 0, 0, 5, 0, 0, 6, 0, 0])]), new THREE.AnimationClip('', 2, [track([4, 0, 0, 4, 2, 0, 4, 4, 0])])];
		return group;
	};
	const start = () => {
		const group = moving();
		const clips = new Clips(() => {});
		clips.setModel(group);
		return { clips, arm: group.getObjectByName('arm') };
	};
	test('a clip without a name has a number', () => assert.deepEqual(start().clips.names, ['Walk', 'Clip 2']));
	test('a time of a clip poses the model, and the rest pose comes back', () => {
		const { clips, arm } = start();
		clips.choose(0, { time: 1 });
		assert.equal(arm.position.x, 5);
		clips.choose(-1);
		assert.equal(arm.position.x, 4);
	});
	test('frames are of thirty a second, and end with the clip', () => {
		const { clips } = start();
		clips.choose(0);
		clips.step(3);
		assert.equal(clips.time, 0.1);
		clips.step(-9);
		assert.equal(clips.time, 0);
		clips.step(1000);
		assert.equal(clips.time, 2);
	});
	test('two clips blend by shares', () => {
		const { clips, arm } = start();
		clips.choose(0, { time: 2 });
		clips.blend(1, 0.25);
		assert.ok(Math.abs(arm.position.x - 5.5) < 1e-6 && Math.abs(arm.position.y - 1) < 1e-6, `${arm.position.toArray()}`);
	});
	test('a clip goes round, or stays at its end', () => {
		const { clips } = start();
		clips.choose(0, { time: 1.5, playing: true });
		assert.equal(clips.advance(1), true);
		assert.equal(clips.time, 0.5);
		clips.setLoop(false);
		assert.equal(clips.advance(9), false);
		assert.equal(clips.time, 2);
	});
	test('speed is of the time that passed', () => {
		const { clips } = start();
		clips.choose(0, { playing: true });
		clips.setSpeed(0.5);
		clips.advance(1);
		assert.equal(clips.time, 0.5);
	});
	test('after another cook the clip of the same name goes on', () => {
		const { clips } = start();
		clips.choose(0, { time: 1 });
		const next = moving();
		next.animations.reverse();
		clips.setModel(next);
		assert.deepEqual([clips.clip, clips.time], [1, 1]);
	});
	test('a clip that is gone leaves the rest pose', () => {
		const { clips } = start();
		clips.choose(0, { time: 1 });
		clips.setModel(model());
		assert.deepEqual([clips.clip, clips.time, clips.playing], [-1, 0, false]);
	});
	test('the source beside it moves with it', () => {
		const { clips } = start();
		clips.choose(0, { time: 1 });
		const source = moving();
		clips.addModel(source);
		assert.equal(source.getObjectByName('arm').position.x, 5);
	});
});

describe('parts', async () => {
	const { Tree, TreeSection } = await load('viewer/tree.js');
	const start = () => {
		const tree = new Tree(() => {});
		tree.setModel(model());
		return tree;
	};
	const shown = (tree) => tree.parts.map(({ object }) => object.visible);
	test('parts of one name are told apart by their number', () => assert.deepEqual(start().parts.map(({ path }) => path), ['/body', '/body/arm', '/body#1']));
	test('who hides a part hides what is below it', () => {
		const tree = start();
		tree.hide('/body', true);
		assert.deepEqual(shown(tree), [false, false, true]);
		tree.hide('/body', false);
		assert.deepEqual(shown(tree), [true, true, true]);
	});
	test('a part alone', () => {
		const tree = start();
		tree.isolate('/body/arm');
		assert.deepEqual(shown(tree), [false, true, false]);
	});
	test('a part is picked where a ray meets it, and unpicked by a second one', () => {
		const tree = start();
		const ray = new THREE.Raycaster(new THREE.Vector3(4, 0, 5), new THREE.Vector3(0, 0, -1));
		tree.pick(ray);
		assert.equal(tree.picked, '/body/arm');
		assert.equal(tree.pickedBox().getSize(new THREE.Vector3()).x, 2);
		tree.pick(ray);
		assert.equal(tree.picked, null);
	});
	test('a hidden part is not picked', () => {
		const tree = start();
		tree.hide('/body/arm', true);
		assert.equal(tree.pick(new THREE.Raycaster(new THREE.Vector3(4, 0, 5), new THREE.Vector3(0, 0, -1))), null);
	});
	test('choices stay for parts that are there after another cook', () => {
		const tree = start();
		tree.hide('/body#1', true);
		tree.isolate('/body/arm');
		const next = new THREE.Group();
		next.add(square('body'));
		tree.setModel(next);
		assert.deepEqual([[...tree.hidden], tree.alone], [[], null]);
	});
	test('a tree of one part is not drawn', () => {
		const tree = new Tree(() => {});
		const group = new THREE.Group();
		group.add(square('only'));
		tree.setModel(group);
		assert.equal(show(TreeSection, { tree }), '');
		assert.match(read(show(TreeSection, { tree: start() })), /^Parts \(3\) body Hide Isolate arm/);
	});
});

describe('UVs', async () => {
	const { measureUv } = await load('viewer/uv.js');
	const withUvs = (change) => {
		const group = new THREE.Group();
		const made = square('one');
		const { uv } = made.geometry.attributes;
		for (let i = 0; i < uv.count; i++) uv.setXY(i, ...change(uv.getX(i), uv.getY(i)));
		group.add(made);
		return group;
	};
	test('a square is covered once', () => assert.deepEqual(measureUv(withUvs((u, v) => [u, v]), 0).shared, 0));
	test('half of it is half', () => assert.ok(Math.abs(measureUv(withUvs((u, v) => [u / 2, v]), 0).used - 0.5) < 0.01));
	test('what lies twice is shared', () => {
		const group = withUvs((u, v) => [u, v]);
		group.add(square('two', 1));
		assert.ok(measureUv(group, 0).shared > 0.97);
	});
	test('coordinates that wrap around cover the square all the same', () => assert.ok(measureUv(withUvs((u, v) => [u + 3, v - 2]), 0).used > 0.97));
	test('the extent is told', () => {
		const { from, to } = measureUv(withUvs((u, v) => [u * 2 - 1, v]), 0);
		assert.deepEqual([from, to], [[-1, 0], [1, 1]]);
	});
	test('a picture that repeats too often is not counted', () => assert.equal(measureUv(withUvs((u, v) => [u * 1e4, v * 1e4]), 0).used, undefined));
});

describe('framing', async () => {
	const { boxOf, frameOf } = await load('viewer/frame.js');
	test('a box holds what is drawn, where it is', () => {
		const box = boxOf(model());
		assert.deepEqual([box.min.x, box.max.x, box.max.y], [-4.5, 5, 1]);
	});
	test('hidden parts are left out', () => {
		const group = model();
		group.children[0].visible = false;
		assert.equal(boxOf(group).max.x, -3.5);
	});
	test('each instance counts', () => {
		const group = new THREE.Group();
		const many = new THREE.InstancedMesh(new THREE.PlaneGeometry(1, 1), new THREE.MeshBasicMaterial(), 2);
		many.setMatrixAt(1, new THREE.Matrix4().makeTranslation(10, 0, 0));
		group.add(many);
		assert.equal(boxOf(group).max.x, 10.5);
	});
	test('the camera is where the model fills nine tenths of the view', () => {
		const group = new THREE.Group();
		group.add(square('one', 0, 2));
		group.updateMatrixWorld(true);
		const { from, to } = frameOf(group, new THREE.Vector3(0, 0, 1), 0.5, 1);
		assert.ok(Math.abs(1 / (from.z * 0.5) - 0.9) < 1e-6, `${from.z}`);
		assert.ok(to.length() < 1e-6);
	});
	test('nothing has no frame', () => assert.equal(frameOf(new THREE.Group(), new THREE.Vector3(0, 0, 1), 0.5, 1), null));
});

describe('looks', async () => {
	const { Looks, jointsOf, looksOf, makeBounds, makeGrid, makeNormals, takeMaterials } = await load('viewer/looks.js');
	const options = { levelOf: () => 1, joint: '' };
	test('a model is dressed, and gets its own materials back', () => {
		const [group, looks] = [model(), new Looks()];
		const own = group.children[0].material;
		looks.wear([group], 'clay', options);
		assert.notEqual(group.children[0].material, own);
		looks.undress();
		assert.equal(group.children[0].material, own);
	});
	test('one material serves all parts that look alike', () => {
		const [group, looks] = [model(), new Looks()];
		looks.wear([group], 'levels', options);
		assert.equal(group.children[0].material, group.children[1].material);
		looks.wear([group], 'levels', { ...options, levelOf: (object) => (object.name === 'arm' ? 0 : 1) });
		assert.notEqual(group.children[0].material, group.children[0].children[0].material);
	});
	test('an unknown look is the model\'s own', () => {
		const [group, looks] = [model(), new Looks()];
		looks.wear([group], 'no such', options);
		assert.equal(group.children[0].material.type, 'MeshStandardMaterial');
	});
	test('without normals the triangles show theirs', () => {
		const [group, looks] = [model(), new Looks()];
		group.children[0].geometry.deleteAttribute('normal');
		looks.wear([group], 'normals', options);
		assert.deepEqual([group.children[0].material.flatShading, group.children[1].material.flatShading], [true, false]);
	});
	test('only looks that the model has data for are offered', () => assert.deepEqual(['colors', 'weights', 'levels', 'density', 'uv2', 'clay'].map(looksOf(model())), [false, false, true, true, false, true]));
	test('joints are named once', () => {
		const group = model();
		const bone = Object.assign(new THREE.Bone(), { name: 'hip' });
		for (const child of group.children) child.skeleton = new THREE.Skeleton([bone]);
		assert.deepEqual(jointsOf(group), ['hip']);
	});
	test('a box of each mesh, and one around all', () => assert.equal(makeBounds(model(), new THREE.Box3(new THREE.Vector3(), new THREE.Vector3(1, 1, 1))).children.length, 4));
	test('lines of normals only where there are some', () => {
		const group = model();
		assert.equal(makeNormals(group, new THREE.Box3()).children.length, 3);
		group.traverse((object) => object.geometry?.deleteAttribute('normal'));
		assert.equal(makeNormals(group, new THREE.Box3()), null);
	});
	test('a grid lies below the model', () => {
		const grid = makeGrid(new THREE.Box3(new THREE.Vector3(-1, 2, -1), new THREE.Vector3(1, 3, 1)), '#888');
		assert.deepEqual(grid.position.toArray(), [0, 2, 0]);
	});
	test('what is freed with a model are copies', () => {
		const group = model();
		const own = group.children[0].material;
		assert.ok(takeMaterials(group).includes(own));
		assert.notEqual(group.children[0].material, own);
	});
});

describe('links to a view', async () => {
	const { readState, setState } = await load('viewer/state.js');
	const { readPlace, writePlace } = await load('viewer/place.js');
	const { Tree } = await load('viewer/tree.js');
	const { Clips } = await load('viewer/clips.js');
	/* As much of a viewer as a state needs; each setter notes its value where readState looks for it. */
	const view = () => {
		const group = model();
		group.userData.variants = ['red', 'blue'];
		const tree = new Tree(() => {});
		tree.setModel(group);
		const clips = new Clips(() => {});
		clips.setModel(group);
		const stage = { wireframe: false, shadow: null, through: null, controls: { autoRotate: false }, at: { from: [1, 2, 3], to: [0, 0, 0] }, where: () => stage.at, place: ({ from, to }) => (stage.at = { from, to }) };
		const made = { lod: 0, look: 'material', variant: '', joint: '', byDistance: null, gridOff: false, levels: [{}, {}], light: { surroundings: 'room', exposure: 1, ground: 'page' }, helpers: {}, cameras: [], model: group, tree, clips, stage, changes: { tell() {} },
			setLod: (lod) => (made.lod = lod), setLook: (look) => (made.look = look), setVariant: (name) => (made.variant = name), setByDistance: (on) => (made.byDistance = on || null), setGrid: (on) => (made.gridOff = !on), setLight: (change) => Object.assign(made.light, change),
			setWireframe: (on) => (stage.wireframe = on), setShadow: (on) => (stage.shadow = on || null), setTurning: (on) => (stage.controls.autoRotate = on), lookThrough: (index) => (stage.through = made.cameras[index] ?? null) };
		for (const name of ['Bounds', 'Normals', 'Tangents', 'Skeleton']) made[`set${name}`] = (on) => (made.helpers[name.toLowerCase()] = on || null);
		return made;
	};
	const chosen = { level: 1, look: 'clay', wireframe: true, bounds: true, gridOff: true, shadow: true, exposure: 2, surroundings: 'sun', ground: 'black', variant: 1, hidden: [2], alone: 1 };
	for (const [name, value] of Object.entries(chosen)) test(`a link keeps ${name}`, () => {
		const first = view();
		setState(first, { ...readState(first), [name]: value });
		const second = view();
		setState(second, readPlace(writePlace(readState(first))));
		assert.deepEqual(readState(second), readState(first));
		assert.deepEqual(readState(second)[name], value);
	});
	test('a state sets everything back', () => {
		const made = view();
		const before = readState(made);
		setState(made, { ...before, ...chosen });
		setState(made, before);
		assert.deepEqual(readState(made), before);
	});
	test('what the model does not have is left out', () => {
		const made = view();
		setState(made, { ...readState(made), level: 9, look: 'no such', clip: 4, variant: 7, joint: 3, hidden: [99], alone: 50, surroundings: 'moon' });
		assert.deepEqual(readState(made), readState(view()));
	});
});

describe('keys of the view', async () => {
	const { keys, press } = await load('viewer/keys.js');
	const { text } = await load('app/text.js');
	const event = (key, change = {}) => ({ key, preventDefault() { this.taken = true; }, stopPropagation() {}, ...change });
	const view = () => ({ model: {}, asked: [], full: false, stage: { through: null, controls: { autoRotate: false } }, clips: { step: (by) => view.last.asked.push(by) }, fit() { this.asked.push('fit'); }, setFull(on) { this.asked.push(on); }, setTurning(on) { this.asked.push(on); } });
	test('a key acts, and goes no further', () => {
		const [made, pressed] = [view(), event('f')];
		press(made, pressed);
		assert.deepEqual([made.asked, pressed.taken], [['fit'], true]);
	});
	test('a browser\'s own keys stay its own', () => {
		const made = view();
		for (const held of ['ctrlKey', 'metaKey', 'altKey']) press(made, event('f', { [held]: true }));
		press(made, event('x'));
		assert.deepEqual(made.asked, []);
	});
	test('nothing acts before there is a model', () => {
		const made = { ...view(), model: null };
		press(made, event('f'));
		assert.deepEqual(made.asked, []);
	});
	test('each key is in the list of keys, and each of that list acts', () => {
		const listed = text.keys.lists.view[1].flatMap(([each]) => each.split(' ')).filter((key) => key !== 'Esc');
		const names = { '←': 'ArrowLeft', '→': 'ArrowRight', '↑': 'ArrowUp', '↓': 'ArrowDown' };
		assert.deepEqual(listed.filter((key) => !keys[names[key] ?? key] && !keys[key.toLowerCase()]), []);
		assert.deepEqual(Object.keys(keys).filter((key) => key !== '=' && !listed.includes(key.toUpperCase()) && !listed.includes(Object.keys(names).find((each) => names[each] === key))), []);
	});
});

describe('messages on the picture', async () => {
	const { Messages } = await load('viewer/messages.js');
	test('an error of the API has its place in the file', () => {
		const made = new Messages();
		made.showError({ code: 'x', message: 'bad', hint: 'mend it', location: { file: 'a.gltf', line: 3, column: 7 } });
		assert.deepEqual(made.fault, { title: 'The last save could not be cooked', message: 'bad', hint: 'mend it', place: 'a.gltf:3:7' });
		made.hideError();
		assert.equal(made.fault, null);
	});
	test('one of the client has a title of its own', () => {
		const made = new Messages();
		made.showError({ message: 'no answer' }, 'Not loaded');
		assert.deepEqual([made.fault.title, made.fault.place], ['Not loaded', '']);
	});
	test('who follows is told', () => {
		const made = new Messages();
		let told = 0;
		const stop = made.changes.follow(() => told++);
		made.tell('one');
		stop();
		made.tell('two');
		assert.equal(told, 1);
	});
});

describe('findings', async () => {
	const { around, markFinding } = await load('viewer/findings.js');
	test('a mesh is found by its name, on every node that shows it', () => assert.equal(markFinding(model(), { kind: 'mesh', name: 'square' }).box.min.x, -4.5));
	test('places are marked where they are in the world', () => assert.deepEqual(markFinding(model(), { kind: 'mesh', name: 'large', places: [[0.5, 0, 0]] }).box.min.toArray(), [4.5, 0, 0]));
	test('an object that is gone is not marked', () => assert.equal(markFinding(model(), { kind: 'mesh', name: 'gone' }), null));
	test('a finding about all is about all', () => assert.equal(markFinding(model(), { kind: 'model', name: '' }).box.max.x, 5));
	test('a single place is seen with what is around it', () => {
		const { attributes: { position } } = around(new THREE.Box3(new THREE.Vector3(), new THREE.Vector3()), new THREE.Box3(new THREE.Vector3(), new THREE.Vector3(10, 0, 0))).geometry;
		assert.ok(position.array.some((value) => Math.abs(Math.abs(value) - 0.8) < 1e-6));
	});
});

describe('numbers of a model', async () => {
	const { lengths, measureLevels, morphsOf } = await load('viewer/panel.js');
	for (const [values, words] of [[[0.04264, 0.0629, 0.0276], '4.26 × 6.29 × 2.76 cm'], [[12.5, 0, 3], '12.5 × 0 × 3.00 m'], [[0.0005], '0.500 mm'], [[1234.5, 1], '1,235 × 1.00 m']])
		test(`lengths in a unit that suits the largest: ${words}`, () => assert.equal(lengths(values).replace('\u00a0', ' '), words));
	test('costs of a level count each instance, and the last level where a mesh has fewer', () => {
		const group = model();
		const lod = (index_count, vertex_prefix, error) => ({ index_count, vertex_prefix, error, index_section: 0 });
		const rows = { LODS: [lod(6, 4, 0), lod(3, 3, 0.5), lod(6, 4, 0)] };
		group.userData.cooked.meshes = { find: (type) => (type === 'LODS' ? { type } : undefined), row: ({ type }, i) => rows[type][i], sections: [{ stride: 2 }] };
		group.userData.cooked.geometry.meshes = [{ lod_first: 0, lod_count: 2, topology: 0, layout: 0xffffffff }, { lod_first: 2, lod_count: 1, topology: 0, layout: 0xffffffff }];
		assert.deepEqual(measureLevels(group).map(({ triangles, vertices, error, copies }) => [triangles, vertices, error, copies]), [[6, 12, 0, true], [4, 10, 0.5, true]]);
	});
	test('a morph target of several meshes is one slider', () => {
		const group = model();
		for (const child of group.children) Object.assign(child, { morphTargetDictionary: { smile: 0 }, morphTargetInfluences: [0.25] });
		const [smile] = morphsOf(group);
		smile.set(0.75);
		assert.deepEqual([smile.name, smile.before, ...group.children.map(({ morphTargetInfluences: [value] }) => value)], ['smile', 0.25, 0.75, 0.75]);
	});
	const { texelsOf } = await load('viewer/density.js');
	test('texels of a picture count as often as it repeats', () => {
		const map = Object.assign(new THREE.Texture({ width: 8, height: 4 }), {});
		map.repeat.set(2, 3);
		assert.equal(texelsOf({ map }), 192);
		assert.equal(texelsOf({ map: null }), 0);
	});
	const { makeRuler } = await load('viewer/ruler.js');
	test('a ruler is a point, then a line', () => assert.deepEqual([1, 2].map((count) => makeRuler(Array.from({ length: count }, () => new THREE.Vector3())).children.length), [1, 2]));
});

describe('dropped files', async () => {
	const { whyNot, watchDrops } = await load('viewer/drop.js');
	const words = { dropGlb: 'no', dropSecure: 'unsafe' };
	test('a model is taken, anything else is not', () => assert.deepEqual([{ name: 'a.GLB' }, { name: 'a.fbx' }, undefined].map((file) => whyNot(file, words)), [null, 'no', 'no']));
	test('only files are taken, until the signal', () => {
		const stop = new AbortController();
		const host = Object.assign(new EventTarget(), { classList: { toggle() {} } });
		const took = [];
		watchDrops(host, (file) => took.push(file), stop.signal);
		const drop = (types, files) => host.dispatchEvent(Object.assign(new Event('drop', { cancelable: true }), { dataTransfer: { types, files } }));
		drop(['text/plain'], []);
		drop(['Files'], ['one']);
		stop.abort();
		drop(['Files'], ['two']);
		assert.deepEqual(took, ['one']);
	});
});

describe('channels', async () => {
	const { channelNames, makeChannel, makeWeights } = await load('viewer/tint.js');
	const own = new THREE.MeshStandardMaterial({ roughness: 0.3, metalness: 0.7, color: 0x204060 });
	test('each channel is shown without light', () => assert.deepEqual(channelNames.map((name) => makeChannel(name, own).type), channelNames.map(() => 'MeshBasicMaterial')));
	test('a number is grey, a colour is itself', () => {
		assert.ok(Math.abs(makeChannel('roughness', own).color.r - 0.3) < 1e-6);
		assert.equal(makeChannel('base', own).color.getHex(), 0x204060);
	});
	test('the program of each joint is its own', () => assert.notEqual(makeWeights(0).customProgramCacheKey(), makeWeights(1).customProgramCacheKey()));
});

describe('undo', async () => {
	const { Steps } = await load('viewer/undo.js');
	const steps = (...words) => {
		const made = new Steps();
		for (const word of words) made.note(word, word);
		return made;
	};
	test('there is nothing to undo at first', () => assert.deepEqual([steps('a').canUndo, steps('a').canRedo, steps('a').go(-1)], [false, false, null]));
	test('steps are gone back and forth', () => {
		const made = steps('a', 'b', 'c');
		assert.deepEqual([made.go(-1), made.go(-1), made.go(-1), made.go(1), made.go(1), made.go(1)], ['b', 'a', null, 'b', 'c', null]);
	});
	test('what is noted twice is one step', () => assert.deepEqual([steps('a', 'b', 'b').go(-1), steps('a', 'a').canUndo], ['a', false]));
	test('a new step forgets those that were undone', () => {
		const made = steps('a', 'b');
		made.go(-1);
		made.note('c', 'c');
		assert.deepEqual([made.canRedo, made.go(-1)], [false, 'a']);
	});
	test('a hundred steps are kept', () => {
		const made = steps(...Array.from({ length: 150 }, (_, i) => `${i}`));
		let last = null;
		for (let word = made.go(-1); word !== null; word = made.go(-1)) last = word;
		assert.equal(last, '50');
	});
});

describe('saved views', async () => {
	const { savedViews, saveView } = await load('viewer/saved.js');
	test('a view is kept under its name, for its asset', () => {
		saveView('s1', 'front', '1*2*3');
		assert.deepEqual([savedViews('s1'), savedViews('s2')], [[{ name: 'front', word: '1*2*3' }], []]);
	});
	test('one of the same name is replaced, and stands first', () => {
		saveView('s3', 'front', 'a');
		saveView('s3', 'back', 'b');
		assert.deepEqual(saveView('s3', 'front', 'c'), [{ name: 'front', word: 'c' }, { name: 'back', word: 'b' }]);
	});
	test('a view is forgotten, and its asset with the last one', () => {
		saveView('s4', 'front', 'a');
		saveView('s4', 'front', '');
		assert.ok(!('s4' in JSON.parse(localStorage.getItem('hob-views'))));
	});
	test('what nobody can read does not stop the view', () => {
		localStorage.setItem('hob-views', '{');
		assert.deepEqual(savedViews('s1'), []);
		localStorage.removeItem('hob-views');
	});
});

describe('versions to compare', async () => {
	const { othersOf } = await load('viewer/versions.js');
	const version = (at, meshes, report = 'r') => ({ at, outputs: [...['materials', 'scene'].map((name) => ({ name, hash: 'x' })), { name: 'meshes', hash: meshes }, { name: 'report', hash: report }] });
	test('those with other outputs than the newest, each once', () => assert.deepEqual(othersOf([version('5', 'b'), version('4', 'b', 'other report'), version('3', 'a'), version('2', 'a'), { at: '1', outputs: [] }]).map(({ at }) => at), ['3']));
	test('a version that came back is no other', () => assert.deepEqual(othersOf([version('3', 'a'), version('2', 'b'), version('1', 'a')]).map(({ at }) => at), ['2']));
});

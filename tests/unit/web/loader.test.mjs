/* web/client/hob-three.js, HobLoader: which outputs it requests. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { HobLoader } from '../../../web/client/hob-three.js';

/* The requests to a daemon whose asset has these outputs; null: they are unknown. The bytes are not a model. */
async function asked(outputs) {
	const bytes = new TextEncoder().encode('no pack');
	const hash = createHash('sha256').update(bytes).digest('hex');
	const log = [];
	globalThis.fetch = async (url) => {
		const at = new URL(url);
		log.push(at.searchParams.get('output') ?? at.pathname);
		if (at.pathname.startsWith('/api/v1/assets'))
			return outputs ? Response.json({ items: [{ name: 'art/a.glb', outputs: outputs.map((name) => ({ name })) }] })
				: Response.json({ detail: 'not for you' }, { status: 403 });
		if (at.searchParams.get('output') === 'animations' && !outputs?.includes('animations'))
			return Response.json({ detail: 'none' }, { status: 404 });
		return new Response(bytes, { headers: { ETag: `"${hash}"`, 'Cook-Rev': '1', 'Cook-State': 'fresh' } });
	};
	await assert.rejects(new HobLoader().setPath('http://127.0.0.1:7780/a/').loadAsync('art/a.glb'));
	return log.filter((output) => !output.startsWith('/')).sort();
}

test('a still model is not asked for animations, which would be a 404', async () => {
	assert.deepEqual(await asked(['meshes', 'materials', 'scene', 'textures/0']), ['materials', 'meshes', 'scene']);
});

test('animations are fetched where there are any, or where nobody says', async () => {
	assert.deepEqual(await asked(['meshes', 'materials', 'scene', 'animations']), ['animations', 'materials', 'meshes', 'scene']);
	assert.deepEqual(await asked(null), ['animations', 'materials', 'meshes', 'scene']);
});

/**
 * vite-plugin-hob.js - a daemon of Hob behind Vite's development server.
 *
 *     // vite.config.js
 *     import { hob } from 'hob-client/vite';
 *     export default { plugins: [hob({ url: 'http://127.0.0.1:7780' })] };
 *
 *     // in the page, without --cors-origin: the daemon is at /hob
 *     const loader = new HobLoader().setPath('/hob/a/');
 *
 * It starts no daemon: while there is none, requests to /hob get 503 with the reason. A model that cannot be cooked is
 * shown in Vite's own overlay, with file, line and hint, until its next good save. `vite build` does not use it.
 */
import { HobClient } from './hob.js';

const path = '/hob';
const { env } = /** @type {{process: {env: Record<string, string>}}} */ (/** @type {unknown} */ (globalThis)).process;

/** 503 with the reason while there is no daemon.  @param {any} proxy  @param {{target: string}} options */
function answerForAbsent(proxy, { target }) {
	/** @param {any} error  @param {unknown} _request  @param {any} response */
	const answer = (error, _request, response) => {
		const away = `no daemon answers at ${target}; start one with 'hob serve DIR'`;
		const detail = error.code === 'ECONNREFUSED' ? away : error.message;
		response.writeHead?.(503, { 'Content-Type': 'application/problem+json' });
		response.end(JSON.stringify({ title: 'Hob is away', status: 503, detail }));
	};
	proxy.on('error', answer);
}

/**
 * @param {{url?: string, token?: string, overlay?: boolean, match?: string}} [options]
 * the daemon (or $HOB_URL); its token (or $HOB_TOKEN); false: no overlay; a glob of the assets whose errors are shown
 */
export function hob({
	url = env.HOB_URL || 'http://127.0.0.1:7780', token = env.HOB_TOKEN, overlay = true, match = '**',
} = {}) {
	const target = /^[a-z]+:\/\//i.test(url) ? url : `http://${url}`;
	const broken = new Map(); // asset: error
	return {
		name: 'hob',
		apply: 'serve',
		config: () => ({
			optimizeDeps: { exclude: ['hob-client'] },
			server: {
				proxy: {
					[path]: {
						target,
						changeOrigin: true,
						headers: token ? { Authorization: `Bearer ${token}` } : {},
						rewrite: (/** @type {string} */ address) => address.slice(path.length),
						configure: answerForAbsent,
					},
				},
			},
		}),
		/** @param {any} server */
		configureServer(server) {
			if (!overlay) return;
			const show = () => {
				const [first] = broken;
				/* An empty update takes the overlay away. */
				if (!first) return server.ws.send({ type: 'update', updates: [] });
				const [asset, { message, hint, location }] = first;
				const file = location?.file ?? asset;
				server.ws.send({
					type: 'error',
					err: {
						message: broken.size > 1 ? `${message} (and ${broken.size - 1} more)` : message,
						stack: '', plugin: 'hob', id: file,
						frame: hint ? `-> ${hint}` : undefined,
						loc: location?.line ? { file, line: location.line, column: location.column ?? 0 } : undefined,
					},
				});
			};
			const stop = new HobClient(target, { token }).watch(match, ({ kind, data }) => {
				if (kind !== 'asset') return;
				const was = broken.delete(data.asset);
				if (data.error && data.standing === 'broken') broken.set(data.asset, data.error);
				if (was || broken.has(data.asset)) show();
			});
			server.ws.on('connection', () => broken.size > 0 && show());
			server.httpServer?.on('close', stop);
		},
	};
}

export default hob;

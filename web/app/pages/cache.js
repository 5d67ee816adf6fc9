import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { text } from '../text.js';
import { get, post } from '../api.js';
import { ago, duration, limitSize, number, percent, size, sizeBeside } from '../format.js';
import { useElement, useResource, useTitle } from '../hooks.js';
import { changesCounts } from '../shell.js';
import { ActionButton, AssetName, Icon, Panel, Resource, Time } from '../ui.js';

/** @typedef {NonNullable<Api.Stats['by_output']>[number]} Kind */

const words = text.cache;
/** @param {{ value: Page.Children, label: string, note: Page.Children }} props */
const Tile = ({ value, label, note }) => html`<div class="count"><b>${value}</b>${label}
		${note && html`<br /><small>${note}</small>`}</div>`;

/** @param {{ stats: Api.Stats }} props */
function Tiles({ stats }) {
	const { cache, cooks } = stats;
	if (!cache) return html`<p class="quiet">${words.noFigures}</p>`;
	const asked = cooks.hits + cooks.misses;
	return html`<div class="counts"><${Tile} value=${sizeBeside(cache.bytes, cache.limit_bytes)} label=${words.used}
			note=${cache.limit_bytes ? words.ofLimit(limitSize(cache.limit_bytes)) : words.noLimit} />
		<${Tile} value=${size(cache.disk_free_bytes)} label=${words.free} />
		<${Tile} value=${asked ? percent(cooks.hits / asked) : '–'} label=${words.hitRate}
			note=${words.hitsOf(number(cooks.hits), number(asked))} />
		<${Tile} value=${duration(cooks.saved_ms)} label=${words.saved} note=${words.savedNote} />
		<${Tile} value=${duration(cache.oldest_idle_s * 1000)} label=${words.oldest}
			note=${cache.limit_bytes > 0 && words.oldestNote} />
		<${Tile} value=${size(cache.evicted_bytes)} label=${words.evicted} />
		<${Tile} value=${number(cache.damaged_blobs)} label=${words.damaged} /></div>
		${cache.limit_bytes > 0 && html`<meter class="gauge" min="0" max=${cache.limit_bytes} value=${cache.bytes}
				aria-label=${words.gauge} />`}`;
}

/**
 * The upstream: its state, and transfers in both directions.
 * @param {{ upstream: NonNullable<Api.Upstream> }} props
 */
function Upstream({ upstream }) {
	const up = upstream.state === 'up';
	return html`<${Panel} id="upstream" title=${upstream.farm ? words.farm : words.upstream}><div class="body stack">
		<p class="state tone-${up ? 'good' : 'bad'}"><${Icon} name=${up ? 'fresh' : 'failed'} />
			${words.upstreamStates[upstream.state]}
			${!up && upstream.since && html` <${Time} at=${upstream.since} />`}</p>
		<p class="anywhere"><code>${upstream.url}</code>
			${upstream.reason && html`<br /><small>${upstream.reason}</small>`}</p></div>
		<div class="counts"><${Tile} value=${upstream.asked ? percent(upstream.found / upstream.asked) : '–'}
				label=${words.foundThere} note=${words.hitsOf(number(upstream.found), number(upstream.asked))} />
		<${Tile} value=${number(upstream.fetched)} label=${words.fetched} note=${size(upstream.fetched_bytes)} />
		<${Tile} value=${number(upstream.pushed)} label=${words.pushed}
			note=${upstream.push ? size(upstream.pushed_bytes) : words.readOnly} />
		<${Tile} value=${number(upstream.outbox)} label=${words.outbox} />
		${upstream.farm && html`<${Tile} value=${number(upstream.claimed)} label=${words.claimed}
				note=${words.claimedNote} />
		<${Tile} value=${number(upstream.waits)} label=${words.waits} note=${words.waitsNote} />`}
		${upstream.refused + upstream.conflicts > 0
				&& html`<${Tile} value=${number(upstream.refused + upstream.conflicts)} label=${words.refused}
					note=${words.refusedNote} />`}</div></${Panel}>`;
}

/* Machines of the farm, according to their last heartbeats. */
function Machines() {
	const farm = useResource('/api/v1/farm', { every: 5000 });
	const { machines = [], age_ms: age } = farm.data ?? {};
	useEffect(() => {
		if (!farm.data || age !== null) return undefined;
		const again = setTimeout(farm.reload, 1000);
		return () => clearTimeout(again);
	}, [farm.data]);
	return machines.length > 0 && html`<${Panel} id="machines" title=${words.machines}>
		<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">${words.machine}</th>
			<th scope="col">${words.seen}</th><th scope="col" class="num">${words.cooking}</th>
			<th scope="col" class="num">${words.cooked}</th><th scope="col" class="num">${words.fetched}</th>
			<th scope="col" class="num">${words.outbox}</th>
			<th scope="col" class="wide">${words.version}</th></tr></thead><tbody>
		${machines.map((machine) => html`<tr><td class="anywhere">${machine.name}${machine.here
				&& html` <small>${words.thisMachine}</small>`}${machine.role === 'worker'
				&& html` <small>${words.worker}</small>`}</td>
			<td>${ago(Date.now() - machine.seen_seconds_ago * 1000)}</td>
			<td class="num">${number(machine.cooking)}</td><td class="num">${number(machine.cooked)}</td>
			<td class="num">${number(machine.fetched)}</td><td class="num">${number(machine.outbox)}</td>
			<td class="wide">${machine.version}</td></tr>`)}</tbody></table></div></${Panel}>`;
}

/** @param {{ id: number }} props */
function Task({ id }) {
	const job = useResource(`/api/v1/jobs/${id}`, { on: (event) => event.kind === 'job', every: 1000 });
	return html`<${Resource} from=${job}>${(data) => {
		if (data.state !== 'done') return html`<p role="status" class="task"><span class="spinner" aria-hidden="true" />
				${words.working[data.kind] ?? ''} ${data.total > 0
					&& html`<progress max=${data.total} value=${data.checked}
						aria-label=${words.working[data.kind]} /> ${number(data.checked)} / ${number(data.total)}`}
						</p>`;
		const bad = data.result === 'failed' || data.damaged > 0;
		return html`<p role="status" class="task tone-${bad ? 'bad' : 'good'}">
				<${Icon} name=${bad ? 'failed' : 'fresh'} />${data.error ? data.error.message : data.kind === 'verify'
					? words.verified(number(data.checked ?? 0), data.damaged ?? 0) : data.dry_run
					? words.wouldFree(size(data.freed_bytes ?? 0)) : words.freed(size(data.freed_bytes ?? 0))}</p>`;
	}}</${Resource}>`;
}

/**
 * Follows a started job to its end.
 * @param {string} path
 * @param {object} body
 */
async function finished(path, body) {
	const { job } = await post(path, body);
	for (;;) {
		const state = await get(`/api/v1/jobs/${job}`);
		if (state.state === 'done') return state;
		await new Promise((resolve) => setTimeout(resolve, 200));
	}
}

/**
 * Tells how many bytes would be deleted before deleting them.
 * @param {{ begun: (job: number) => void }} props
 */
function Trim({ begun }) {
	const [bytes, ask] = useState(/** @type {number | null} */ (null));
	/** @type {{ current: HTMLDialogElement }} */
	const dialog = useElement();
	useEffect(() => void (bytes !== null && dialog.current.showModal()), [bytes]);
	const look = async () => {
		const { freed_bytes: freed = 0 } = await finished('/api/v1/gc', { dry_run: true });
		if (!freed) return words.trimNothing;
		ask(freed);
		return '';
	};
	const trim = async () => {
		ask(null);
		begun((await post('/api/v1/gc', {})).job);
	};
	return html`<${ActionButton} icon="close" run=${look}>${words.trim}…</${ActionButton}>
		${bytes !== null && html`<dialog ref=${dialog} aria-labelledby="trim-ask" onClose=${() => ask(null)}>
				<p id="trim-ask">${words.trimAsk(size(bytes))}</p>
			<div class="pickers"><button type="button" class="primary"
					onClick=${trim}>${words.trimYes(size(bytes))}</button>
				<button type="button" autofocus onClick=${() => ask(null)}>${text.cancel}</button></div></dialog>`}`;
}

function Care() {
	const [job, setJob] = useState(/** @type {number | null} */ (null));
	/**
	 * @param {string} path
	 * @param {object} body
	 */
	const start = (path, body) => async () => setJob((await post(path, body)).job);
	return html`<${Panel} id="care" title=${words.care}>
			<div class="body stack"><p class="quiet">${words.careText}</p><div class="pickers">
		<${ActionButton} icon="fresh" run=${start('/api/v1/verify', {})}>${words.verify}</${ActionButton}>
		<${ActionButton} icon="search" run=${start('/api/v1/gc', { dry_run: true })}>${words.tryTrim}</${ActionButton}>
		<${Trim} begun=${setJob} /></div>${job !== null && html`<${Task} key=${job} id=${job} />`}</div></${Panel}>`;
}

/** @param {{ kinds: Kind[] }} props */
function Kinds({ kinds }) {
	const total = kinds.reduce((sum, kind) => sum + kind.bytes, 0) || 1;
	return html`<div class="scroll" tabindex="0">
			<table><thead><tr><th scope="col">${words.kind}</th><th scope="col" class="num">${words.files}</th>
				<th scope="col" class="num">${words.size}</th><th scope="col">${words.share}</th></tr></thead><tbody>
		${[...kinds].sort((a, b) => b.bytes - a.bytes)
				.map((kind) => html`<tr><td>${words.kindNames[kind.name] ?? kind.name}</td>
					<td class="num">${number(kind.count)}</td><td class="num">${size(kind.bytes)}</td>
					<td><span class="share" title=${percent(kind.bytes / total)}>
						<span style=${{ width: `${(kind.bytes / total) * 100}%` }} /></span></td></tr>`)}</tbody>
						</table></div>`;
}

/**
 * The kind of output that has most of an asset's bytes.
 * @param {Api.Asset} asset
 */
function mostly(asset) {
	const sums = new Map();
	for (const { name, size: bytes } of asset.outputs) sums.set(name.split(/[/.]/)[0],
		(sums.get(name.split(/[/.]/)[0]) ?? 0) + bytes);
	const [kind] = [...sums].sort((a, b) => b[1] - a[1])[0] ?? [];
	return words.kindNames[kind] ?? kind;
}

/** @param {{ items: Api.Asset[] }} props */
function Largest({ items }) {
	const largest = items[0]?.bytes.cooked || 1;
	return html`<div class="scroll" tabindex="0">
			<table><thead><tr><th scope="col">${words.asset}</th><th scope="col" class="num">${words.size}</th>
				<th scope="col">${words.mostly}</th><th scope="col" class="wide">${words.share}</th></tr></thead>
				<tbody>${items.map((asset) => html`<tr>
					<td class="anywhere"><${AssetName} name=${`${asset.root}/${asset.path}`} /></td>
		<td class="num">${size(asset.bytes.cooked)}</td><td class="quiet">${mostly(asset)}</td>
		<td class="wide"><span class="share"><span style=${{ width: `${(asset.bytes.cooked / largest) * 100}%` }} />
			</span></td></tr>`)}</tbody></table></div>`;
}

/** @param {Kind[] | undefined} kinds */
const filled = (kinds) => (kinds ?? []).filter((kind) => kind.count > 0);

export function Cache() {
	useTitle(words.title);
	const stats = useResource('/api/v1/stats?outputs=1', { on: changesCounts, every: 10000 });
	const top = useResource('/api/v1/assets?sort=-bytes&limit=50&fields=id,path,root,bytes,outputs',
		{ on: (event) => event.kind === 'asset' });
	return html`<div class="head"><h1>${words.title}</h1></div><div class="stack">
		<${Resource} from=${stats}>${(data) => html`<${Tiles} stats=${data} />`}</${Resource}>
		${stats.data?.upstream && html`<${Upstream} upstream=${stats.data.upstream} />`}
		${stats.data?.upstream?.farm && html`<${Machines} />`}<${Care} />
		${stats.data && top.data && !top.data.items.length && !filled(stats.data.by_output).length
				&& html`<p class="quiet">${words.nothing}</p>`}
		<div class="grid">${filled(stats.data?.by_output).length > 0
				&& html`<${Panel} id="kinds" title=${words.byKind}>
					<${Kinds} kinds=${filled(stats.data?.by_output)} /></${Panel}>`}
		${top.data?.items.length === 0 ? '' : html`<${Panel} id="largest" title=${words.largest}>
				<${Resource} from=${top}>${(/** @type {Api.AssetPage} */ data) => html`<${Largest}
					items=${data.items.filter(({ bytes }) => bytes.cooked > 0)} />`}</${Resource}></${Panel}>`}
				</div></div>`;
}

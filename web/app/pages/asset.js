import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { text } from '../text.js';
import * as api from '../api.js';
import { listen } from '../live.js';
import { useResource, useTitle } from '../hooks.js';
import { Empty, Loading, Resource, State, stateOf } from '../ui.js';

function Viewer({ asset }) {
	const place = useRef(null);
	const [error, setError] = useState(null);
	useEffect(() => {
		const stop = new AbortController();
		setError(null);
		import('../../viewer/viewer.js')
			.then(({ mountViewer }) => stop.signal.aborted || mountViewer(place.current, { asset, events: { listen }, api, signal: stop.signal }))
			.catch((reason) => stop.signal.aborted || setError(reason));
		return () => stop.abort();
	}, [asset.id]);
	return html`<div class="viewer panel"><div class="canvas" ref=${place}></div>${error && html`<p class="quiet">${error.message}</p>`}</div>`;
}

export function Asset({ below, query }) {
	useTitle(below.split('/').at(-1));
	const found = useResource(query.id ? null : `/api/v1/assets${api.query({ path: below, limit: 1, fields: 'id' })}`, { on: (event) => event.kind === 'asset' && event.data.asset === below });
	const id = query.id ?? found.data?.items[0]?.id;
	const asset = useResource(id && `/api/v1/assets/${id}`, { on: (event) => event.kind === 'asset' && event.data.id === id });
	if (!id && found.data) return html`<${Empty} icon="search" title=${text.asset.notFound}><p>${text.asset.notFoundDetail} <a href="/ui/assets?q=${encodeURIComponent(below.split('/').at(-1))}">${below.split('/').at(-1)}</a></p></${Empty}>`;
	if (!id) return html`<${Loading} />`;
	return html`<${Resource} from=${asset}>${(data) => html`<div class="head"><h1>${data.path}</h1><${State} state=${stateOf(data)} /></div><${Viewer} asset=${data} />`}</${Resource}>`;
}

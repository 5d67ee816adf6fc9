/* Where files belong that are dropped on a page. Only the picture of a model takes one itself. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { text } from './text.js';
import { number } from './format.js';
import { useResource } from './hooks.js';
import { CopyButton, Icon } from './ui.js';

const words = text.drop;
const SAMPLE = `o sample\nv -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nv -1 2 -1\nv 1 2 -1\nv 1 2 1\nv -1 2 1\nf 1 2 3 4
f 8 7 6 5\nf 1 5 6 2\nf 2 6 7 3\nf 3 7 8 4\nf 4 8 5 1\n`;
const COMMITS = '~commits', NAMED = 5;

/** The folders to copy files to: all watched ones but repositories. */
function Paths() {
	const roots = useResource('/api/v1/roots').data?.items ?? [];
	const git = new Set(roots.filter(({ name }) => name.endsWith(COMMITS))
		.flatMap(({ name }) => [name, name.slice(0, -COMMITS.length)]));
	return roots.filter(({ name }) => !git.has(name)).map(({ name, path }) => html`<p key=${name} class="anywhere">
		<code>${path}</code> <${CopyButton} value=${path} label=${text.fault.copyPath} /></p>`);
}

/** The way to a first model: where files go, and one to begin with. */
export const FirstModel = () => html`<p>${text.overview.empty}</p><${Paths} />
	<p><a class="button" download="sample.obj" href="data:text/plain,${encodeURIComponent(SAMPLE)}">
		<${Icon} name="download" />${words.sample}</a></p><p>${words.zone}</p>`;

/** Says what to do with a file that was dropped beside a picture; the browser would leave the page for it. */
export function Dropped() {
	const [title, set] = useState('');
	useEffect(() => {
		const ends = new AbortController();
		/** @param {boolean} on */
		const over = (on) => document.body.classList.toggle('dropping', on);
		/** @param {(event: DragEvent) => void} run */
		const files = (run) => (/** @type {DragEvent} */ event) => {
			if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return over(false);
			event.preventDefault();
			run(event);
		};
		const { signal } = ends;
		addEventListener('dragover', files(() => over(true)), { signal });
		addEventListener('dragleave', (event) => !event.relatedTarget && over(false), { signal });
		addEventListener('drop', files(({ dataTransfer }) => {
			over(false);
			const all = [...dataTransfer?.files ?? []].map(({ name }) => name);
			const more = all.length > NAMED && number(all.length - NAMED);
			set(words.title(all.slice(0, NAMED).join(', '), more || ''));
		}), { signal });
		return () => ends.abort();
	}, []);
	return title && html`<section class="banner dropped" role="status"><${Icon} name="file" />
		<div><strong>${title}</strong><p>${words.todo}</p><${Paths} /><p>${words.picture}</p></div>
		<button type="button" class="small" onClick=${() => set('')}>${text.close}</button></section>`;
}

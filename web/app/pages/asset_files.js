import { html } from 'htm/preact';
import { text } from '../text.js';
import { percent, size } from '../format.js';
import { snippets } from '../snippets.js';
import { BundleButton, CopyButton, Icon, Panel } from '../ui.js';

const words = text.asset;
const order = ['meshes', 'materials', 'scene', 'animations'];
/** @param {{ name: string }} given */
const rank = ({ name }) => (order.includes(name) ? order.indexOf(name) : name.startsWith('textures/') ? 10 : 20);
/**
 * @param {Api.Output} a
 * @param {Api.Output} b
 */
const bySize = (a, b) => rank(a) - rank(b) || b.size - a.size;
/**
 * @param {Api.Asset} asset
 * @param {string} name
 */
const fileName = (asset, name) => `${asset.path.split('/').at(-1)}.${name.replaceAll('/',
		'-')}${name.startsWith('textures/') ? '.ktx2' : name === 'report' ? '.json' : ''}`;

/** @param {string} name */
const outputMeaning = (name) => (name.startsWith('textures/') ? words.outputTexture(name.split('/')[1])
		: words.outputs[name] ?? name);

/** @param {{ asset: Api.Asset }} props */
function Outputs({ asset }) {
	if (!asset.outputs.length) return html`<div class="body quiet">${words.noOutputs}</div>`;
	const total = asset.outputs.reduce((sum, output) => sum + output.size, 0);
	return html`<div class="scroll" tabindex="0">
			<table><thead><tr><th scope="col">${words.output}</th><th scope="col" class="num">${words.size}</th>
				<th scope="col" class="wide">${words.share}</th><th scope="col" class="wide">${words.hash}</th>
				<th scope="col"><span class="hidden">${text.download}</span></th></tr></thead>
		<tbody>${[...asset.outputs].sort(bySize).map((output) =>
				html`<tr><td>${outputMeaning(output.name)} <small class="mono">${output.name}</small></td>
					<td class="num">${size(output.size)}</td>
			<td class="wide"><span class="share" title=${percent(output.size / (total || 1))}>
					<span style=${{ width: `${(output.size / (total || 1)) * 100}%` }} /></span></td>
			<td class="wide"><code title=${output.hash}>${output.hash.slice(0, 12)}</code> <${CopyButton}
					value=${output.hash} label=${text.copy} /></td>
			<td class="num"><a class="button small" href=${output.url} download=${fileName(asset, output.name)}>
					<${Icon} name="download" />${text.download}</a></td></tr>`)}</tbody></table></div>`;
}

/** @param {{ asset: Api.Asset }} props */
function Use({ asset }) {
	return html`<div class="body stack">${Object.entries(snippets).map(([language, make]) => {
		const code = make(asset, location.origin, fileName(asset, 'meshes'));
		return html`<div class="snippet"><div class="bar"><h3>${words.languages[language]}</h3>
				<${CopyButton} value=${code} /></div><pre tabindex="0">${code}</pre></div>`;
	})}</div>`;
}

/** @param {{ asset: Api.Asset }} props */
export const Files = ({ asset }) => html`<div class="stack">
		<${Panel} id="outputs" title=${words.tabs.files}
			actions=${html`<${BundleButton} url=${`/api/v1/assets/${asset.id}/bundle`}
				name=${`${asset.path.split('/').at(-1)}.tar`} />`}><${Outputs} asset=${asset} /></${Panel}>
	${asset.outputs.length > 0 && html`<${Panel} id="use" title=${words.use}><${Use} asset=${asset} /></${Panel}>`}
	</div>`;

import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from '../text.js';
import { useTitle } from '../hooks.js';
import { signIn } from '../session.js';
import { Icon } from '../ui.js';

const words = text.session;

/** @param {{ lost: boolean }} props */
export function SignIn({ lost }) {
	useTitle(words.title);
	const [problem, setProblem] = useState(/** @type {string | null} */ (null));
	const [busy, setBusy] = useState(false);
	const [seen, setSeen] = useState(false);
	/** @param {Page.On<HTMLFormElement, SubmitEvent>} event */
	const send = async (event) => {
		event.preventDefault();
		const form = event.currentTarget;
		const token = String(new FormData(form).get('token') ?? '').trim();
		if (!token) return setProblem(words.empty);
		setBusy(true);
		try {
			await signIn(token);
		} catch (error) {
			const { status, code, message } = /** @type {Page.Problem} */ (error);
			setProblem(status === 401 ? words.wrong : status === 429 ? words.slow : code === 'offline' ? text.offline
				: message);
			setBusy(false);
			form.token.select();
		}
	};
	const note = problem ?? (lost ? words.lost : null);
	return html`<main class="signin" id="main"><form class="panel" onSubmit=${send}>
		<p class="brand"><img src="/favicon.ico" alt="" width="26" height="26" />${text.product}</p>
		<h1>${words.title}</h1><p class="quiet">${words.intro}</p>
		${note && html`<p class="banner bad" role="alert"><${Icon} name="failed" /><span>${note}</span></p>`}
		<input class="hidden" type="text" name="user" value="hob" autocomplete="username" tabindex="-1"
			aria-hidden="true" readonly />
		<label for="token">${words.token}</label>
		<span class="field"><input id="token" name="token" type=${seen ? 'text' : 'password'}
				autocomplete="current-password" autofocus spellcheck="false" autocapitalize="none" placeholder="hob_…"
				aria-invalid=${Boolean(problem)} />
			<button type="button" aria-pressed=${seen} onClick=${() => setSeen(!seen)}>${words.show}</button></span>
		<button type="submit" class="primary" disabled=${busy}>
			${busy && html`<span class="spinner" aria-hidden="true" />`}${words.enter}</button>
		<p class="quiet help">${words.help} <code>hob token create NAME</code></p></form></main>`;
}

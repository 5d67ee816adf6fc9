/* Messages on the picture, and the error above it. */
import { Changes } from './controls.js';
import { text } from './text.js';

export class Messages {
	message = '';
	/** @type {{ title: string, message: string, hint?: string | null, place: string } | null} */
	fault = null;
	changes = new Changes();
	/** @type {ReturnType<typeof setTimeout> | undefined} */
	saying = undefined;

	/** @param {string} message */
	tell(message) {
		clearTimeout(this.saying);
		this.message = message;
		this.changes.tell();
	}

	/**
	 * Like tell(), but disappears again.
	 * @param {string} message
	 */
	say(message) {
		this.tell(message);
		this.saying = setTimeout(() => this.tell(''), 4000);
	}

	/**
	 * error: an error object of the API, or a HobError.
	 * @param {Page.Fault} error
	 * @param {string} [title]
	 */
	showError(error, title = text.failed) {
		const { file, line, column } = error.location ?? error;
		this.fault = { title: error.code || error.location ? text.failed : title,
			message: error.message ?? error.detail ?? '', hint: error.hint,
			place: file ? [file, line, line && column].filter(Boolean).join(':') : '' };
		this.changes.tell();
	}

	hideError() {
		this.fault = null;
		this.changes.tell();
	}
}

/* The source beside the cooked model, on one side of a divider. */
import { later } from '../app/values.js';
import { Helped } from './helped.js';
import { seePoints } from './shown.js';
import { text } from './text.js';

/** @import { Clips } from './clips.js' */

export class Beside extends Helped {
	comparing = false;
	splitAt = 0.5;
	ended = false;
	/** @type {Clips} */
	clips = later();
	/** @type {typeof import('./source.js') | undefined} */
	compareModule = undefined;

	/** @param {View.Asset} asset */
	constructor(asset) {
		super();
		this.asset = asset;
	}

	/**
	 * @param {boolean} on
	 * @param {boolean} [again]
	 */
	async setCompare(on, again = false) {
		const module = this.compareModule ??= await import('./source.js');
		if (this.source) {
			this.looks.undress();
			this.clips.dropModel(this.source);
			module.disposeSource(this.source);
			this.source = null;
			this.wear();
		}
		this.comparing = on && !this.ended;
		this.stage.split = null;
		if (this.comparing) await this.addSource(module, again);
		this.changes.tell();
		this.stage.invalidate();
	}

	/**
	 * @param {typeof import('./source.js')} module
	 * @param {boolean} again
	 */
	async addSource(module, again) {
		if (!again) this.say(text.loadingSource);
		try {
			const source = await module.loadSource(this.asset);
			if (this.ended) return module.disposeSource(source);
			this.source = source;
			seePoints(source);
			this.stage.models.add(source);
			this.clips.addModel(source);
			this.wear();
			this.splitView(this.splitAt);
			if (!again) this.tell('');
		} catch (error) {
			this.comparing = false;
			this.say(text.sourceFailed(/** @type {Error} */ (error).message));
		}
	}

	/**
	 * Draws the source left of `at`, 0..1 of the view.
	 * @param {number} at
	 */
	splitView(at) {
		this.splitAt = this.stage.split = at;
		this.changes.tell();
		this.stage.invalidate();
	}
}

/* Another model beside the newest cooked one, on the other side of a divider: its source, or an earlier version. */
import { disposeContent } from '../client/hob-three.js';
import { exactTime } from '../app/format.js';
import { later } from '../app/values.js';
import { Helped } from './helped.js';
import { seePoints } from './shown.js';
import { text } from './text.js';
import { listVersions, loadVersion } from './versions.js';

/** @import { Clips } from './clips.js' */
/** @import { Version } from './versions.js' */

export class Beside extends Helped {
	/** 'source', the time of a version, or '': nothing is beside it. */
	comparing = '';
	/** @type {Version[]} */
	versions = [];
	splitAt = 0.5;
	ended = false;
	ends = new AbortController();
	/** @type {Clips} */
	clips = later();
	/** Frees what is beside the model. */
	#release = () => {};

	/** @param {View.Asset} asset */
	constructor(asset) {
		super();
		this.asset = asset;
	}

	/** The name of what is beside the model. */
	get besideName() {
		return this.comparing === 'source' ? text.source : exactTime(Date.parse(this.comparing));
	}

	/** Lists the versions that could be shown beside the newest. */
	noteVersions() {
		listVersions(this.asset, this.ends.signal).then((versions) => {
			this.versions = versions;
			this.changes.tell();
		}, () => {});
	}

	/**
	 * @param {boolean} on
	 * @param {boolean} [again]
	 */
	setCompare(on, again) {
		return this.compareWith(on ? 'source' : '', again);
	}

	/**
	 * @param {string} what  'source', the time of a version, or ''
	 * @param {boolean} [again]
	 */
	async compareWith(what, again = false) {
		this.dropBeside();
		this.comparing = this.ended ? '' : what;
		this.stage.split = null;
		if (this.comparing) await this.#add(again);
		this.changes.tell();
		this.stage.invalidate();
	}

	/** @param {boolean} again */
	async #add(again) {
		const wanted = this.comparing;
		const version = this.versions.find(({ at }) => at === wanted);
		if (!again) this.say(version ? text.loadingVersion : text.loadingSource);
		try {
			const module = version ? null : await import('./source.js');
			const source = await (version ? loadVersion(version) : module?.loadSource(this.asset));
			if (!source) return;
			const release = () => (module ? module.disposeSource(source) : disposeContent(source));
			if (this.ended || this.comparing !== wanted) return release();
			this.#release = release;
			this.source = source;
			seePoints(source);
			this.stage.models.add(source);
			this.clips.addModel(source);
			this.wear();
			if (this.stage.shadow) this.setShadow(true);
			this.splitView(this.splitAt);
			if (!again) this.tell('');
		} catch (error) {
			this.comparing = '';
			const why = /** @type {Error} */ (error).message;
			this.say(version ? text.versionFailed(why) : text.sourceFailed(why));
		}
	}

	dropBeside() {
		if (!this.source) return;
		this.looks.undress();
		this.clips.dropModel(this.source);
		this.source.removeFromParent();
		this.#release();
		this.source = null;
		if (!this.ended) this.wear();
	}

	/**
	 * Draws the other model left of `at`, 0..1 of the view.
	 * @param {number} at
	 */
	splitView(at) {
		this.splitAt = this.stage.split = at;
		this.changes.tell();
		this.stage.invalidate();
	}
}

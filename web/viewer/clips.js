/* Plays the clips of a model and shows the current time. */
import { html } from 'htm/preact';
import * as THREE from 'three';
import { Button, Changes, Choice, Slider, Toggle, useChanges } from './controls.js';
import { text } from './text.js';

const FRAMES = 30; /* per second */
const speeds = [0.1, 0.25, 0.5, 1, 1.5, 2, 4];
/** @param {number} time */
const seconds = (time) => `${time.toFixed(2)} s`;

/**
 * Poses models by clip and time. `also` are further models with clips in the same order, such as the source shown
 * beside the cooked model.
 */
class Pose {
	/**
	 * Each object with its rest pose. @type {[View.Thing, THREE.Vector3, THREE.Quaternion, THREE.Vector3,
	 * number[] | undefined][]}
	 */
	rest = [];

	/** @param {View.Model} group */
	constructor(group) {
		this.group = group;
		this.mixer = new THREE.AnimationMixer(group);
		group.traverse((object) => this.rest.push([object, object.position.clone(), object.quaternion.clone(),
				object.scale.clone(),
			object.morphTargetInfluences?.slice()]));
	}

	/**
	 * other: a second clip that contributes `share` of the pose, or -1
	 * @param {number} clip
	 * @param {number} [other]
	 * @param {number} [share]
	 */
	choose(clip, other = -1, share = 0) {
		this.mixer.stopAllAction();
		this.mixer.uncacheRoot(this.group);
		for (const [object, position, quaternion, scale, weights] of this.rest) {
			object.position.copy(position);
			object.quaternion.copy(quaternion);
			object.scale.copy(scale);
			weights?.forEach((weight, i) =>
				object.morphTargetInfluences && (object.morphTargetInfluences[i] = weight));
		}
		/** @type {[THREE.AnimationClip | undefined, number][]} */
		const both = [[this.group.animations[clip], other < 0 ? 1 : 1 - share], [this.group.animations[other], share]];
		for (const [found, weight] of both) {
			if (!found || (found === both[0][0] && weight === share && other === clip)) continue;
			const action = this.mixer.clipAction(found);
			action.setLoop(THREE.LoopOnce, 1);
			action.clampWhenFinished = true;
			action.setEffectiveWeight(weight);
			action.play();
		}
	}

	/** @param {number} time */
	show(time) {
		this.mixer.setTime(time);
	}
}

export class Clips {
	clip = -1;
	time = 0;
	speed = 1;
	loop = true;
	playing = false;
	/** @type {Pose[]} */
	poses = [];
	other = -1;
	share = 0.5;

	/** @type {string[]} */
	names = [];
	changes = new Changes();

	/**
	 * changed() is called when the pose changes.
	 * @param {() => void} changed
	 */
	constructor(changed) {
		this.changed = changed;
	}

	get duration() {
		return this.poses[0]?.group.animations[this.clip]?.duration ?? 0;
	}

	/**
	 * Replaces all earlier models; clip, time and other choices stay if the model still has them.
	 * @param {View.Model} group
	 */
	setModel(group) {
		const name = this.names[this.clip];
		const keep = this.playing;
		this.poses = [new Pose(group)];
		this.names = group.animations.map((clip, i) => clip.name || `${text.clip} ${i + 1}`);
		const again = name === undefined ? -1 : this.names.indexOf(name);
		if (this.other >= this.names.length) this.other = -1;
		this.choose(again, { time: again < 0 ? 0 : this.time, playing: again >= 0 && keep });
	}

	/** @param {View.Model} group */
	addModel(group) {
		const pose = new Pose(group);
		this.poses.push(pose);
		pose.choose(this.clip, this.other, this.share);
		if (this.clip >= 0) pose.show(this.time);
	}

	/** @param {View.Model} group */
	dropModel(group) {
		this.poses = this.poses.filter((pose) => pose.group !== group);
	}

	/**
	 * Blends in a second clip with `share` of the pose; -1: none.
	 * @param {number} other
	 * @param {number} share
	 */
	blend(other, share) {
		this.other = other;
		this.share = share;
		for (const pose of this.poses) pose.choose(this.clip, this.other, this.share);
		this.seek(this.time);
	}

	/** @param {number} speed */
	setSpeed(speed) {
		this.speed = speed;
		this.changes.tell();
	}

	/** @param {boolean} loop */
	setLoop(loop) {
		this.loop = loop;
		this.changes.tell();
	}

	/**
	 * Moves by frames, of thirty per second; negative: back.
	 * @param {number} frames
	 */
	step(frames) {
		if (this.clip < 0) return;
		this.setPlaying(false);
		const frame = Math.round(this.time * FRAMES) + frames;
		this.seek(Math.min(Math.max(frame / FRAMES, 0), this.duration));
	}

	/**
	 * @param {number} clip
	 * @param {{ time?: number, playing?: boolean }} [given]
	 */
	choose(clip, { time = 0, playing = false } = {}) {
		this.clip = clip;
		for (const pose of this.poses) pose.choose(clip, this.other, this.share);
		this.setPlaying(playing);
		this.seek(Math.min(time, this.duration));
	}

	/** @param {boolean} on */
	setPlaying(on) {
		this.playing = on && this.clip >= 0;
		if (this.playing && !this.loop && this.time >= this.duration) this.time = 0;
		this.tell();
	}

	/** In the rest pose, starts the first clip. */
	toggle() {
		if (this.clip < 0) this.choose(0, { playing: true });
		else this.setPlaying(!this.playing);
	}

	tell() {
		this.changes.tell();
		this.changed();
	}

	/** @param {number} time */
	seek(time) {
		this.time = time;
		if (this.clip >= 0) for (const pose of this.poses) pose.show(time);
		this.tell();
	}

	/**
	 * Advances the time; true while playing.
	 * @param {number} passed
	 */
	advance(passed) {
		if (!this.playing) return false;
		let time = this.time + passed * this.speed;
		if (time >= this.duration) {
			time = this.loop && this.duration > 0 ? time % this.duration : this.duration;
			if (!this.loop) this.setPlaying(false);
		}
		this.time = time;
		for (const pose of this.poses) pose.show(time);
		this.changes.tell();
		return this.playing;
	}
}

/**
 * With one clip there is nothing to blend.
 * @param {{ clips: Clips }} props
 */
function Blend({ clips }) {
	const { names, other, share } = clips;
	if (names.length < 2) return null;
	return html`<${Choice} label=${text.blend} options=${[['-1', text.blendNone], ...names.map((name, i) => [i, name])]}
			value=${other} change=${(value) => clips.blend(Number(value), share)} />
		${other >= 0 && html`<${Slider} label=${text.blendShare} min="0" max="1" step="0.01" value=${share}
			className="viewer-share" say=${(part) => `${Math.round(part * 100)} %`}
			change=${(part) => clips.blend(other, part)} />`}`;
}

/** @param {{ clips: Clips }} props */
export function Player({ clips }) {
	useChanges(clips.changes);
	const { names, clip, time, duration, playing } = clips;
	if (!names.length) return null;
	/** @param {number} to */
	const scrub = (to) => {
		clips.setPlaying(false);
		clips.seek(to);
	};
	const still = clip < 0;
	return html`<div class="viewer-player" role="group" aria-label=${text.player}>
		<${Button} className="viewer-play" run=${() => clips.toggle()}>${playing ? text.pause : text.play}</${Button}>
		<${Choice} label=${text.clip} options=${[['-1', text.rest], ...names.map((name, i) => [i, name])]} value=${clip}
			change=${(value) => clips.choose(Number(value), { playing: true })} />
		<${Button} aria-label=${text.frameBack} title=${text.frameBack} disabled=${still}
			run=${() => clips.step(-1)}>‹</${Button}>
		<${Button} aria-label=${text.frameOn} title=${text.frameOn} disabled=${still}
			run=${() => clips.step(1)}>›</${Button}>
		<${Slider} label=${text.time} min="0" max=${Math.max(duration, 0.001)} step="0.001" value=${time}
			disabled=${still} className="viewer-scrubber" say=${seconds} change=${scrub} />
		<${Choice} label=${text.speed} options=${speeds.map((value) => [value, `${value}×`])} value=${clips.speed}
			change=${(value) => clips.setSpeed(Number(value))} />
		<${Toggle} on=${clips.loop} change=${(on) => clips.setLoop(on)}>${text.loop}</${Toggle}>
		<${Blend} clips=${clips} /></div>`;
}

/* Where the cooks of a build were: one lane for each worker, from the stages of its jobs. */

/**
 * A finished job as the trace has it, times in microseconds.
 * @typedef {{ name: string, cat: string, tid: number, ts: number, dur: number,
 * args: { job?: number, stages?: { stage: string, ms: number }[] } }} Bar
 * @typedef {{ job: Bar, lane: number, from: number, to: number }} Cook
 */

const PAUSE = 60e6; /* without a job; after it a new build begins */
const EXACT = 2000; /* times are known to the millisecond, at both ends */

/**
 * The jobs after the last pause, in order of their start.
 * @param {Api.Trace['traceEvents']} events
 */
export function newestBuild(events) {
	const jobs = /** @type {Bar[]} */ (events.filter(({ ph }) => ph === 'X')).sort((a, b) => a.ts - b.ts);
	let first = 0;
	let end = 0;
	jobs.forEach(({ ts, dur }, at) => {
		if (ts > end + PAUSE) first = at;
		end = Math.max(end, ts + dur);
	});
	return jobs.slice(first);
}

/**
 * The time that a job was with a worker; null: it was not. Its stages end where the job ends.
 * @param {Bar} job
 */
export function cookOf({ ts, dur, args: { stages = [] } }) {
	const at = stages.findLastIndex(({ stage }) => stage === 'cook');
	if (at < 0) return null;
	const to = ts + dur - 1000 * stages.slice(at + 1).reduce((sum, { ms }) => sum + ms, 0);
	return { from: Math.max(ts, to - 1000 * stages[at].ms), to };
}

/**
 * The cooks of the jobs, each in the first lane that is free when it begins: there are as many lanes as workers were
 * busy at a time.
 * @param {Bar[]} jobs
 * @returns {Cook[]}
 */
export function placeCooks(jobs) {
	/** @type {number[]} */
	const free = [];
	return jobs.map((job) => ({ job, ...cookOf(job) }))
		.filter((cook) => cook.to !== undefined)
		.sort((a, b) => Number(a.from) - Number(b.from))
		.map(({ job, from = 0, to = 0 }) => {
			const lane = [...free, 0].findIndex((end) => end <= from + EXACT);
			const start = Math.max(from, free[lane] ?? 0);
			free[lane] = Math.max(start, to);
			return { job, lane, from: start, to: free[lane] };
		});
}

// The status page: one list, its counts, its problems; the event stream keeps it up to date. Everything that comes
// from the tree of assets is set as text, never as markup.
const PAGE = 200;
const ERRORS = 4;
const el = (id) => document.getElementById(id);
const view = { q: "", state: "", shown: PAGE, allErrors: false };

function node(tag, className, ...children) {
	const element = document.createElement(tag);
	if (className) element.className = className;
	element.append(...children);
	return element;
}

function bytes(count) {
	const units = ["B", "KB", "MB", "GB", "TB"];
	let unit = 0;
	while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit++; }
	return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

const duration = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
const number = (value) => value.toLocaleString("en");

async function get(path) {
	const response = await fetch(path, { headers: { Accept: "application/json" } });
	if (!response.ok) throw new Error(`${path}: ${response.status}`);
	return response.json();
}

function drawCounts(stats) {
	el("total").textContent = `${number(stats.assets.total)} in all, ${bytes(stats.bytes.source)} of sources, `
		+ `${bytes(stats.bytes.cooked)} cooked`;
	const chips = Object.entries(stats.assets)
		.filter(([state, count]) => state !== "total" && (count > 0 || state === "fresh" || state === view.state))
		.map(([state, count]) => {
			const chip = node("button", "", node("b", "", number(count)), node("span", `state ${state}`, state));
			chip.type = "button";
			chip.setAttribute("aria-pressed", String(view.state === state));
			chip.addEventListener("click", () => { view.state = view.state === state ? "" : state; again(); });
			return chip;
		});
	el("counts").replaceChildren(...chips);
}

function drawRoots(roots) {
	el("roots").textContent = roots.items.length === 0 ? "No folder is watched."
		: "Watching " + roots.items.map((root) => `${root.name} (${root.mode}${root.note && root.note !== root.mode ? ": " + root.note : ""})`).join(", ");
}

function drawErrors(errors) {
	el("errors-section").hidden = errors.items.length === 0;
	el("errors-total").textContent = `${number(errors.assets)} ${errors.assets === 1 ? "asset" : "assets"}`;
	const groups = errors.items.sort((a, b) => b.count - a.count);
	const shown = view.allErrors ? groups : groups.slice(0, ERRORS);
	el("all-errors").hidden = groups.length <= ERRORS;
	el("all-errors").textContent = view.allErrors ? "Show fewer" : `Show all ${number(groups.length)} causes`;
	el("errors").replaceChildren(...shown.map((group) => {
		const place = group.location && group.location.file
			? ` in ${group.location.file}${group.location.line ? ":" + group.location.line : ""}` : "";
		const names = group.assets.slice(0, 3).map((asset) => `${asset.root}/${asset.path}`).join(", ")
			+ (group.count > 3 ? ` and ${number(group.count - 3)} more` : "");
		const item = node("li", "", node("p", "", node("b", "", names)), node("p", "", `${group.message}${place}`));
		if (group.hint) item.append(node("p", "hint", group.hint));
		return item;
	}));
}

const known = new Map();

// Long names may break behind a slash.
function breakable(path) {
	return path.split("/").flatMap((part, at) => (at === 0 ? [part] : ["/", document.createElement("wbr"), part]));
}

function when(time) {
	const date = new Date(time);
	const today = date.toDateString() === new Date().toDateString();
	return today ? date.toLocaleTimeString() : date.toLocaleDateString();
}

function row(asset) {
	const link = node("a", "", ...breakable(asset.path));
	link.href = asset.links.self;
	const name = node("td", "", node("span", "root", asset.root + "/"), link);
	if (asset.warnings)
		name.append(node("span", "notes", ` ${number(asset.warnings)} ${asset.warnings === 1 ? "warning" : "warnings"}`));
	const triangles = asset.stats && asset.stats.triangles;
	const faces = node("td", "number", triangles === undefined || triangles === null ? "" : number(triangles));
	faces.dataset.unit = "triangles";
	const time = node("td", "wide", asset.cooked_at ? when(asset.cooked_at) : "");
	if (asset.cooked_at) time.title = new Date(asset.cooked_at).toLocaleString();
	const line = node("tr", known.has(asset.id) && known.get(asset.id) !== asset.rev ? "changed" : "",
		name, node("td", `state ${asset.state}`, asset.state), faces,
		node("td", "number", asset.bytes.cooked ? bytes(asset.bytes.cooked) : ""),
		node("td", "number", asset.cook_ms ? duration(asset.cook_ms) : ""), time);
	known.set(asset.id, asset.rev);
	return line;
}

async function readAssets() {
	const items = [];
	let cursor = "";
	while (items.length < view.shown) {
		const query = new URLSearchParams({ limit: String(Math.min(view.shown - items.length, 1000)) });
		if (view.q) query.set("q", view.q);
		if (view.state) query.set("state", view.state);
		if (cursor) query.set("cursor", cursor);
		const page = await get(`/api/v1/assets?${query}`);
		items.push(...page.items);
		cursor = page.next || "";
		if (!cursor) break;
	}
	return { items, more: cursor !== "" };
}

function drawAssets(list) {
	el("assets").replaceChildren(...list.items.map(row));
	el("more").hidden = !list.more;
	el("empty").hidden = list.items.length > 0;
	el("empty").textContent = view.q || view.state ? "Nothing matches." : "No assets yet. Save a model into a watched folder.";
}

let running = false;
let wanted = false;

// One refresh at a time, however many events come meanwhile.
async function again() {
	wanted = true;
	if (running) return;
	running = true;
	while (wanted) {
		wanted = false;
		try {
			const [stats, roots, errors, assets] = await Promise.all([
				get("/api/v1/stats"), get("/api/v1/roots"), get("/api/v1/errors"), readAssets()]);
			drawCounts(stats);
			drawRoots(roots);
			drawErrors(errors);
			drawAssets(assets);
		} catch (error) {
			live(false, "not reachable");
		}
		await new Promise((done) => setTimeout(done, 150));
	}
	running = false;
}

function live(on, text) {
	el("live").className = on ? "live" : "live off";
	el("live").textContent = text;
}

function listen() {
	const stream = new EventSource("/api/v1/events?kinds=asset");
	stream.addEventListener("hello", (event) => {
		el("version").textContent = JSON.parse(event.data).version;
		live(true, "live");
		again();
	});
	for (const kind of ["asset", "reset"]) stream.addEventListener(kind, again);
	stream.addEventListener("error", () => live(false, "reconnecting"));
}

el("search").addEventListener("input", (event) => { view.q = event.target.value.trim(); view.shown = PAGE; again(); });
el("all-errors").addEventListener("click", () => { view.allErrors = !view.allErrors; again(); });
el("more").addEventListener("click", () => { view.shown += PAGE; again(); });
document.addEventListener("keydown", (event) => {
	if (event.key === "/" && document.activeElement !== el("search")) {
		event.preventDefault();
		el("search").focus();
	}
});
again();
listen();

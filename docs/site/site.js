/* The menu, the theme and the search of the site. */
const menu = document.getElementById('menu'), search = document.getElementById('search'), found = document.getElementById('found');
const wide = matchMedia('(min-width: 60rem)');
const openMenu = () => { menu.open = wide.matches; };
wide.addEventListener('change', openMenu);
openMenu();

document.getElementById('theme').addEventListener('click', () => {
	const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
	root.dataset.theme = dark ? 'light' : 'dark';
	localStorage.setItem('hob-theme', root.dataset.theme);
});

/* Every word must be there; a heading counts more than a text, and a whole word more than a part. */
function score([, , head, text], words) {
	const high = head.toLowerCase(), low = text.toLowerCase();
	let sum = 0;
	for (const word of words) {
		const here = (high.includes(word) ? (high.split(/[\s/]+/).includes(word) ? 9 : 5) : 0) + (low.includes(word) ? 1 : 0);
		if (here === 0) return 0;
		sum += here;
	}
	return sum;
}

function show() {
	const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
	const best = words.length === 0 ? [] : window.hobPages.map((page) => [score(page, words), page]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
	found.hidden = words.length === 0;
	found.replaceChildren(...best.map(([, [file, anchor, head, text]]) => {
		const link = document.createElement('a'), title = document.createElement('b'), where = document.createElement('small');
		const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 30);
		link.href = `${file}.html${anchor ? `#${anchor}` : ''}`;
		title.textContent = head;
		where.textContent = `${file}  ${text.slice(at, at + 90)}`;
		link.append(title, where);
		const item = document.createElement('li');
		item.append(link);
		return item;
	}));
	if (words.length > 0 && best.length === 0) found.append(Object.assign(document.createElement('li'), { textContent: 'nothing found', className: 'quiet' }));
}
search.addEventListener('input', show);
search.addEventListener('keydown', (event) => {
	if (event.key === 'Escape') { search.value = ''; show(); }
	if (event.key === 'Enter') found.querySelector('a')?.click();
});
addEventListener('keydown', (event) => {
	if (event.key === '/' && document.activeElement !== search) { event.preventDefault(); search.focus(); }
});

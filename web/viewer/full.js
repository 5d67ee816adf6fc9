/* The view as large as the window: what is behind it takes neither focus nor clicks meanwhile. */

/** Returns a function that ends it. */
export function fillWindow(element) {
	const asleep = [];
	for (let at = element; at && at !== document.body; at = at.parentElement)
		for (const other of at.parentElement?.children ?? [])
			if (other !== at && !other.inert) {
				other.inert = true;
				asleep.push(other);
			}
	const { overflow } = document.documentElement.style;
	document.documentElement.style.overflow = 'hidden';
	return () => {
		for (const each of asleep) each.inert = false;
		document.documentElement.style.overflow = overflow;
	};
}

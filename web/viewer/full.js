/* The view as large as the window: what is behind it takes neither focus nor clicks meanwhile. */

/**
 * Returns a function that ends it.
 * @param {HTMLElement} element
 */
export function fillWindow(element) {
	/** @type {HTMLElement[]} */
	const asleep = [];
	for (let at = /** @type {HTMLElement | null} */ (element); at && at !== document.body; at = at.parentElement)
		for (const other of at.parentElement?.children ?? [])
			if (other !== at && other instanceof HTMLElement && !other.inert) {
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

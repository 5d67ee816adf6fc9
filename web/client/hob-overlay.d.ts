/** <hob-overlay>: says on the page what is wrong with assets; puts itself there when there is something to say. */
export class HobOverlay extends HTMLElement {
	show(name: string, error: { message: string; file?: string; line?: number; hint?: string }): void;
	/** The asset is fine again. */
	clear(name: string): void;
}

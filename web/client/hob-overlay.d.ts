/** <hob-overlay>: shows errors of assets on the page; adds itself when there is one. */
export class HobOverlay extends HTMLElement {
	show(name: string, error: { message: string; file?: string; line?: number; hint?: string }): void;
	/** The asset has no error any more. */
	clear(name: string): void;
}

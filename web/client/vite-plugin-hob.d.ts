export interface HobPluginOptions {
	/** The daemon; default: $HOB_URL, else http://127.0.0.1:7780. */
	url?: string;
	/** Default: $HOB_TOKEN. */
	token?: string;
	/** false: no overlay for models that cannot be cooked. */
	overlay?: boolean;
	/** A glob of the assets whose errors are shown; default: all. */
	match?: string;
}

/** A plugin of Vite: the daemon at /hob of the development server, and errors of models in its overlay. */
export function hob(options?: HobPluginOptions): { name: string; apply: 'serve' };
export default hob;

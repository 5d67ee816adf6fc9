/* hob-client is packed into node_modules (.npmrc), so that it shares one three with the page; its worker stays a file
 * of its own. */
import { hob } from "hob-client/vite";

export default {
	plugins: [hob()],
	build: { target: "es2022" },
};

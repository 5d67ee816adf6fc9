/* hob-client is packed into node_modules (.npmrc), so that it shares one three with the page; its worker stays a file
 * of its own. */
export default {
	optimizeDeps: { exclude: ["hob-client"] },
	build: { target: "es2022" },
};

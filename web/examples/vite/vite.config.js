/* hob-client is packed into node_modules (.npmrc), so that it and the page share one three;
 * its worker stays a file of its own. */
export default {
	optimizeDeps: { exclude: ["hob-client"] },
	build: { target: "es2022" },
};

/* The worker of hob-client becomes a chunk of its own: webpack follows its `new URL(..., import.meta.url)`. */
export default {
	mode: 'production',
	entry: './main.tsx',
	output: { filename: 'main.js', clean: false },
	resolve: { extensions: ['.tsx', '.ts', '.js'] },
	module: { rules: [{ test: /\.tsx?$/, loader: 'ts-loader', options: { compilerOptions: { noEmit: false } } }] },
	performance: { hints: false },
};

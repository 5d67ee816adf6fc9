/* Rules of ESLint for the pages and the clients; what tsc finds is left to it. */
import js from '@eslint/js';

export default [
	{ ignores: ['node_modules/', 'dist/', 'examples/'] },
	js.configs.recommended,
	{
		files: ['app/**/*.js', 'viewer/**/*.js', 'client/**/*.js'],
		languageOptions: { ecmaVersion: 'latest', sourceType: 'module' },
		linterOptions: { reportUnusedDisableDirectives: 'error' },
		rules: {
			'no-undef': 'off', /* tsc knows which names there are */
			'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
			'no-empty': ['error', { allowEmptyCatch: true }],
			'array-callback-return': 'error',
			'eqeqeq': ['error', 'always', { null: 'ignore' }],
			'no-constructor-return': 'error',
			'no-duplicate-imports': 'error',
			'no-else-return': 'error',
			'no-implicit-globals': 'error',
			'no-lone-blocks': 'error',
			'no-promise-executor-return': 'off',
			'no-self-compare': 'error',
			'no-template-curly-in-string': 'error',
			'no-unmodified-loop-condition': 'error',
			'no-unreachable-loop': 'error',
			'no-useless-return': 'error',
			'no-var': 'error',
			'object-shorthand': 'error',
			'prefer-const': ['error', { destructuring: 'all' }],
			'prefer-template': 'error',
		},
	},
];

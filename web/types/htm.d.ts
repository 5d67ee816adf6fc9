import type { VNode } from 'preact';

/* A function in a template is typed where the template is: tests/lint/types.mjs checks templates as JSX. */
type Hole = object | string | number | bigint | boolean | null | undefined | ((...given: any[]) => unknown);
export function html(strings: TemplateStringsArray, ...holes: Hole[]): VNode;

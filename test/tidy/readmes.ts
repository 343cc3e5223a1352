/** Pages and READMEs name only files that exist. */

import type { Rule } from './rule.ts';
import type { Sources } from './source-tree.ts';

/** Files that a page names and that are gone. */
function stale(texts: Sources): string[] {
  const paths = [...texts.keys()].map((path) => `/${path}`);
  return [...texts].flatMap(([page, text]) =>
    page.endsWith('.md')
      ? [...text.matchAll(/`([\w./-]*[\w-]+\.(?:ts|mjs|sql))`/g)].flatMap(([, name = '']) =>
          name.includes('NNNN') || paths.some((path) => path.endsWith(`/${name.replace(/^(\.\.?\/)+/, '')}`))
            ? []
            : [`${page} names ${name}, which does not exist`],
        )
      : [],
  );
}

export const readmeRules: readonly Rule[] = [
  {
    name: 'pages name only files that exist',
    find: stale,
    caught: [['a README that names what is gone', { 'src/new/README.md': '`gone.ts`' }]],
    passed: [['a placeholder', { 'src/new/README.md': '`migrations/NNNN_what.sql`' }]],
  },
];

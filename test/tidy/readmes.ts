/**
 * READMEs name what is there, and nothing that is not.
 * @module
 */
import { posix } from 'node:path';
import type { Sources } from '../support/source-tree.ts';
import type { Rule } from './rule.ts';

/** Rooms: the folders of `src`, those beside it, and the tests on real nodes. */
const ROOM = /^(src\/[\w-]+|indexers|scripts|test\/nodes)(?=\/)/;

/** The README at or above this folder; the room has one. */
function readmeFor(folder: string, texts: Sources): string {
  let at = folder;
  while (!texts.has(`${at}/README.md`)) at = posix.dirname(at);
  return `${at}/README.md`;
}

/** As `name`, `name.ts`, `name/` or `path/to/name.ts` in backticks or in a link. */
const names = (text: string, name: string): boolean => new RegExp(`[\`/(,{ ]${name}(\\.\\w+)?[\`/),}]`).test(text);

/** Files and folders that no README names. */
function unnamed(texts: Sources): string[] {
  const findings = new Map<string, string>();
  for (const path of texts.keys()) {
    const room = ROOM.exec(path)?.[0];
    if (!room || path.endsWith('README.md')) continue;
    if (!texts.has(`${room}/README.md`)) {
      findings.set(room, `${room} has no README: write one that names what is in it`);
      continue;
    }
    const parts = path.slice(room.length + 1).split('/');
    const [top = '', ...deeper] = parts;
    // What each deeper folder has inside is for its own README, if it has one.
    const wanted = deeper.length > 1 ? [top, ...deeper.slice(0, -1)] : [top];
    for (const [depth, name] of wanted.entries()) {
      const folder = posix.join(room, ...parts.slice(0, depth));
      const readme = readmeFor(folder, texts);
      const base = name.replace(/\.\w+$/, '');
      if (names(texts.get(readme) ?? '', base)) continue;
      findings.set(`${folder}/${name}`, `${folder}/${name} is not in ${readme}: say there what it is for`);
    }
  }
  return [...findings.values()];
}

/** Files that a page names and that are gone. */
function stale(texts: Sources): string[] {
  const paths = [...texts.keys()].map((path) => `/${path}`);
  return [...texts].flatMap(([page, text]) =>
    !page.endsWith('.md') || page === 'CHANGELOG.md' || page === 'CONTRIBUTING.md'
      ? []
      : [...text.matchAll(/`([\w./-]*[\w-]+\.(?:ts|mjs|sql))`/g)].flatMap(([, name = '']) =>
          name.includes('NNNN') || paths.some((path) => path.endsWith(`/${name.replace(/^(\.\.?\/)+/, '')}`))
            ? []
            : [`${page} names ${name}, which does not exist`],
        ),
  );
}

export const readmeRules: readonly Rule[] = [
  {
    name: 'READMEs name every folder, and each file at the top of a room',
    find: (texts) => [...unnamed(texts), ...stale(texts)],
    caught: [
      ['a file that no README names', { 'src/new/README.md': '`b.ts`', 'src/new/a.ts': '', 'src/new/b.ts': '' }],
      ['a folder that no README names', { 'src/new/README.md': '', 'src/new/deep/a.ts': '', 'src/new/deep/b.ts': '' }],
      ['a README that names what is gone', { 'src/new/README.md': '`gone.ts`' }],
    ],
    passed: [
      ['a table of files', { 'src/new/README.md': '| `a.ts`, `deep/` |', 'src/new/a.ts': '', 'src/new/deep/b.ts': '' }],
      ['a placeholder', { 'src/new/README.md': '`migrations/NNNN_what.sql`' }],
    ],
  },
];

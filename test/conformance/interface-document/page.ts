/** `docs/reference/conformance.md`: the rows, and what a run said of each. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installationFolder } from '../../../src/lib/installation.ts';
import type { Row, Section } from './row.ts';

const PATH = 'docs/reference/conformance.md';
const file = join(installationFolder, PATH);

export type Page = Readonly<{ sections: readonly Section[]; passed(row: Row): boolean }>;

/** Returns the page's text. */
export function pageText({ sections, passed }: Page): string {
  const counted = sections.map(({ title, rows }) => ({ title, all: rows.length, good: rows.filter(passed).length }));
  const sum = (pick: (one: (typeof counted)[number]) => number) => counted.reduce((total, one) => total + pick(one), 0);
  const count = (good: number, all: number) => `| ${all} | ${good} |`;
  return [
    '# Conformance with the interface document',
    '',
    'Each row is one statement of the interface document, and one test against a sandbox that `npm start` runs. The',
    'client of the tests knows the document, the printed credentials and nothing else. `npm run conformance` runs them;',
    '`npm run conformance -- --write` also writes this page.',
    '',
    '| Section | Rows | Passed |',
    '|---|---:|---:|',
    ...counted.map(({ title, all, good }) => `| [${title}](#${anchor(title)}) ${count(good, all)}`),
    `| **All** ${count(
      sum(({ good }) => good),
      sum(({ all }) => all),
    )}`,
    ...sections.flatMap(({ title, rows }) => [
      '',
      `## ${title}`,
      '',
      '| Row | Result |',
      '|---|---|',
      ...rows.map((row) => `| ${cell(row.title)} | ${passed(row) ? 'passed' : '**failed**'} |`),
    ]),
    '',
  ].join('\n');
}

/** GitHub's anchor of a heading. */
const anchor = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** Text that would be read as a placeholder or as the end of a cell is written as code. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/<[^>]*>|\{[^}]*\}/g, '`$&`');

export const readPage = (): string => readFileSync(file, 'utf8');

export function writePage(page: Page): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, pageText(page));
}

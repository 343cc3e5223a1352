/** `docs/reference/conformance.md`: how many rows of each section pass, and which fail. */
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
  const [all, good] = [sum((one) => one.all), sum((one) => one.good)];
  const failed = sections.flatMap(({ title, rows }) =>
    rows.filter((row) => !passed(row)).map((row) => `- ${title}: ${quoted(row.title)}`),
  );
  return [
    '# Conformance with the interface document',
    '',
    'A row is one statement of the interface document, and one test against a sandbox that `npm start` runs. The client of',
    'the tests knows the document, the printed credentials and nothing else. `npm run conformance` runs',
    '[the rows](../../test/conformance/interface-document/rows), which are titled in the words of the document;',
    '`npm run conformance -- --write` also writes this page.',
    '',
    '| Section | Rows | Passed |',
    '|---|---:|---:|',
    ...counted.map((one) => `| ${quoted(one.title)} | ${one.all} | ${one.good} |`),
    `| **All** | ${all} | ${good} |`,
    ...(failed.length === 0 ? [] : ['', 'Failed:', '', ...failed]),
    '',
  ].join('\n');
}

/** Writes what would be read as a placeholder or as the end of a cell as code. */
const quoted = (text: string): string => text.replaceAll('|', '\\|').replace(/<[^>]*>|\{[^}]*\}/g, '`$&`');

export const readPage = (): string => readFileSync(file, 'utf8');

export function writePage(page: Page): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, pageText(page));
}

/**
 * The pages of the reference: made from the OpenAPI document and the table of errors, with one style sheet and one
 * script.
 */
import { readFileSync } from 'node:fs';
import { html, prose } from '../lib/html.ts';
import type { StaticType } from '../lib/static-document.ts';
import { baseStyle } from '../web/document.ts';
import { layout } from './docs-layout.ts';
import { type ErrorCode, errorTable } from './errors.ts';
import type { OpenApiDocument } from './openapi.ts';
import { apiLimits, type RateLimits } from './reference-limits.ts';
import { operationsOf, referencePage } from './reference-page.ts';

/** A page, and how to write it. */
type Page = Readonly<{ path: string; type: StaticType; write: () => string }>;

const readFile = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Returns the pages of the reference. */
export const referencePages = (document: () => OpenApiDocument, limits: RateLimits): readonly Page[] => [
  { path: '/openapi.json', type: 'json', write: () => JSON.stringify(document()) },
  { path: '/docs', type: 'html', write: () => referencePage(document(), apiLimits(limits)) },
  { path: '/docs/errors', type: 'html', write: () => errorsPage(document()) },
  { path: '/llms.txt', type: 'text', write: () => summaryText(document()) },
  { path: '/docs/style.css', type: 'css', write: () => baseStyle + readFile('./docs.css') },
  { path: '/docs/script.js', type: 'js', write: () => readFile('./reference.js') },
];

/**
 * Writes what programs that read for people are to read, and nothing that they could not read there: a title, a
 * summary and links. Format: https://llmstxt.org
 */
function summaryText({ info, servers, paths }: OpenApiDocument): string {
  const base = servers[0]?.url ?? '';
  return [
    `# ${info.title}`,
    '',
    `> ${info.description}`,
    '',
    '## Reference',
    '',
    `- [OpenAPI document](${base}/openapi.json): every call, its fields and its errors`,
    `- [Reference for people](${base}/docs): the same, with how to sign a request and to verify a webhook`,
    `- [Errors](${base}/docs/errors): every code, and what to do about it`,
    '',
    '## Calls',
    '',
    ...operationsOf(paths).map(
      ({ method, path, summary, anchor }) => `- [${method} ${path}](${base}/docs#${anchor}): ${summary}`,
    ),
    '',
  ].join('\n');
}

function errorsPage(document: OpenApiDocument): string {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const nav = html`<p class="brand"><a href="/docs">${document.info.title}</a></p>
<ul>${codes.map((code) => html`<li><a href="#${code}"><code>${code}</code></a></li>`)}</ul>`;
  const main = html`<h1>Errors</h1>
<p>All errors have the same body. <code>error.code</code> never changes its meaning, and <code>request_id</code> identifies the request in the server’s log.</p>
${codes.map((code) => {
  const { status, type, meaning, remedy } = errorTable[code];
  return html`<section id="${code}"><h2><code>${code}</code></h2>
<p class="path"><span class="method">${status}</span> <code>${type}</code></p>
<p>${prose(meaning)}</p>
<p>${prose(remedy)}</p></section>`;
})}`;
  return layout(`Errors · ${document.info.title}`, nav, main);
}

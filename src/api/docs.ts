/**
 * The reference pages, rendered from the OpenAPI document and the error table: plain HTML and one style sheet.
 * @module
 */
import { readFileSync } from 'node:fs';
import { type Html, html, prose } from '../lib/html.ts';
import type { StaticType } from '../lib/static-document.ts';
import { type ErrorCode, errorTable } from './errors.ts';
import type { Content, OpenApiDocument, Operation, Operations } from './openapi.ts';
import { type Field, fieldsOf } from './schema-fields.ts';

/** A page, and how to write it. */
type Page = Readonly<{ path: string; type: StaticType; write: () => string }>;

/** Returns the pages of the reference. */
export const referencePages = (document: () => OpenApiDocument): readonly Page[] => [
  { path: '/openapi.json', type: 'json', write: () => JSON.stringify(document()) },
  { path: '/docs', type: 'html', write: () => referencePage(document()) },
  { path: '/docs/errors', type: 'html', write: () => errorsPage(document()) },
  { path: '/llms.txt', type: 'text', write: () => summaryText(document()) },
  { path: '/docs/style.css', type: 'css', write: () => readFileSync(new URL('./docs.css', import.meta.url), 'utf8') },
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

const layout = (title: string, nav: Html, main: Html): string =>
  `<!doctype html>${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<nav aria-label="Contents">${nav}</nav>
<main id="main">${main}</main>
</body>
</html>
`.html
  }`;

// ── The reference ────────────────────────────────────────────────────────────────────────────────────────────────────

function referencePage(document: OpenApiDocument): string {
  const operations = operationsOf(document.paths);
  const webhooks = operationsOf(document.webhooks);
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const { title, version, description } = document.info;
  const nav = html`<p class="brand"><a href="#main">${title}</a></p>
<ul>
<li><a href="#signing">Signing a request</a></li>
${tags.map(
  (tag) =>
    html`<li>${tag}<ul>${operations
      .filter((operation) => operation.tag === tag)
      .map(({ anchor, summary }) => html`<li><a href="#${anchor}">${summary}</a></li>`)}</ul></li>`,
)}
<li><a href="#webhooks">Webhooks</a></li>
<li><a href="/docs/errors">Errors</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
</ul>`;
  const main = html`<h1>${title}</h1>
<p>${prose(description)} Version ${version}; base URL <code>${document.servers[0]?.url ?? ''}</code>.</p>
${signingSection(document)}
${tags.map(
  (tag) => html`<h2>${tag}</h2>
${operations.filter((operation) => operation.tag === tag).map((operation) => operationSection(document, operation))}`,
)}
${webhooksSection(document, webhooks)}`;
  return layout(title, nav, main);
}

const signingExample = `body='{"amount":1050,"currency":"USD","order_id":"order-1001"}'
timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
signature=$(printf '%s' "$timestamp.$nonce.$body" |
  openssl dgst -sha256 -hmac "$API_SECRET" -r | cut -d' ' -f1)

curl "$BASE_URL/api/v1/checkout/sessions/create" \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "X-Service-Timestamp: $timestamp" \\
  -H "X-Service-Nonce: $nonce" \\
  -H "X-Service-Signature: $signature" \\
  --data-raw "$body"`;

function signingSection(document: OpenApiDocument): Html {
  const schemes = Object.values(document.components.securitySchemes);
  return html`<section id="signing"><h2>Signing a request</h2>
<p>Every request needs these headers. Sign exactly the bytes that you send: do not serialize the body twice.</p>
<dl>${schemes.map(
    ({ name, description }) => html`<dt><code>${name ?? 'Authorization'}</code></dt><dd>${prose(description)}</dd>`,
  )}</dl>
<pre tabindex="0"><code>${signingExample}</code></pre></section>`;
}

type Listed = Readonly<{ anchor: string; tag: string; method: string; path: string; summary: string; raw: Operation }>;

function operationsOf(operations: Operations): Listed[] {
  return Object.entries(operations).flatMap(([path, item]) =>
    (['get', 'post'] as const).flatMap((method) => {
      const raw = item[method];
      if (!raw) return [];
      const anchor = raw.operationId ?? path.replace(/\W+/g, '-').replace(/^-/, '');
      return [{ anchor, tag: raw.tags[0] ?? '', method, path, summary: raw.summary, raw }];
    }),
  );
}

function operationSection(document: OpenApiDocument, { anchor, method, path, summary, raw }: Listed): Html {
  const body = raw.requestBody?.content;
  const responses = Object.entries(raw.responses);
  const query = queryFields(document, raw);
  return html`<section id="${anchor}"><h3>${summary}</h3>
<p class="path"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
<p>${prose(raw.description ?? '')}</p>
${query.length > 0 ? html`<h4>Query</h4>${fieldTable(query)}` : null}
${body ? html`<h4>Request body</h4>${contentView(document, body)}` : null}
<h4>Responses</h4>
${responses.map(([status, response]) => {
  const { content } = response;
  return status.startsWith('2')
    ? html`<p><strong>${status}</strong> ${prose(response.description)}</p>${content ? contentView(document, content) : null}`
    : html`<p><strong>${status}</strong> ${codeLinks(response.description)}</p>`;
})}</section>`;
}

function queryFields(document: OpenApiDocument, { parameters = [] }: Operation): readonly Field[] {
  const asked = parameters.filter((parameter) => parameter.in === 'query');
  const properties = Object.fromEntries(asked.map(({ name, schema }) => [name, schema]));
  return fieldsOf(document, { type: 'object', properties }).flatMap(({ fields }) => fields);
}

function contentView(document: OpenApiDocument, content: Content): Html {
  const { schema, examples } = content['application/json'];
  return html`${fieldsOf(document, schema).map(
    ({ name, fields }) => html`${name ? html`<p class="shape">${name}</p>` : null}${fieldTable(fields)}`,
  )}
${Object.entries(examples).map(
  ([name, { value }]) =>
    html`<details><summary>Example: ${name}</summary><pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre></details>`,
)}`;
}

const fieldTable = (fields: readonly Field[]): Html =>
  html`<div class="scroll" tabindex="0"><table><thead><tr><th>Field</th><th>Type</th><th>Notes</th></tr></thead><tbody>
${fields.map(
  ({ path, type, isRequired, notes }) =>
    html`<tr><td><code>${path}</code></td><td>${type}${isRequired ? null : ', optional'}</td><td>${prose(notes)}</td></tr>`,
)}</tbody></table></div>`;

function webhooksSection(document: OpenApiDocument, webhooks: readonly Listed[]): Html {
  const first = webhooks[0]?.raw;
  const body = first?.requestBody?.content;
  const headers = first?.parameters ?? [];
  return html`<section id="webhooks"><h2>Webhooks</h2>
<p>Events are sent as signed POST requests to the store’s endpoints, at least once: recognize repeats by the event id.</p>
<dl>${webhooks.map(({ path, summary }) => html`<dt><code>${path}</code></dt><dd>${prose(summary)}</dd>`)}</dl>
<h3>Headers</h3>
<dl>${headers.map(({ name, description }) => html`<dt><code>${name}</code></dt><dd>${prose(description ?? '')}</dd>`)}</dl>
<h3>Body</h3>
${body ? contentView(document, body) : null}
<h3>Your response</h3>
<dl>${Object.entries(first?.responses ?? {}).map(
    ([status, { description }]) => html`<dt><code>${status}</code></dt><dd>${prose(description)}</dd>`,
  )}</dl></section>`;
}

// ── The errors ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Turns codes in backticks into links to their explanations. */
const codeLinks = (text: string): Html[] =>
  [...text.matchAll(/`(\w+)`/g)].map(
    ([, code]) => html`<a href="/docs/errors#${code ?? ''}"><code>${code ?? ''}</code></a> `,
  );

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

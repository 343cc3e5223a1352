/** The reference for people: `/docs`, which shows the OpenAPI document, and `/docs/errors`. */
import { readFileSync } from 'node:fs';
import { type Html, html, prose } from '../lib/html.ts';
import { baseStyle, documentOf } from '../web/document.ts';
import type { StaticType } from '../web/static-document.ts';
import { type ErrorCode, errorTable } from './errors.ts';
import type { Content, JsonSchema, OpenApiDocument, Operation, Operations } from './openapi.ts';
import { parts, signedErrors } from './openapi.ts';

const readFile = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Returns what is served for readers and their tools: the path, the type, and how to write it. */
export const referencePages = (
  document: () => OpenApiDocument,
): readonly Readonly<{ path: string; type: StaticType; write: () => string }>[] => [
  { path: '/openapi.json', type: 'json', write: () => JSON.stringify(document()) },
  { path: '/docs', type: 'html', write: () => referencePage(document()) },
  { path: '/docs/errors', type: 'html', write: () => errorsPage(document().info.title) },
  { path: '/llms.txt', type: 'text', write: () => summaryText(document()) },
  { path: '/docs/style.css', type: 'css', write: () => baseStyle + readFile('./docs.css') },
];

/** An operation with its place. `anchor` is its section of the page. */
export type Listed = Readonly<{ anchor: string; method: string; path: string; raw: Operation }>;

/** Returns the operations in the order of the document. */
export const operationsOf = (operations: Operations): Listed[] =>
  Object.entries(operations).flatMap(([path, item]) =>
    Object.entries(item).map(([method, raw]) => ({ anchor: raw.operationId ?? path, method, path, raw })),
  );

/** Writes the summary with links that language models read. Format: https://llmstxt.org */
function summaryText({ info, servers, paths }: OpenApiDocument): string {
  const base = servers[0]?.url ?? '';
  const calls = operationsOf(paths).map(
    ({ anchor, method, path, raw }) =>
      `- [${method.toUpperCase()} ${path}](${base}/docs#${anchor}): ${raw.summary ?? ''}`,
  );
  return `# ${info.title}

> ${info.description}

## Reference

- [OpenAPI document](${base}/openapi.json): every call and event, with fields, errors and examples
- [Reference](${base}/docs): how to sign a request and verify a webhook
- [Errors](${base}/docs/errors): every code and its remedy

## Calls

${calls.join('\n')}
`;
}

/** Returns the shell functions that sign requests. @param baseUrl of the API, without a trailing slash */
const signingSample = (baseUrl: string): string =>
  readFile('./quayside.sh').replace("'BASE_URL'", () => `'${baseUrl.replaceAll("'", '%27')}'`);

const code = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`;

/** Shows the first example, folded. */
const example = (content: Content | undefined): Html | null => {
  const [first] = Object.values(content?.['application/json'].examples ?? {});
  return first
    ? html`<details><summary>Example</summary>${code(JSON.stringify(first.value, null, 2))}</details>`
    : null;
};

// ── Schemas ──────────────────────────────────────────────────────────────────────────────────────────────────────────

type Schemas = Readonly<Record<string, JsonSchema>>;

const nameOf = ({ $ref = '' }: JsonSchema): string => $ref.split('/').at(-1) ?? '';

/** Says what a value is; an object that has a name is a link to its section. */
function typeOf(schema: JsonSchema): Html {
  const { $ref, anyOf, enum: values, type, format, items, additionalProperties } = schema;
  if ($ref !== undefined) return html`<a href="#${nameOf(schema)}">${nameOf(schema)}</a>`;
  if (anyOf) return html`${anyOf.map((one, at) => html`${at > 0 ? ' or ' : null}${typeOf(one)}`)}`;
  if (values) return html`${values.filter((value) => value !== null).join(' | ')}`;
  if (items) return html`array of ${typeOf(items)}`;
  const isMap = typeof additionalProperties === 'object' && !schema.properties;
  if (isMap) return html`object of ${typeOf(additionalProperties)}`;
  return html`${format ?? [type ?? 'any'].flat().find((one) => one !== 'null') ?? 'null'}`;
}

/** Returns a row for each field, nested ones by their full path: `line_items[].price_data.unit_amount`. */
const rows = ({ properties = {}, required = [] }: JsonSchema, prefix = ''): readonly Html[] =>
  Object.entries(properties).flatMap(([name, own]) => {
    const path = `${prefix}${name}`;
    const type = html`<span>${typeOf(own)}${required.includes(name) ? null : ', optional'}</span>`;
    return [
      html`<dt><code>${path}</code> ${type}</dt><dd>${prose(own.description ?? '')}</dd>`,
      ...rows(own.items ?? own, own.items ? `${path}[].` : `${path}.`),
    ];
  });

const list = (content: readonly Html[]): Html => html`<dl>${content}</dl>`;

/** Lists names with what they mean. */
const meanings = (all: readonly (readonly [name: string, meaning: string | undefined])[]): Html =>
  list(all.map(([name, meaning = '']) => html`<dt><code>${name}</code></dt><dd>${prose(meaning)}</dd>`));

/** Shows a body with its example: by its fields, or by its name where that has a section of its own. */
function bodyOf(schemas: Schemas, inPlace: ReadonlySet<string>, content: Content | undefined): Html | null {
  if (!content) return null;
  const { schema } = content['application/json'];
  const own = inPlace.has(nameOf(schema)) ? schemas[nameOf(schema)] : undefined;
  return html`${own ? list(rows(own)) : html`<p>${typeOf(schema)}</p>`}${example(content)}`;
}

// ── The page ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns a page. The contents fold where there is little room. */
const framed = (title: string, contents: Html, main: Html): string =>
  documentOf(
    { code: 'en', direction: 'ltr' },
    title,
    html`<link rel="stylesheet" href="/docs/style.css">`,
    html`<a class="skip" href="#main">Skip to the content</a>
<nav aria-label="Contents"><details><summary>Contents</summary>${contents}</details></nav>
<main id="main">${main}</main>`,
  );

const link = (anchor: string, text: string): Html => html`<li><a href="#${anchor}">${text}</a></li>`;

const codeLinks = (codes: readonly string[]): Html =>
  html`${codes.map((one) => html`<a href="/docs/errors#${one}"><code>${one}</code></a> `)}`;

/** Returns the names of the objects that are the body of one place alone, where their fields are shown. */
function bodiesOfOne({ paths, webhooks, components: { schemas } }: OpenApiDocument): ReadonlySet<string> {
  const text = JSON.stringify([paths, webhooks, schemas]);
  const isOnce = (used: string) => text.split(used).length === 2;
  return new Set(
    Object.keys(schemas).filter((name) => {
      const reference = `{"$ref":"#/components/schemas/${name}"}`;
      return isOnce(reference) && isOnce(`"schema":${reference}`);
    }),
  );
}

function referencePage(document: OpenApiDocument): string {
  const { info, servers, tags, paths, webhooks, components } = document;
  const { schemas } = components;
  const inPlace = bodiesOfOne(document);
  const shown = (content: Content | undefined): Html | null => bodyOf(schemas, inPlace, content);
  const [calls, events] = [operationsOf(paths), operationsOf(webhooks)];
  const own = Object.entries(schemas).filter(([name]) => !inPlace.has(name));
  const groups = tags.flatMap((tag) => {
    const group = calls.filter(({ raw }) => raw.tags.includes(tag.name));
    return group.length === 0 ? [] : [{ ...tag, group }];
  });
  const contents = html`<ul>
${link('signing', 'Signing a request')}${link('headers', 'Headers')}${link('errors', 'Errors')}
${groups.map(({ name, group }) => html`<li>${name}<ul>${group.map(({ anchor, raw }) => link(anchor, raw.summary))}</ul></li>`)}
<li>Webhooks<ul>${link('webhooks', 'Receiving a webhook')}${events.map(({ path }) => link(path, path))}</ul></li>
<li>Objects<ul>${own.map(([name]) => link(name, name))}</ul></li>
<li><a href="/docs/errors">All error codes</a></li><li><a href="/openapi.json">OpenAPI document</a></li>
</ul>`;
  const main = html`<h1>${info.title}</h1>
<p>${prose(info.description)} Version ${info.version}; base URL <code>${servers[0]?.url ?? ''}</code>.</p>
${signing(document)}${headers()}${refusals(calls)}
${groups.map(({ name, description, group }) => html`<h2>${name}</h2><p>${prose(description)}</p>${group.map((call) => operation(call, shown))}`)}
${receiving(events, shown)}
<h2>Objects</h2>
${own.map(([name, schema]) => html`<section id="${name}"><h3>${name}</h3><p>${prose(schema.description ?? '')}</p>${list(rows(schema))}</section>`)}`;
  return framed(info.title, contents, main);
}

type Scheme = Readonly<{ name?: string; description: string }>;

const signing = ({
  servers,
  components,
}: OpenApiDocument): Html => html`<section id="signing"><h2>Signing a request</h2>
<p>Clients in PHP, Node, Python and Go are in the folder <code>sdk</code> of Quayside’s sources: they sign, repeat what is safe to repeat, and verify webhooks. To try calls by hand, keep this as <code>quayside.sh</code>, with the API key and its secret in the environment. Then <code>. ./quayside.sh</code> and, for one, <code>call GET /api/v1/account</code>.</p>
${code(signingSample(servers[0]?.url ?? ''))}
<p>Sign exactly the bytes that you send: do not serialize the body twice. Every attempt needs a new nonce and a new signature, also when you repeat a call.</p>
<p>The program must run on your server. A key in an app or a page of your shop can be read by anybody.</p>
${meanings(Object.values<Scheme>(components.securitySchemes).map(({ name = 'Authorization', description }) => [name, description]))}</section>`;

function headers(): Html {
  const { sharedHeaders, idempotencyHeader, answerHeaders, waitHeaders, replayHeaders } = parts;
  const all = (named: Readonly<Record<string, Readonly<{ description: string }>>>): Html =>
    meanings(Object.entries(named).map(([name, { description }]) => [name, description]));
  return html`<section id="headers"><h2>Headers</h2>
<p>A request needs those of <a href="#signing">its signature</a> and, with a body, <code>Content-Type: application/json</code>. These are optional:</p>
${all({ ...sharedHeaders, ...idempotencyHeader })}
<h3>In responses</h3>
${all({ ...answerHeaders, ...waitHeaders, ...replayHeaders })}</section>`;
}

const refusals = (calls: readonly Listed[]): Html => html`<section id="errors"><h2>Errors</h2>
<p>Branch on <code>error.code</code>. It never changes its meaning; <code>error.message</code> is for people and may change. Keep <code>request_id</code>: the operator finds the request by it. The body is an <a href="#ApiError">ApiError</a>.</p>
<p>Every signed call can be refused with these codes. Each call below lists only its own. <a href="/docs/errors">All codes</a></p>
<p>${codeLinks(signedErrors)}</p>
${example(calls.flatMap(({ raw }) => raw.responses[401] ?? [])[0]?.content)}</section>`;

type Shown = (content: Content | undefined) => Html | null;

function operation({ anchor, method, path, raw }: Listed, shown: Shown): Html {
  const inUrl = (raw.parameters ?? []).filter((parameter) => parameter.in !== 'header');
  const properties = Object.fromEntries(
    inUrl.map(({ name, schema, description = '' }) => [name, { description, ...schema }]),
  );
  const required = inUrl.flatMap((parameter) => (parameter.required ? parameter.name : []));
  const [success, answer] = Object.entries(raw.responses).find(([status]) => status.startsWith('2')) ?? [];
  const said = Object.values(raw.responses).map((response) => response.description);
  const codes = said.flatMap((text) => [...text.matchAll(/`(\w+)`/g)].map(([, one = '']) => one));
  const own = codes.filter((one) => !(signedErrors as readonly string[]).includes(one));
  return html`<section id="${anchor}"><h3>${raw.summary}</h3>
<p class="path"><b>${method.toUpperCase()}</b> <code>${path}</code></p>
<p>${prose(raw.description ?? '')}</p>
${inUrl.length > 0 ? html`<h4>Parameters of the URL</h4>${list(rows({ properties, required }))}` : null}
${raw.requestBody ? html`<h4>Body</h4>${shown(raw.requestBody.content)}` : null}
<h4>Answer ${success ?? ''}</h4>${shown(answer?.content)}
${own.length > 0 ? html`<h4>Errors</h4><p>${codeLinks(own)}</p>` : null}</section>`;
}

function receiving(events: readonly Listed[], shown: Shown): Html {
  const { description = '', parameters = [], responses = {} } = events[0]?.raw ?? {};
  return html`<h2>Webhooks</h2><section id="webhooks"><h3>Receiving a webhook</h3><p>${prose(description)}</p>
<p>The clients verify webhooks: give them the headers, the raw body and the endpoint’s secret. Before you hand out goods, read the session with your live key and compare it with the order.</p>
<h4>Headers</h4>${meanings(parameters.map((one) => [one.name, one.description]))}
<h4>Your response</h4>${meanings(Object.entries(responses).map(([status, one]) => [status, one.description]))}</section>
${events.map(
  ({ path, raw: { summary, requestBody } }) =>
    html`<section id="${path}"><h3><code>${path}</code></h3><p>${prose(summary)}</p>${shown(requestBody?.content)}</section>`,
)}`;
}

function errorsPage(title: string): string {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const contents = html`<ul><li><a href="/docs">${title}</a></li>${codes.map((one) => link(one, one))}</ul>`;
  const main = html`<h1>Errors</h1>
<p>All errors have the same body. <code>error.code</code> never changes its meaning, and <code>request_id</code> identifies the request in the server’s log.</p>
${codes.map((one) => {
  const { status, type, meaning, remedy } = errorTable[one];
  return html`<section id="${one}"><h2><code>${one}</code></h2>
<p class="path"><b>${status}</b> <code>${type}</code></p>
<p>${prose(meaning)} ${prose(remedy)}</p></section>`;
})}`;
  return framed(`Errors · ${title}`, contents, main);
}

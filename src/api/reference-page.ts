/**
 * The reference for people: `/docs`, which says what the OpenAPI document says beside samples, and `/docs/errors`.
 */
import { readFileSync } from 'node:fs';
import { type Html, html, prose } from '../lib/html.ts';
import { baseStyle, documentOf } from '../web/document.ts';
import type { StaticType } from '../web/static-document.ts';
import { type ErrorCode, errorTable } from './errors.ts';
import { examples } from './examples.ts';
import {
  type Content,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  type Operations,
  parts,
  signedErrors,
} from './openapi.ts';
import { callSample, type SampleCall, signingSample } from './samples.ts';
import { exampleEventId } from './webhook-events.ts';

const readFile = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Returns what is served for readers and their tools: the path, the type, and how to write it. */
export const referencePages = (
  document: () => OpenApiDocument,
): readonly Readonly<{ path: string; type: StaticType; write: () => string }>[] => [
  { path: '/openapi.json', type: 'json', write: () => JSON.stringify(document()) },
  { path: '/docs', type: 'html', write: () => referencePage(document()) },
  { path: '/docs/errors', type: 'html', write: () => errorsPage(document().info.title) },
  { path: '/docs/style.css', type: 'css', write: () => baseStyle + readFile('./docs.css') },
  { path: '/docs/script.js', type: 'js', write: () => readFile('./reference.js') },
];

/** An operation with its place. `anchor` is its section of the page. */
export type Listed = Readonly<{ anchor: string; method: string; path: string; raw: Operation }>;

const methods = ['get', 'post', 'delete'] as const;

/** Returns the operations in the order of the document. */
export const operationsOf = (operations: Operations): Listed[] =>
  Object.entries(operations).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const raw = item[method];
      return raw ? [{ anchor: raw.operationId ?? path, method, path, raw }] : [];
    }),
  );

/** Example values of path parameters. */
const pathExamples: Readonly<Record<string, string>> = {
  session_id: examples.session.id,
  refund_id: examples.refund.refund_id,
  event_id: exampleEventId,
  endpoint_id: examples.endpoint.id,
};

/** Returns the example of a call: its path with the examples of its parameters. */
export function exampleCall({ method, path, raw }: Listed): SampleCall {
  const sent = path.replace(/\{(\w+)\}/g, (_, name: string) => pathExamples[name] ?? `{${name}}`);
  const isPaged = raw.parameters?.some((one) => one.in === 'query' && one.name === 'limit') ?? false;
  const body = firstExample(raw.requestBody?.content);
  return { method: method.toUpperCase(), path: isPaged ? `${sent}?limit=10` : sent, body };
}

const firstExample = (content: Content | undefined): unknown =>
  Object.values(content?.['application/json'].examples ?? {})[0]?.value;

// ── The frame ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns a page: contents on the left, folded on a phone. Without its script, only the copy buttons are missing. */
const layout = (title: string, contents: Html, main: Html): string =>
  documentOf(
    { code: 'en', direction: 'ltr' },
    title,
    html`<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/script.js" defer></script>`,
    html`<a class="skip" href="#main">Skip to the content</a>
<nav aria-label="Contents"><details><summary>Contents</summary>${contents}</details></nav>
<main id="main">${main}</main>
<p id="copied" class="unseen" role="status"></p>`,
  );

const link = (anchor: string, text: string | Html): Html => html`<li><a href="#${anchor}">${text}</a></li>`;

/** A section: text on the left, code on the right where there is room. */
const section = (anchor: string, text: Html, code: Html | null = null): Html =>
  html`<section id="${anchor}"${code ? html` class="split"` : null}><div>${text}</div>${code && html`<div class="code">${code}</div>`}</section>`;

const codeView = (title: string, text: string): Html =>
  html`<figure><figcaption>${title}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>`;

const jsonView = (title: string, value: unknown): Html | null =>
  value === undefined ? null : codeView(title, JSON.stringify(value, null, 2));

/** Lists names with what they mean. */
const meanings = (rows: readonly (readonly [name: string, meaning: string])[]): Html =>
  html`<dl class="fields">${rows.map(([name, meaning]) => html`<dt><code>${name}</code></dt><dd>${prose(meaning)}</dd>`)}</dl>`;

const codeLinks = (codes: readonly string[]): Html =>
  html`${codes.map((code) => html`<a href="/docs/errors#${code}"><code>${code}</code></a> `)}`;

// ── Fields ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Input of the page. `shared`: names of the objects that several places use; each has a section. */
type Reference = Readonly<{ document: OpenApiDocument; shared: ReadonlySet<string> }>;

function sharedObjects({ paths, webhooks, components }: OpenApiDocument): ReadonlySet<string> {
  const text = JSON.stringify([paths, webhooks, components.schemas]);
  const uses = (name: string) => text.split(`"#/components/schemas/${name}"`).length - 1;
  return new Set(Object.keys(components.schemas).filter((name) => uses(name) > 1));
}

/** The names in a schema, of what it refers to or may be. */
const namesIn = ({ $ref, anyOf = [] }: JsonSchema): readonly string[] =>
  [{ $ref }, ...anyOf].flatMap((one) => one.$ref?.split('/').at(-1) ?? []);

/** Follows a reference and keeps the keywords beside it. */
const resolved = ({ document }: Reference, { $ref, ...own }: JsonSchema): JsonSchema => ({
  ...($ref !== undefined && document.components.schemas[$ref.split('/').at(-1) ?? '']),
  ...own,
});

const typesOf = ({ type }: JsonSchema): readonly string[] => (typeof type === 'string' ? [type] : (type ?? []));

/** Returns what a value is; the names of objects that have a section are links to it. */
function typeView(reference: Reference, schema: JsonSchema): Html {
  const names = namesIn(schema).filter((name) => reference.shared.has(name));
  if (names.length > 0) {
    return html`${names.map((name, at) => html`${at > 0 ? ' or ' : null}<a href="#${name}">${name}</a>`)}`;
  }
  const own = resolved(reference, schema);
  const type = typesOf(own).find((one) => one !== 'null') ?? 'any';
  if (own.enum) return html`${own.enum.filter((value) => value !== null).join(' | ')}`;
  if (type === 'array') return html`array of ${typeView(reference, own.items ?? {})}`;
  if (type === 'object' && typeof own.additionalProperties === 'object' && !own.properties) {
    return html`object of ${typeView(reference, own.additionalProperties)}`;
  }
  return html`${own.format ?? type}`;
}

/** Returns a row for each field, nested ones by their full path: `line_items[].price_data.unit_amount`. */
function fieldRows(reference: Reference, schema: JsonSchema, prefix = ''): readonly Html[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = prefix + name;
    const own = resolved(reference, property);
    const isRequired = (schema.required?.includes(name) ?? false) && !typesOf(own).includes('null');
    const row = html`<dt><code>${path}</code> <span>${typeView(reference, property)}${isRequired ? null : ', optional'}</span></dt><dd>${prose(own.description ?? '')}</dd>`;
    const item = own.items ?? property;
    if (namesIn(item).some((one) => reference.shared.has(one))) return [row];
    return [row, ...fieldRows(reference, resolved(reference, item), own.items ? `${path}[].` : `${path}.`)];
  });
}

/** Shows the fields of a schema, or of each object that it may be. */
const fieldsView = (reference: Reference, schema: JsonSchema): Html =>
  html`${(schema.anyOf ?? [schema]).map((shape) => {
    const rows = fieldRows(reference, resolved(reference, shape));
    return html`${schema.anyOf ? html`<p class="shape">${namesIn(shape)}</p>` : null}<dl class="fields">${rows}</dl>`;
  })}`;

/** Shows a body: a link to an object that has a section, or its fields. */
const bodyView = (reference: Reference, content: Content | undefined): Html | null => {
  const schema = content?.['application/json'].schema;
  if (!schema) return null;
  const isElsewhere = namesIn(schema).some((name) => reference.shared.has(name));
  return isElsewhere ? html`<p>${typeView(reference, schema)}</p>` : fieldsView(reference, schema);
};

// ── The sections ─────────────────────────────────────────────────────────────────────────────────────────────────────

function referencePage(document: OpenApiDocument): string {
  const reference = { document, shared: sharedObjects(document) };
  const [operations, webhooks] = [operationsOf(document.paths), operationsOf(document.webhooks)];
  const { title, version, description } = document.info;
  const tags = document.tags.filter(({ name }) => operations.some(({ raw }) => raw.tags.includes(name)));
  const ofTag = (name: string) => operations.filter(({ raw }) => raw.tags.includes(name));
  const contents = html`<p class="brand"><a href="#main">${title}</a></p>
<ul>
${link('signing', 'Signing a request')}
${link('headers', 'Headers')}
${link('errors', 'Errors')}
${tags.map(({ name }) => html`<li>${name}<ul>${ofTag(name).map(({ anchor, raw }) => link(anchor, raw.summary))}</ul></li>`)}
<li>Webhooks<ul>${link('webhooks', 'Receiving a webhook')}${webhooks.map(({ path }) => link(path, html`<code>${path}</code>`))}</ul></li>
<li>Objects<ul>${[...reference.shared].map((name) => link(name, html`<code>${name}</code>`))}</ul></li>
<li><a href="/docs/errors">All error codes</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
</ul>`;
  const main = html`<header><h1>${title}</h1>
<p>${prose(description)} Version ${version}; base URL <code>${document.servers[0]?.url ?? ''}</code>.</p></header>
${signingSection(reference)}
${headersSection()}
${errorsSection(operations)}
${tags.map(
  (tag) => html`<h2 class="part">${tag.name}</h2><p>${prose(tag.description)}</p>
${ofTag(tag.name).map((operation) => operationSection(reference, operation))}`,
)}
${webhooksSections(reference, webhooks)}
<h2 class="part">Objects</h2><p>What several calls send or answer with.</p>
${[...reference.shared].map((name) => section(name, html`<h3><code>${name}</code></h3>${fieldsView(reference, { $ref: `#/components/schemas/${name}` })}`))}`;
  return layout(title, contents, main);
}

function signingSection({ document }: Reference): Html {
  const schemes = Object.values(document.components.securitySchemes);
  const text = html`<h2>Signing a request</h2>
<p>Clients in PHP, Node, Python and Go are in the folder <code>sdk</code> of Quayside’s sources: they sign, repeat what is safe to repeat, and verify webhooks. To try calls by hand, keep the file beside this text: the samples use it. It reads the API key and its secret from the environment.</p>
<p>Sign exactly the bytes that you send: do not serialize the body twice. Every attempt needs a new nonce and a new signature, also when you repeat a call.</p>
<p>The program must run on your server. A key in an app or a page of your shop can be read by anybody.</p>
${meanings(schemes.map(({ name, description }) => [name ?? 'Authorization', description]))}`;
  return section('signing', text, codeView('quayside.sh', signingSample(document.servers[0]?.url ?? '')));
}

function headersSection(): Html {
  const list = (headers: Readonly<Record<string, Readonly<{ description?: string | undefined }>>>) =>
    meanings(Object.entries(headers).map(([name, { description = '' }]) => [name, description]));
  const { sharedHeaders, idempotencyHeader, answerHeaders, waitHeaders, replayHeaders } = parts;
  return section(
    'headers',
    html`<h2>Headers</h2>
<p>A request needs those of <a href="#signing">its signature</a> and, with a body, <code>Content-Type: application/json</code>. These are optional:</p>
${list({ ...sharedHeaders, ...idempotencyHeader })}
<h3>In responses</h3>
${list({ ...answerHeaders, ...waitHeaders, ...replayHeaders })}`,
  );
}

function errorsSection(operations: readonly Listed[]): Html {
  const refused = operations.find(({ raw }) => raw.responses[401])?.raw.responses[401];
  const text = html`<h2>Errors</h2>
<p>Branch on <code>error.code</code>. It never changes its meaning; <code>error.message</code> is for people and may change. Keep <code>request_id</code>: the operator finds the request by it. The body is an <a href="#ApiError">ApiError</a>.</p>
<p>Every signed call can be refused with these codes. Each call below lists only its own. <a href="/docs/errors">All codes</a></p>
<p>${codeLinks(signedErrors)}</p>`;
  return section('errors', text, jsonView('An error', firstExample(refused?.content)));
}

function operationSection(reference: Reference, operation: Listed): Html {
  const { anchor, method, path, raw } = operation;
  const parameters = (raw.parameters ?? []).filter((parameter) => parameter.in !== 'header');
  const properties = Object.fromEntries(
    parameters.map(({ name, schema, description }) => [name, { description: description ?? '', ...schema }]),
  );
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  const [success = '', answer] = Object.entries(raw.responses).find(([status]) => status.startsWith('2')) ?? [];
  const refusals = Object.entries(raw.responses).flatMap(([status, { description }]) => {
    const codes = [...description.matchAll(/`(\w+)`/g)].map(([, code = '']) => code);
    const own = codes.filter((code) => !(signedErrors as readonly string[]).includes(code));
    return status.startsWith('2') || own.length === 0 ? [] : [html`<p>${status} ${codeLinks(own)}</p>`];
  });
  const text = html`<h3>${raw.summary}</h3>
<p class="path"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
<p>${prose(raw.description ?? '')}</p>
${parameters.length > 0 ? html`<h4>Parameters of the URL</h4>${fieldsView(reference, { properties, required })}` : null}
${raw.requestBody ? html`<h4>Body</h4>${bodyView(reference, raw.requestBody.content)}` : null}
<h4>Answer ${success}</h4>
${bodyView(reference, answer?.content)}
${refusals.length > 0 ? html`<h4>Errors</h4>${refusals}` : null}`;
  const isSigned = raw.security?.length !== 0;
  const call = isSigned ? codeView(`${method.toUpperCase()} ${path}`, callSample(exampleCall(operation))) : null;
  return section(anchor, text, html`${call}${jsonView('Answer', firstExample(answer?.content))}`);
}

function webhooksSections(reference: Reference, webhooks: readonly Listed[]): Html {
  const { description = '', parameters = [], responses = {}, tags: [tag] = [] } = webhooks[0]?.raw ?? {};
  const receiving = html`<h3>Receiving a webhook</h3>
<p>${prose(description)}</p>
<p>The clients verify webhooks: give them the headers, the raw body and the endpoint’s secret. Before you hand out goods, read the session with your live key and compare it with the order.</p>
<h4>Headers</h4>
${meanings(parameters.map((one) => [one.name, one.description ?? '']))}
<h4>Your response</h4>
${meanings(Object.entries(responses).map(([status, response]) => [status, response.description]))}`;
  return html`<h2 class="part">Webhooks</h2><p>${prose(reference.document.tags.find(({ name }) => name === tag)?.description ?? '')}</p>
${section('webhooks', receiving)}
${webhooks.map(({ path, raw }) => {
  const content = raw.requestBody?.content;
  const text = html`<h3><code>${path}</code></h3><p>${prose(raw.summary)}</p><h4>Body</h4>${bodyView(reference, content)}`;
  return section(path, text, jsonView(path, firstExample(content)));
})}`;
}

function errorsPage(title: string): string {
  const codes = Object.keys(errorTable) as ErrorCode[];
  const nav = html`<p class="brand"><a href="/docs">${title}</a></p>
<ul>${codes.map((code) => link(code, html`<code>${code}</code>`))}</ul>`;
  const main = html`<h1>Errors</h1>
<p>All errors have the same body. <code>error.code</code> never changes its meaning, and <code>request_id</code> identifies the request in the server’s log.</p>
${codes.map((code) => {
  const { status, type, meaning, remedy } = errorTable[code];
  return html`<section id="${code}"><h2><code>${code}</code></h2>
<p class="path"><span class="method">${status}</span> <code>${type}</code></p>
<p>${prose(meaning)}</p>
<p>${prose(remedy)}</p></section>`;
})}`;
  return layout(`Errors · ${title}`, nav, main);
}

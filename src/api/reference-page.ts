/**
 * The reference at `/docs`: what the OpenAPI document says, beside samples in several languages. The reader chooses a
 * language once for the page, with radio buttons that need no script.
 */
import { type Html, html, prose } from '../lib/html.ts';
import { codeLinks, layout } from './docs-layout.ts';
import type { JsonSchema } from './json-schema.ts';
import type { Content, OpenApiDocument, Operation, Operations } from './openapi.ts';
import type { ApiLimit } from './reference-limits.ts';
import {
  callSample,
  languages,
  pathExamples,
  type Sample,
  type SampleCall,
  signingSamples,
  verifyingSamples,
} from './samples.ts';
import { type Field, fieldsOf } from './schema-fields.ts';

/** An operation with its place. `anchor` is its part of the page. */
export type Listed = Readonly<{
  anchor: string;
  tag: string;
  method: string;
  path: string;
  summary: string;
  raw: Operation;
}>;

const methods = ['get', 'post', 'delete'] as const;

/** Returns the operations in the order of the document. */
export const operationsOf = (operations: Operations): Listed[] =>
  Object.entries(operations).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const raw = item[method];
      if (!raw) return [];
      const { operationId, tags, summary } = raw;
      return [{ anchor: operationId ?? path, tag: tags[0] ?? '', method, path, summary, raw }];
    }),
  );

/** Input of the page's sections. `shared`: names of the objects that have a section of their own. */
type Reference = Readonly<{
  document: OpenApiDocument;
  operations: readonly Listed[];
  webhooks: readonly Listed[];
  shared: ReadonlySet<string>;
  /** Codes that every signed call can get. */
  commonCodes: ReadonlySet<string>;
  limits: readonly ApiLimit[];
}>;

/** Returns the page. */
export function referencePage(document: OpenApiDocument, limits: readonly ApiLimit[]): string {
  const operations = operationsOf(document.paths);
  const webhooks = operationsOf(document.webhooks);
  const shared = new Set([...sharedObjects(operations), ...sharedObjects(webhooks)]);
  const reference = { document, operations, webhooks, shared, commonCodes: commonCodesOf(operations), limits };
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const { title, version, description } = document.info;
  const main = html`<header><h1>${title}</h1>
<p>${prose(description)} Version ${version}; base URL <code>${document.servers[0]?.url ?? ''}</code>.</p></header>
${languageChoice()}
${signingSection(reference)}
${headersSection(reference)}
${errorsSection(reference)}
${limitsSection(reference)}
${tags.map((tag) => tagSection(reference, tag))}
${webhooksSections(reference)}`;
  return layout(title, contents(reference, tags), main);
}

const link = (anchor: string, text: string | Html): Html => html`<li><a href="#${anchor}">${text}</a></li>`;

const contents = ({ document, operations, webhooks }: Reference, tags: readonly string[]): Html =>
  html`<p class="brand"><a href="#main">${document.info.title}</a></p>
<ul>
${link('signing', 'Signing a request')}
${link('headers', 'Headers')}
${link('errors', 'Errors')}
${link('limits', 'Limits')}
${tags.map(
  (tag) =>
    html`<li>${tag}<ul>${operations
      .filter((operation) => operation.tag === tag)
      .map(({ anchor, summary }) => link(anchor, summary))}</ul></li>`,
)}
<li>Webhooks<ul>
${link('webhooks', 'Receiving a webhook')}
${link('webhook-headers', 'Headers of a webhook')}
${webhooks.map(({ path }) => link(path, html`<code>${path}</code>`))}</ul></li>
<li><a href="/docs/errors">All error codes</a></li>
<li><a href="/openapi.json">OpenAPI document</a></li>
</ul>`;

const languageChoice = (): Html =>
  html`<fieldset class="languages"><legend>Language of the samples</legend>${languages.map(
    ({ id, name }, at) =>
      html`<input type="radio" name="language" id="in-${id}" value="${id}"${at === 0 ? html` checked` : null}><label for="in-${id}">${name}</label>`,
  )}</fieldset>`;

// ── The parts of a section ───────────────────────────────────────────────────────────────────────────────────────────

/** A section: text on the left, code on the right where there is room. */
const section = (anchor: string, text: Html, code: Html | null): Html =>
  html`<section id="${anchor}"${code ? html` class="split"` : null}><div>${text}</div>${code && html`<div class="code">${code}</div>`}</section>`;

const codeView = (title: string, text: string): Html =>
  html`<figure><figcaption>${title}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>`;

const sampleView = (samples: readonly Sample[]): Html =>
  html`${samples.map(
    ({ language, file, text }) =>
      html`<figure class="sample in-${language}"><figcaption>${file}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>`,
  )}`;

const jsonView = (title: string, value: unknown): Html => codeView(title, JSON.stringify(value, null, 2));

/** Lists fields; those of a nested object or list are folded under it, unless they are what matters. */
function fieldTable(fields: readonly Field[], shared: ReadonlySet<string>): Html {
  const outer = fields.filter(({ path }) => !/[.[]/.test(path));
  return html`${outer.map((field) => {
    const inner = fields.filter(
      ({ path }) => /^[.[]/.test(path.slice(field.path.length)) && path.startsWith(field.path),
    );
    return html`<dl class="fields">${fieldRow(field, shared)}</dl>
${
  inner.length > 0
    ? html`<details${OPENED.has(field.path) ? html` open` : null}><summary>Fields of <code>${field.path}</code></summary><dl class="fields">${inner.map((one) => fieldRow(one, shared))}</dl></details>`
    : null
}`;
  })}`;
}

/** The fields whose inner ones are shown at once: the error, and what an event is about. */
const OPENED: ReadonlySet<string> = new Set(['error', 'data']);

const fieldRow = ({ path, type, isRequired, notes }: Field, shared: ReadonlySet<string>): Html =>
  html`<dt><code>${path}</code> <span>${typeView(type, shared)}${isRequired ? null : ', optional'}</span></dt><dd>${prose(notes)}</dd>`;

/** Turns the names of objects that have a section into links. */
const typeView = (type: string, shared: ReadonlySet<string>): Html =>
  html`${type.split(' ').map((word, at) => html`${at > 0 ? ' ' : null}${shared.has(word) ? html`<a href="#${word}">${word}</a>` : word}`)}`;

function shapesView({ document, shared }: Reference, schema: JsonSchema): Html {
  return html`${fieldsOf(document, schema, shared).map(
    ({ name, fields }) => html`${name ? html`<p class="shape">${name}</p>` : null}${fieldTable(fields, shared)}`,
  )}`;
}

const namesIn = ({ $ref, anyOf = [] }: JsonSchema): readonly string[] =>
  [{ $ref }, ...anyOf].flatMap((one) => one.$ref?.split('/').at(-1) ?? []);

const answerOf = ({ raw }: Listed): Content['application/json'] | undefined =>
  Object.entries(raw.responses).find(([status]) => status.startsWith('2'))?.[1].content?.['application/json'];

const bodyOf = ({ raw }: Listed): Content['application/json'] | undefined =>
  raw.requestBody?.content['application/json'];

/** Returns the objects that several calls answer with, or that several webhooks bring. */
function sharedObjects(operations: readonly Listed[]): readonly string[] {
  const names = operations.flatMap((operation) => {
    const content = answerOf(operation) ?? bodyOf(operation);
    return content ? namesIn(content.schema) : [];
  });
  return names.filter((name, at) => names.indexOf(name) < at);
}

// ── What holds for all calls ─────────────────────────────────────────────────────────────────────────────────────────

function signingSection({ document }: Reference): Html {
  const text = html`<h2>Signing a request</h2>
<p>Keep the file beside this text. It reads the API key and its secret from the environment. The samples of the calls use <code>quayside.sh</code>.</p>
<p>Sign exactly the bytes that you send: do not serialize the body twice. Every attempt needs a new nonce and a new signature, also when you repeat a call.</p>
<p>The program must run on your server. A key in an app or a page of your shop can be read by anybody.</p>
<dl class="fields">${Object.values(document.components.securitySchemes).map(
    ({ name, description }) => html`<dt><code>${name ?? 'Authorization'}</code></dt><dd>${prose(description)}</dd>`,
  )}</dl>`;
  return section('signing', text, sampleView(signingSamples(document.servers[0]?.url ?? '')));
}

/** Returns each header once, by its name. */
function headersSection({ operations }: Reference): Html {
  const asked = operations.flatMap(({ raw }) => (raw.parameters ?? []).filter((one) => one.in === 'header'));
  const answered = operations.flatMap(({ raw }) =>
    Object.values(raw.responses).flatMap(({ headers = {} }) =>
      Object.entries(headers).map(([name, header]) => ({ name, ...header })),
    ),
  );
  const list = (headers: readonly Readonly<{ name: string; description?: string | undefined }>[]) =>
    html`<dl class="fields">${[...new Map(headers.map((header) => [header.name, header]))].map(
      ([name, { description = '' }]) => html`<dt><code>${name}</code></dt><dd>${prose(description)}</dd>`,
    )}</dl>`;
  const text = html`<h2>Headers</h2>
<p>A request needs those of <a href="#signing">its signature</a> and, with a body, <code>Content-Type: application/json</code>. These are optional:</p>
${list(asked)}
<h3>In responses</h3>
${list(answered)}`;
  return section('headers', text, null);
}

const codesIn = (description: string): readonly string[] =>
  [...description.matchAll(/`(\w+)`/g)].map(([, code]) => code ?? '');

const refusalsOf = ({ raw }: Listed): readonly (readonly [status: string, codes: readonly string[]])[] =>
  Object.entries(raw.responses)
    .filter(([status]) => !status.startsWith('2'))
    .map(([status, { description }]) => [status, codesIn(description)]);

function commonCodesOf(operations: readonly Listed[]): ReadonlySet<string> {
  const signed = operations.filter(({ raw }) => raw.security?.length !== 0);
  const [first = [], ...others] = signed.map((operation) => refusalsOf(operation).flatMap(([, codes]) => codes));
  return new Set(first.filter((code) => others.every((codes) => codes.includes(code))));
}

function errorsSection(reference: Reference): Html {
  const { operations, commonCodes } = reference;
  const example = operations.flatMap(({ raw }) =>
    Object.values(raw.responses).flatMap(({ content }) =>
      Object.entries(content?.['application/json'].examples ?? {}).filter(([name]) => name === 'missing_header'),
    ),
  )[0]?.[1].value;
  const text = html`<h2>Errors</h2>
<p>Branch on <code>error.code</code>. It never changes its meaning; <code>error.message</code> is for people and may change. Keep <code>request_id</code>: the operator finds the request by it.</p>
${shapesView(reference, { $ref: '#/components/schemas/ApiError' })}
<p>Every signed call can be refused with these codes. Each call below lists only its own. <a href="/docs/errors">All codes</a></p>
<p>${codeLinks([...commonCodes])}</p>`;
  return section('errors', text, example ? jsonView('An error', example) : null);
}

const limitsSection = ({ limits }: Reference): Html =>
  section(
    'limits',
    html`<h2>Limits</h2>
<dl class="fields">${limits.map(({ what, limit }) => html`<dt>${prose(what)}</dt><dd>${prose(limit)}</dd>`)}</dl>`,
    null,
  );

// ── The calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

function tagSection(reference: Reference, tag: string): Html {
  const own = reference.operations.filter((operation) => operation.tag === tag);
  const meaning = reference.document.tags.find(({ name }) => name === tag)?.description ?? '';
  // An object comes where it is first answered.
  const first = (name: string) =>
    reference.operations.find((operation) => namesIn(answerOf(operation)?.schema ?? {}).includes(name));
  const objects = [...reference.shared].filter((name) => first(name)?.tag === tag && !isEvent(reference, name));
  return html`<h2 class="part">${tag}</h2><p>${prose(meaning)}</p>
${objects.map((name) => objectSection(reference, name, Object.values(answerOf(first(name) as Listed)?.examples ?? {})[0]?.value))}
${own.map((operation) => operationSection(reference, operation))}`;
}

const isEvent = ({ webhooks }: Reference, name: string): boolean =>
  webhooks.some((webhook) => namesIn(bodyOf(webhook)?.schema ?? {}).includes(name));

const objectSection = (reference: Reference, name: string, example: unknown): Html =>
  section(
    name,
    html`<h3><code>${name}</code></h3>${shapesView(reference, { $ref: `#/components/schemas/${name}` })}`,
    jsonView(name, example),
  );

/** Returns the example of a call: its path with the examples of its parameters. */
export function exampleCall(operation: Listed): SampleCall {
  const { method, path, raw } = operation;
  const sent = path.replace(/\{(\w+)\}/g, (_, name: string) => pathExamples[name] ?? `{${name}}`);
  const isPaged = raw.parameters?.some((one) => one.in === 'query' && one.name === 'limit') ?? false;
  const body = Object.values(bodyOf(operation)?.examples ?? {})[0]?.value;
  return { method: method.toUpperCase(), path: isPaged ? `${sent}?limit=10` : sent, body };
}

function operationSection(reference: Reference, operation: Listed): Html {
  const { anchor, method, path, summary, raw } = operation;
  const { document, shared, commonCodes } = reference;
  const [body, answer] = [bodyOf(operation), answerOf(operation)];
  const parameters = (raw.parameters ?? []).filter((parameter) => parameter.in !== 'header');
  const properties = Object.fromEntries(
    parameters.map(({ name, schema, description }) => [name, { description: description ?? '', ...schema }]),
  );
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  const asked = fieldsOf(document, { type: 'object', properties, required }).flatMap(({ fields }) => fields);
  const refusals = refusalsOf(operation)
    .map(([status, codes]) => ({ status, codes: codes.filter((code) => !commonCodes.has(code)) }))
    .filter(({ codes }) => codes.length > 0);
  const success = Object.keys(raw.responses).find((status) => status.startsWith('2')) ?? '';
  const text = html`<h3>${summary}</h3>
<p class="path"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></p>
<p>${prose(raw.description ?? '')}</p>
${asked.length > 0 ? html`<h4>Parameters of the URL</h4>${fieldTable(asked, shared)}` : null}
${body ? html`<h4>Body</h4>${shapesView(reference, body.schema)}` : null}
<h4>Answer ${success}</h4>
${answer ? answerView(reference, answer.schema) : null}
${refusals.length > 0 ? html`<h4>Errors</h4>` : null}
${refusals.map(({ status, codes }) => html`<p>${status} ${codeLinks(codes)}</p>`)}`;
  const isSigned = raw.security?.length !== 0;
  const [[name, example] = []] = Object.entries(answer?.examples ?? {});
  const code = html`${isSigned ? codeView(`${method.toUpperCase()} ${path}`, callSample(exampleCall(operation))) : null}
${example ? jsonView(`Answer: ${name}`, example.value) : null}`;
  return section(anchor, text, code);
}

/** Links to an object that has a section, or shows its fields. */
function answerView(reference: Reference, schema: JsonSchema): Html {
  const names = namesIn(schema);
  const isElsewhere = names.length > 0 && names.every((name) => reference.shared.has(name));
  if (!isElsewhere) return shapesView(reference, schema);
  return html`<p>${names.map((name, at) => html`${at > 0 ? ' or ' : null}<a href="#${name}"><code>${name}</code></a>`)}</p>`;
}

// ── Webhooks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function webhooksSections(reference: Reference): Html {
  const { document, webhooks } = reference;
  const { description = '', parameters = [], responses = {} } = webhooks[0]?.raw ?? {};
  const receiving = html`<h3>Receiving a webhook</h3>
<p>${prose(description)}</p>
<p>The function beside this text takes the headers, the raw body and the endpoint’s secret, and says whether the event may be trusted. Before you hand out goods, read the session with your live key and compare it with the order.</p>
<h4>Your response</h4>
<dl class="fields">${Object.entries(responses).map(
    ([status, response]) => html`<dt><code>${status}</code></dt><dd>${prose(response.description)}</dd>`,
  )}</dl>`;
  const headers = html`<h3>Headers of a webhook</h3>
<dl class="fields">${parameters.map(
    (one) => html`<dt><code>${one.name}</code></dt><dd>${prose(one.description ?? '')}</dd>`,
  )}</dl>`;
  const objects = [...new Set(webhooks.flatMap((webhook) => namesIn(bodyOf(webhook)?.schema ?? {})))];
  const exampleOf = (webhook: Listed | undefined) => Object.values(bodyOf(webhook as Listed)?.examples ?? {})[0]?.value;
  return html`<h2 class="part">Webhooks</h2><p>${prose(document.tags.find(({ name }) => name === 'Webhooks')?.description ?? '')}</p>
${section('webhooks', receiving, sampleView(verifyingSamples()))}
${section('webhook-headers', headers, null)}
${objects.map((name) => {
  const own = webhooks.filter((webhook) => namesIn(bodyOf(webhook)?.schema ?? {}).includes(name));
  return html`${section(name, html`<h3><code>${name}</code></h3>${shapesView(reference, { $ref: `#/components/schemas/${name}` })}`, null)}
${own.map((webhook) => section(webhook.path, html`<h4><code>${webhook.path}</code></h4><p>${prose(webhook.summary)}</p><p>Body: <a href="#${name}"><code>${name}</code></a></p>`, jsonView(webhook.path, exampleOf(webhook))))}`;
})}`;
}

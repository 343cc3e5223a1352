/**
 * The samples of the reference, in every language: how to sign, how to verify a webhook, and one call of each endpoint.
 * The first two are files in `samples/`; calls are written from the example that the OpenAPI document has.
 */
import { readFileSync } from 'node:fs';
import { shellWord } from '../lib/shell-word.ts';
import { exampleEndpoint, exampleRefund, exampleSession } from './examples.ts';
import { exampleEventId } from './webhook-events.ts';

/** A call with its example: the path as it is sent, with its query. */
export type SampleCall = Readonly<{ method: string; path: string; body: unknown; answerName: string }>;

type Language = Readonly<{
  id: string;
  name: string;
  /** Extension of the language's files in `samples/`. */
  extension: string;
  /** Writes a program that makes one call and prints the answer. */
  write(call: SampleCall): string;
  /** Writes the server's URL, which stands between quotes in the file. */
  quoted(url: string): string;
}>;

/** How a language writes values. */
type Notation = Readonly<{
  object: readonly [string, string];
  list: readonly [string, string];
  key(name: string): string;
  text(value: string): string;
  nothing: string;
  truth: readonly [no: string, yes: string];
  indent: string;
  isCommaLast: boolean;
}>;

const LINE_COLUMNS_MAX = 64;

const single = (value: string): string => `'${value.replace(/[\\']/g, '\\$&')}'`;

const json: Notation = {
  object: ['{', '}'],
  list: ['[', ']'],
  key: (name) => `${JSON.stringify(name)}: `,
  text: (value) => JSON.stringify(value),
  nothing: 'null',
  truth: ['false', 'true'],
  indent: '  ',
  isCommaLast: false,
};
const javascript: Notation = {
  ...json,
  key: (name) => `${/^[A-Za-z_]\w*$/.test(name) ? name : single(name)}: `,
  text: single,
  isCommaLast: true,
};
const python: Notation = { ...json, nothing: 'None', truth: ['False', 'True'], indent: '    ', isCommaLast: true };
const php: Notation = {
  ...javascript,
  object: ['[', ']'],
  key: (name) => `${single(name)} => `,
  indent: '    ',
};

/** Writes a JSON value: on one line where that is short, or else with one member a line. */
function literal(notation: Notation, value: unknown, margin = ''): string {
  if (value === null || value === undefined) return notation.nothing;
  if (typeof value === 'boolean') return notation.truth[value ? 1 : 0];
  if (typeof value === 'string') return notation.text(value);
  if (typeof value !== 'object') return String(value);
  const deeper = margin + notation.indent;
  const parts = Array.isArray(value)
    ? value.map((item) => literal(notation, item, deeper))
    : Object.entries(value).map(([name, item]) => notation.key(name) + literal(notation, item, deeper));
  const [open, close] = Array.isArray(value) ? notation.list : notation.object;
  const space = open === '{' ? ' ' : '';
  const line = `${open}${space}${parts.join(', ')}${space}${close}`;
  const isShort = margin !== '' && !line.includes('\n') && margin.length + line.length <= LINE_COLUMNS_MAX;
  if (isShort || parts.length === 0) return parts.length === 0 ? `${open}${close}` : line;
  const comma = notation.isCommaLast ? ',' : '';
  return `${open}\n${parts.map((part) => deeper + part).join(',\n')}${comma}\n${margin}${close}`;
}

/** Writes the arguments of `call`, where a body is left out if there is none. */
const argumentsOf = (notation: Notation, { method, path, body }: SampleCall): string =>
  [method, path].map(notation.text).join(', ') + (body === undefined ? '' : `, ${literal(notation, body)}`);

/** The languages, in the order in which they are offered; the first is shown unless the reader chooses another. */
export const languages: readonly Language[] = [
  {
    id: 'curl',
    name: 'curl',
    extension: 'sh',
    quoted: (url) => shellWord(url),
    write: ({ method, path, body }) =>
      `. ./quayside.sh\n\ncall ${method} ${shellWord(path)}${body === undefined ? '' : ` ${shellWord(literal(json, body))}`}\n`,
  },
  {
    id: 'node',
    name: 'Node',
    extension: 'mjs',
    quoted: single,
    write: (call) =>
      `import { call } from './quayside.mjs';

const ${call.answerName} = await call(${argumentsOf(javascript, call)});
console.log(${call.answerName});
`,
  },
  {
    id: 'php',
    name: 'PHP',
    extension: 'php',
    quoted: single,
    write: (call) =>
      `<?php

require 'quayside.php';

$${call.answerName} = call(${argumentsOf(php, call)});
print_r($${call.answerName});
`,
  },
  {
    id: 'python',
    name: 'Python',
    extension: 'py',
    quoted: (url) => JSON.stringify(url),
    write: (call) =>
      `import quayside

${call.answerName} = quayside.call(${argumentsOf(python, call)})
print(${call.answerName})
`,
  },
  {
    id: 'go',
    name: 'Go',
    extension: 'go',
    quoted: (url) => JSON.stringify(url),
    write: ({ method, path, body, answerName }) =>
      `package main

import "fmt"

func main() {
	${answerName}, err := Call("${method}", "${path}", ${body === undefined ? '""' : `\`${literal(json, body)}\``})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(${answerName}))
}
`,
  },
];

/** One sample in each language: `text` is a whole file, which is called `file` where others refer to it. */
export type Sample = Readonly<{ language: string; file: string; text: string }>;

const readSample = (name: string): string => readFileSync(new URL(`./samples/${name}`, import.meta.url), 'utf8');

/** Returns what signs requests. @param baseUrl of the API, without a trailing slash */
export const signingSamples = (baseUrl: string): readonly Sample[] =>
  languages.map(({ id, extension, quoted }) => {
    const file = `quayside.${extension}`;
    const text = readSample(file).replace(/(['"])BASE_URL\1/, () => quoted(baseUrl));
    return { language: id, file, text };
  });

/** Returns what verifies webhooks. */
export const verifyingSamples = (): readonly Sample[] =>
  languages.map(({ id, extension }) => {
    const file = `verify.${extension}`;
    return { language: id, file, text: readSample(file) };
  });

/** Returns one call of an endpoint. */
export const callSamples = (operationId: string, call: SampleCall): readonly Sample[] =>
  languages.map(({ id, extension, write }) => ({
    language: id,
    file: `${operationId}.${extension}`,
    text: write(call),
  }));

/** Example values of path parameters. */
export const pathExamples: Readonly<Record<string, string>> = {
  session_id: exampleSession.id,
  refund_id: exampleRefund.refund_id,
  event_id: exampleEventId,
  endpoint_id: exampleEndpoint.id,
};

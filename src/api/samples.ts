/**
 * The samples of the reference: how to sign and how to verify a webhook, in every language, from the files in
 * `samples/`; and one call of each endpoint in curl, written from the example that the OpenAPI document has.
 */
import { readFileSync } from 'node:fs';
import { shellWord } from '../lib/shell-word.ts';

/** A call with its example: the path as it is sent, with its query. */
export type SampleCall = Readonly<{ method: string; path: string; body: unknown }>;

type Language = Readonly<{
  id: string;
  name: string;
  /** Extension of the language's files in `samples/`. */
  extension: string;
  /** Writes the server's URL, which stands between quotes in the file. */
  quoted(url: string): string;
}>;

const single = (value: string): string => `'${value.replace(/[\\']/g, '\\$&')}'`;
const double = (value: string): string => JSON.stringify(value);

/** The languages, in the order in which they are offered; the first is shown unless the reader chooses another. */
export const languages: readonly Language[] = [
  { id: 'curl', name: 'curl', extension: 'sh', quoted: shellWord },
  { id: 'node', name: 'Node', extension: 'mjs', quoted: single },
  { id: 'php', name: 'PHP', extension: 'php', quoted: single },
  { id: 'python', name: 'Python', extension: 'py', quoted: double },
  { id: 'go', name: 'Go', extension: 'go', quoted: double },
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

/** Returns a shell script that makes one call with `quayside.sh` and prints the answer. */
export function callSample({ method, path, body }: SampleCall): string {
  const sent = body === undefined ? '' : ` ${shellWord(JSON.stringify(body, null, 2))}`;
  return `. ./quayside.sh\n\ncall ${method} ${shellWord(path)}${sent}\n`;
}

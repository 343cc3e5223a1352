/**
 * The samples of the reference: how to sign, from `quayside.sh`, and one call of each endpoint in curl, written from
 * the example that the OpenAPI document has. Clients in other languages are in `sdk/`.
 */
import { readFileSync } from 'node:fs';
import { shellWord } from '../lib/shell-word.ts';

/** A call with its example: the path as it is sent, with its query. */
export type SampleCall = Readonly<{ method: string; path: string; body: unknown }>;

/** Returns the shell functions that sign requests. @param baseUrl of the API, without a trailing slash */
export const signingSample = (baseUrl: string): string =>
  readFileSync(new URL('./quayside.sh', import.meta.url), 'utf8').replace("'BASE_URL'", () => shellWord(baseUrl));

/** Returns a shell script that makes one call with `quayside.sh` and prints the answer. */
export function callSample({ method, path, body }: SampleCall): string {
  const sent = body === undefined ? '' : ` ${shellWord(JSON.stringify(body, null, 2))}`;
  return `. ./quayside.sh\n\ncall ${method} ${shellWord(path)}${sent}\n`;
}

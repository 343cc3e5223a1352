/**
 * Reads what a browser's form sends.
 */
import type { IncomingMessage } from 'node:http';
import { BodyError, readBody, readContentType } from './request-body.ts';

/**
 * Reads a form's fields; a body of another type has none. Browsers do not compress it.
 * @throws BodyError
 */
export async function readForm(request: IncomingMessage, bytesMax: number): Promise<Readonly<Record<string, string>>> {
  const { mediaType, isUtf8 } = readContentType(request.headers['content-type']);
  if (!isUtf8) throw new BodyError('encoded');
  const bytes = await readBody(request, bytesMax);
  const isForm = mediaType === 'application/x-www-form-urlencoded';
  return isForm ? Object.fromEntries(new URLSearchParams(bytes.toString())) : {};
}

/** Returns the query. Not by `new URL`: a request target may be absolute, or no valid URL at all. */
export const queryOf = ({ url = '' }: Pick<IncomingMessage, 'url'>): URLSearchParams =>
  new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');

/** Returns a URL with more fields in its query, before a fragment. The rest of it stays as it is. */
export function addQuery(url: string, fields: Iterable<[name: string, value: string]>): string {
  const [address = '', ...fragment] = url.split('#');
  const query = new URLSearchParams([...fields]).toString();
  const glue = !address.includes('?') ? '?' : /[?&]$/.test(address) ? '' : '&';
  return [`${address}${glue}${query}`, ...fragment].join('#');
}

/**
 * Reads what a browser's form sends.
 */
import type { IncomingMessage } from 'node:http';
import busboy from 'busboy';
import { BodyError, readBody, readContentType } from './request-body.ts';

const PARTS_MAX = 50;

/**
 * Reads a form's fields, of a file its bytes in base64; a body of another type has none. Browsers do not compress it.
 * @throws BodyError
 */
export async function readForm(request: IncomingMessage, bytesMax: number): Promise<Readonly<Record<string, string>>> {
  const { mediaType, isUtf8 } = readContentType(request.headers['content-type']);
  if (!isUtf8) throw new BodyError('encoded');
  const bytes = await readBody(request, bytesMax);
  if (mediaType === 'multipart/form-data') return readParts(bytes, request.headers);
  const isForm = mediaType === 'application/x-www-form-urlencoded';
  return isForm ? Object.fromEntries(new URLSearchParams(bytes.toString())) : {};
}

/** Returns the fields of a form with files (RFC 7578); a form that is malformed has none. */
function readParts(body: Buffer, headers: IncomingMessage['headers']): Promise<Readonly<Record<string, string>>> {
  const fields: [string, string][] = [];
  const reading: Promise<unknown>[] = [];
  const limits = { parts: PARTS_MAX, fieldSize: body.length };
  return new Promise((resolve) => {
    try {
      const parser = busboy({ headers, limits, defParamCharset: 'utf8' });
      parser.on('field', (name, text) => fields.push([name, text]));
      parser.on('file', (name, file) => {
        const read = async () => fields.push([name, Buffer.concat(await file.toArray()).toString('base64')]);
        reading.push(read());
      });
      parser.on('close', () => void Promise.all(reading).then(() => resolve(Object.fromEntries(fields))));
      parser.on('error', () => resolve({}));
      parser.end(body);
    } catch {
      // No boundary.
      resolve({});
    }
  });
}

/** Returns the query. Not by `new URL`: a request target may be absolute, or no valid URL at all. */
export const queryOf = ({ url = '' }: Pick<IncomingMessage, 'url'>): URLSearchParams =>
  new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');

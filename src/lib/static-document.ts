/**
 * Texts that do not change while the process runs: made and compressed at the first request, and not sent again to a
 * client that has them.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

const types = {
  html: 'text/html',
  json: 'application/json',
  css: 'text/css',
  js: 'text/javascript',
} as const;

export type StaticType = keyof typeof types;

/** Returns a handler of GET and HEAD that sends what `write` returns; `cacheControl` is the header of that name. */
export function staticDocument(
  write: () => string,
  type: StaticType,
  cacheControl: string,
): (request: IncomingMessage, response: ServerResponse) => void {
  let made: Document | null = null;
  return (request, response) => {
    made ??= makeDocument(write());
    const { plain, packed, tag } = made;
    const headers = {
      'Cache-Control': cacheControl,
      // Weak, because it is the same with and without compression.
      ETag: `W/${tag}`,
      Vary: 'Accept-Encoding',
    };
    const known = (request.headers['if-none-match'] ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
    if (known.includes(tag) || known.includes('*')) {
      response.writeHead(304, headers).end();
      return;
    }
    const isPacked = takesGzip(String(request.headers['accept-encoding'] ?? ''));
    const bytes = isPacked ? packed : plain;
    response.writeHead(200, {
      ...headers,
      'Content-Type': `${types[type]}; charset=utf-8`,
      'Content-Length': bytes.length,
      ...(isPacked && { 'Content-Encoding': 'gzip' }),
    });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  };
}

type Document = Readonly<{ plain: Buffer; packed: Buffer; tag: string }>;

function makeDocument(text: string): Document {
  const plain = Buffer.from(text);
  const tag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 16)}"`;
  return { plain, packed: gzipSync(plain), tag };
}

const takesGzip = (accepted: string): boolean =>
  accepted.split(',').some((coding) => {
    const [name, quality = '1'] = coding
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/);
    return name === 'gzip' && Number(quality) > 0;
  });

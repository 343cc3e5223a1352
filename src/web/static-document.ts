/**
 * Texts that do not change while the process runs: made and compressed at the first request, and not sent again to a
 * client that has them.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';

export type StaticType = 'html' | 'json' | 'css' | 'js' | 'text';

/** Returns a handler of GET and HEAD that sends what `write` returns; `cacheControl` is the header of that name. */
export function staticDocument(
  write: () => string,
  type: StaticType,
  cacheControl: string,
): (request: Request, response: Response) => void {
  let made: Document | null = null;
  return (request, response) => {
    made ??= makeDocument(write());
    const isPacked = request.acceptsEncodings('gzip') === 'gzip';
    response.type(type).set({ 'Cache-Control': cacheControl, ETag: made.tag, Vary: 'Accept-Encoding' });
    if (isPacked) response.set('Content-Encoding', 'gzip');
    response.send(isPacked ? made.packed : made.plain);
  };
}

type Document = Readonly<{ plain: Buffer; packed: Buffer; tag: string }>;

function makeDocument(text: string): Document {
  const plain = Buffer.from(text);
  // Weak, because it is the same with and without compression.
  const tag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 16)}"`;
  return { plain, packed: gzipSync(plain), tag };
}

/**
 * A GET request with limits on time and size.
 */
import type { z } from 'zod';
import { excerpt } from '../core/excerpt.ts';
import { transient } from '../core/fault.ts';
import { gunzipped, singleRequests } from '../lib/single-requests.ts';
import { check, malformed } from './source.ts';

/** The address of a source and its limits. `timeoutMs` covers everything from connecting to the last byte. */
export type HttpLimits = Readonly<{ origin: string; timeoutMs: number; bytesMax: number }>;

/** Gets a JSON document and checks its shape. @throws Fault transient, see `RateSource.fetch` */
export async function getJson<Shape>(
  source: string,
  limits: HttpLimits,
  path: string,
  schema: z.ZodType<Shape>,
  signal: AbortSignal,
): Promise<Shape> {
  const text = await getText(source, limits, path, signal);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed(source, 'the body', `is not JSON: "${excerpt(text)}"`);
  }
  return check(source, schema, value, []);
}

/** Gets a text document. Redirects are refused. @throws Fault transient, see `RateSource.fetch` */
export async function getText(source: string, limits: HttpLimits, path: string, signal: AbortSignal): Promise<string> {
  const { ok, status, text } = await getOnce(source, limits, path, signal);
  if (!ok) throw refused(source, limits, status, text ?? '');
  if (text === null) throw malformed(source, 'the body', `is longer than ${limits.bytesMax} bytes`);
  return text;
}

async function getOnce(source: string, limits: HttpLimits, path: string, signal: AbortSignal) {
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  try {
    const { statusCode, headers, body } = await singleRequests.request({
      origin: limits.origin,
      path,
      method: 'GET',
      // Compressed answers are much shorter, and there is one each minute.
      headers: { 'user-agent': 'Quayside', 'accept-encoding': 'gzip' },
      signal: AbortSignal.any([signal, timeout]),
    });
    const plain = headers['content-encoding'] === 'gzip' ? gunzipped(body) : body;
    const text = await readBody(plain, limits.bytesMax);
    return { ok: statusCode >= 200 && statusCode < 300, status: statusCode, text };
  } catch (error) {
    const why = timeout.aborted
      ? `no whole answer within ${limits.timeoutMs} ms`
      : reasonOf(error as NodeJS.ErrnoException);
    throw transient(
      'rate_source_unreachable',
      `${source} could not be reached at ${limits.origin}: ${why}; asking again at the next refresh`,
      error,
    );
  }
}

/** Returns the reason of a failure. If none of a host's several addresses can be reached, the error has only a code. */
const reasonOf = ({ message, code, name }: NodeJS.ErrnoException): string => message || (code ?? name);

/** Reads a body; null if it has more than `bytesMax` bytes, after decompression. The rest is not read. */
async function readBody(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function refused(source: string, limits: HttpLimits, status: number, body: string) {
  const advice =
    status === 429 || status === 418
      ? `it asks for fewer requests than one a minute: if this lasts, remove ${source} from rates.sources`
      : status === 403 || status === 451
        ? `it does not serve this IP address: remove ${source} from rates.sources`
        : 'asking again at the next refresh';
  return transient(
    'rate_source_refused',
    `${source} at ${limits.origin} answered HTTP ${status}${body && ` "${excerpt(body)}"`}; ${advice}`,
  );
}

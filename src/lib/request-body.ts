/**
 * Bodies of requests: read up to a limit, and not waited for when they are longer or when nobody wants them.
 * @module
 */
import type { IncomingMessage } from 'node:http';

/** After its answer, a client may send so much more of a body that nobody reads; most notice the answer sooner. */
const DISCARDED_BYTES_MAX = 1024 * 1024;
/** A client that sends nothing for so long has noticed, or waits for the connection to be closed. */
const DISCARD_IDLE_MS = 1000;
/** What is left of a body of this size is taken in without a word, so that the connection can be used again. */
const UNREAD_BYTES_MAX = 64 * 1024;

/** Why a body was not read: the client's doing, so it is no `Fault`. */
export class BodyError extends Error {
  readonly code: 'too_large' | 'encoded' | 'aborted';

  constructor(code: BodyError['code']) {
    super(`the body was not read: ${code}`);
    this.code = code;
  }
}

/**
 * Reads the body as the bytes that were sent. Stops at the announced length, or at the first byte beyond the limit.
 * @throws BodyError
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const { 'content-length': length = '0', 'content-encoding': encoding = 'identity' } = request.headers;
  if (encoding.toLowerCase() !== 'identity') throw new BodyError('encoded');
  if (Number(length) > bytesMax) throw new BodyError('too_large');
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += chunk.length;
      if (bytes > bytesMax) break;
      chunks.push(chunk);
    }
  } catch {
    throw new BodyError('aborted');
  }
  if (bytes > bytesMax) throw new BodyError('too_large');
  return Buffer.concat(chunks);
}

/**
 * Reads a Content-Type, as far as bodies are told apart by it.
 * @returns the media type in lower case, and whether the text is said to be UTF-8, as it is where nothing is said
 */
export function readContentType(header = ''): Readonly<{ mediaType: string; isUtf8: boolean }> {
  const [mediaType = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charsets = parameters.filter((parameter) => /^charset\s*=/.test(parameter));
  return { mediaType, isUtf8: charsets.every((charset) => /=\s*"?utf-?8"?$/.test(charset)) };
}

/** Whether more of the body may come than is worth waiting for. */
export function isUnread({ complete, headers }: IncomingMessage): boolean {
  const isChunked = headers['transfer-encoding'] !== undefined;
  return !complete && (isChunked || Number(headers['content-length'] ?? 0) > UNREAD_BYTES_MAX);
}

/**
 * Throws the rest of a body away, as far as that is worth it, so that the client can read its answer: closing a connection on which bytes
 * have come that were not read takes the answer away again.
 * @param onEnd called once, when the connection may be closed
 */
export function discardBody(request: IncomingMessage, onEnd: () => void): void {
  let bytesLeft = DISCARDED_BYTES_MAX;
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    onEnd();
  };
  request.on('data', (chunk: Buffer) => {
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) end();
  });
  request.once('end', end).once('close', end).setTimeout(DISCARD_IDLE_MS, end);
  // Begins to read at once, which leaves the body to this function; Node takes in what nobody has begun to read.
  request.read(0);
  request.resume();
}

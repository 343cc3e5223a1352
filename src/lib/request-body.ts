/**
 * Request bodies: reading them up to a limit, and discarding what is too long or unwanted.
 */
import type { IncomingMessage } from 'node:http';

/** A client may send at most this much of a discarded body after the answer; most notice the answer sooner. */
const DISCARDED_BYTES_MAX = 1024 * 1024;
/** A client that sends nothing for this long has noticed the answer, or waits for the connection to close. */
const DISCARD_IDLE_MS = 1000;
/** The rest of a body of at most this size is read and ignored, so that the connection can be reused. */
const UNREAD_BYTES_MAX = 64 * 1024;

/** Why a body was not read. The client caused it, so it is not a `Fault`. */
export class BodyError extends Error {
  readonly code: 'too_large' | 'encoded' | 'aborted';

  constructor(code: BodyError['code']) {
    super(`the body was not read: ${code}`);
    this.code = code;
  }
}

/**
 * Reads the body's bytes as sent. Stops at the announced length, or at the first byte beyond the limit.
 * @throws BodyError
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const { 'content-length': length = '0', 'content-encoding': encoding = 'identity' } = request.headers;
  if (encoding.toLowerCase() !== 'identity') throw new BodyError('encoded');
  if (Number(length) > bytesMax) throw new BodyError('too_large');
  if (request.destroyed) throw new BodyError('aborted');
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const end = (error: BodyError | null): void => {
      request.off('data', take).off('end', whole).off('error', abort).off('close', abort);
      if (error) reject(error);
      else resolve(Buffer.concat(chunks));
    };
    const whole = () => end(null);
    const abort = () => end(new BodyError('aborted'));
    function take(chunk: Buffer): void {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= bytesMax) return;
      request.pause();
      end(new BodyError('too_large'));
    }
    request.on('data', take).once('end', whole).once('error', abort).once('close', abort);
  });
}

/**
 * Reads a Content-Type header.
 * @returns the media type in lower case, and whether the text is UTF-8, which is also the default
 */
export function readContentType(header = ''): Readonly<{ mediaType: string; isUtf8: boolean }> {
  const [mediaType = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charsets = parameters.filter((parameter) => /^charset\s*=/.test(parameter));
  return { mediaType, isUtf8: charsets.every((charset) => /=\s*"?utf-?8"?$/.test(charset)) };
}

/** Returns whether more of the body may come than is worth waiting for. */
export function isUnread({ complete, headers }: IncomingMessage): boolean {
  const isChunked = headers['transfer-encoding'] !== undefined;
  return !complete && (isChunked || Number(headers['content-length'] ?? 0) > UNREAD_BYTES_MAX);
}

/**
 * Discards the rest of a body, within limits, so that the client can read its answer: closing a connection with unread
 * bytes would lose the answer.
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
  // Starts reading at once, so that the body is ours; Node drains a body that nobody has started to read.
  request.read(0);
  request.resume();
}

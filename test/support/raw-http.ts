/**
 * HTTP as bytes on a socket, for what no client library would send.
 */
import { connect } from 'node:net';
import type { HttpAnswer } from './signed-client.ts';

/** The answer until the server closed the connection, and how many bytes of the body it let itself be sent. */
export type RawAnswer = Readonly<{ text: string; sentBytes: number }>;

const CHUNK = Buffer.alloc(64 * 1024, 'x');

/**
 * Sends `head` and whatever `body` yields, and reads until the server closes.
 * @param bodyBytesMax stops sending after this many bytes, and gives up
 */
export function rawExchange(baseUrl: string, head: string, bodyBytesMax = 0, isChunked = false): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    let sentBytes = 0;
    const send = () => {
      while (!socket.destroyed && sentBytes < bodyBytesMax) {
        sentBytes += CHUNK.length;
        const part = isChunked ? `${CHUNK.length.toString(16)}\r\n${CHUNK}\r\n` : CHUNK;
        if (!socket.write(part)) return;
      }
      if (sentBytes > 0 && sentBytes >= bodyBytesMax) socket.destroy();
    };
    socket.setEncoding('latin1');
    socket.on('data', (part) => {
      text += part;
    });
    // A connection that is closed while one sends is reset.
    socket.on('error', () => {});
    socket.on('close', () => resolve({ text, sentBytes }));
    socket.on('drain', send);
    socket.write(head);
    if (bodyBytesMax > 0) send();
  });
}

/** The first answer in what came back. */
export function parseRaw(text: string): HttpAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = rest.join('\r\n\r\n');
  return {
    status: Number(status.split(' ')[1]),
    headers,
    text: body,
    json: headers['content-type']?.startsWith('application/json') ? JSON.parse(body) : null,
  };
}

/**
 * A node's HTTP listener that spends almost no time on an answer, so that the reader is measured and not the server:
 * large answers consist of parts that were rendered beforehand and are sent without being copied.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer's bytes in pieces; a piece may be part of many answers. */
export type Parts = readonly Uint8Array[];

/** Answers a POST. */
export type Answer = (path: string, body: string) => Parts;

/** Starts listening on loopback. @returns the port */
export async function servePrepared(answer: Answer): Promise<number> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => send(response, answer(request.url ?? '/', body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function send(response: ServerResponse, parts: Parts): void {
  const length = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
}

/** Returns the JSON text of a list's members, without the brackets. */
export const listText = (members: readonly unknown[]): string => members.map((member) => JSON.stringify(member)).join();

/**
 * Splits the JSON text of a list, or of an object that ends with one, so that members can be appended to that list.
 * @returns the bytes before the further members, and those after them
 */
export function openAtEnd(text: string, closing: ']' | ']}'): readonly [Uint8Array, Uint8Array] {
  if (!text.endsWith(closing)) throw new Error(`expected an answer that ends with ${closing}, not …${text.slice(-20)}`);
  return [Buffer.from(`${text.slice(0, -closing.length)},`), Buffer.from(closing)];
}

/** Bytes with marks to replace by values of the same length. */
export type Template = Readonly<{ fill(values: readonly string[]): Uint8Array }>;

/** @param marks what to replace, wherever it occurs; ASCII */
export function createTemplate(text: string, marks: readonly string[]): Template {
  const bytes = Buffer.from(text);
  const places = marks.map((mark) => {
    const found: number[] = [];
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) found.push(at);
    return found;
  });
  return {
    fill(values) {
      const filled = Buffer.from(bytes);
      places.forEach((found, at) => {
        const value = Buffer.from(values[at] ?? '', 'latin1');
        if (value.length !== marks[at]?.length) throw new Error(`"${value}" is not as long as "${marks[at]}"`);
        for (const place of found) filled.set(value, place);
      });
      return filled;
    },
  };
}

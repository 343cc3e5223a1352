/**
 * Answers that were recorded from a real java-tron, and a node that gives them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely; every field used is asserted
export type Json = any;

const FOLDER = 'test/fixtures/tron/java-tron-4.8.0';

/** One request and what java-tron answered: `text` byte by byte, where the recording kept it. */
export type Recording = Readonly<{
  name: string;
  path: string;
  request: Json;
  status: number;
  contentType: string;
  text: string;
  response: Json;
}>;

export const recordingNames: readonly string[] = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ''));

/** Reads a recording; the name is the method and the case. */
export function readRecording(name: string): Recording {
  const stored = JSON.parse(readFileSync(`${FOLDER}/${name}.json`, 'utf8'));
  const { status = 200, contentType = 'application/json;charset=utf-8', response, request } = stored;
  const text = stored.body ?? JSON.stringify(response);
  return { name, path: stored.path, request, status, contentType, text, response };
}

export type RecordedNode = Readonly<{
  url: string;
  /** What is answered, by path. Anything else is answered as an unknown path is. */
  answers: Map<string, (body: Json) => Recording>;
  close(): Promise<void>;
}>;

/** Starts a node on one port, as a gateway that serves both of java-tron's ports. */
export async function startRecordedNode(): Promise<RecordedNode> {
  const answers: RecordedNode['answers'] = new Map();
  const unknown = readRecording('unknown-path');
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = answers.get(request.url ?? '');
    const { status, contentType, text } = answer ? answer(JSON.parse(body)) : unknown;
    response.writeHead(status, { 'content-type': contentType }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * The answers that were recorded from a real Solana node (`test/fixtures/solana`), and a server that gives them again,
 * byte for byte except for the id.
 *
 *   const node = await startRecordedNode();
 *   node.play('getSlot.confirmed', 'getBlock.none');
 *   … requests of these methods are now answered as recorded …
 *   await node.close();
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { WebSocketServer } from 'ws';

const FOLDER = 'test/fixtures/solana/agave-3.1.5';

/**
 * `request` is what was sent, a text if it was not JSON; `method` and `params` are those of a single call, otherwise
 * empty. `body` and `messages` are the node's own texts.
 */
export type Recording = Readonly<{
  name: string;
  request: unknown;
  method: string;
  params: readonly unknown[];
  status: number;
  body: string;
  messages: readonly string[];
}>;

function readRecording(file: string): Recording {
  const text = readFileSync(`${FOLDER}/${file}`, 'utf8');
  const { request, status = 200, response, messages = [] } = JSON.parse(text);
  // The rest of the file after the name of its last member: the body as text.
  const raw = text.slice(text.indexOf('\n "response": ') + 14, text.lastIndexOf('\n}'));
  return {
    name: file.replace(/\.json$/, ''),
    request,
    method: request?.method ?? '',
    params: request?.params ?? [],
    status,
    body: typeof response === 'string' ? response : raw,
    messages: messages.map((message: unknown) => JSON.stringify(message)),
  };
}

/** All recordings by name: the file's name without `.json`. */
export const recordings: ReadonlyMap<string, Recording> = new Map(
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map(readRecording)
    .map((one) => [one.name, one]),
);

export function recording(name: string): Recording {
  const found = recordings.get(name);
  if (!found) throw new Error(`there is no recording ${name}`);
  return found;
}

/** Returns the parsed result of a recording; integers above 2^53 are rounded. */
// biome-ignore lint/suspicious/noExplicitAny: a recorded answer has any shape
export const resultOf = (name: string): any => JSON.parse(recording(name).body).result;

const ACCOUNT = /\{"data":\[[^\]]*\],"executable":\w+,"lamports":\d+,"owner":"\w+","rentEpoch":\d+,"space":\d+\}|null/g;

/** The text of each account that was recorded in base64, by its address. */
function accountTexts(): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { method, params, body } of recordings.values()) {
    if (!/^get(MultipleAccounts|AccountInfo)$/.test(method)) continue;
    const value = /"value":(.*)\},"id":\d+\}$/s.exec(body)?.[1];
    const asked = [params[0]].flat();
    if (value === undefined) continue;
    const accounts = value.match(ACCOUNT) ?? [];
    for (const [at, address] of asked.entries()) {
      const text = accounts[at];
      if (text?.startsWith('{')) texts.set(String(address), text);
    }
  }
  return texts;
}

type Call = Readonly<{ id: unknown; method: string; params?: readonly unknown[] }>;

/** The client's id in the place of the recorded one. */
const withId = (body: string, id: unknown): string => body.replace(/"id":(\d+|null)\}$/, `"id":${JSON.stringify(id)}}`);

export type RecordedNode = Readonly<{
  httpUrl: string;
  wsUrl: string;
  /**
   * From now on, calls are answered by these recordings: by the one with the same parameters, or else by the last one
   * of the same method. `getMultipleAccounts` is answered with any accounts that were recorded, `getBlocks` with none.
   */
  play(...names: string[]): void;
  /** From now on, every request is answered with this recording's status and body, or its messages. */
  playOnly(name: string): void;
  /** Methods called so far. */
  asked: readonly string[];
  close(): Promise<void>;
}>;

export async function startRecordedNode(): Promise<RecordedNode> {
  const accounts = accountTexts();
  const asked: string[] = [];
  let played: readonly Recording[] = [];
  let only: Recording | null = null;

  function answerCall({ id, method, params = [] }: Call): string {
    asked.push(method);
    const same = played.filter((one) => one.method === method);
    const found = same.find((one) => isDeepStrictEqual(one.params, params)) ?? same.at(-1);
    if (found) return withId(found.body, id);
    // The slots between a block and its parent were skipped.
    if (method === 'getBlocks') return `{"jsonrpc":"2.0","result":[],"id":${id}}`;
    if (method !== 'getMultipleAccounts') throw new Error(`${method} is not among the recordings that are played`);
    const value = (params[0] as string[]).map((address) => accounts.get(address) ?? 'null');
    return `{"jsonrpc":"2.0","result":{"context":{"apiVersion":"3.1.5","slot":37},"value":[${value}]},"id":${id}}`;
  }

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const calls = JSON.parse(text) as Call | Call[];
    const body = only?.body ?? (Array.isArray(calls) ? `[${calls.map(answerCall)}]` : answerCall(calls));
    response.writeHead(only?.status ?? 200, { 'content-type': 'application/json; charset=utf-8' }).end(body);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (client) => {
    client.once('message', () => {
      for (const message of only?.messages ?? []) client.send(message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    httpUrl: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    play(...names) {
      played = names.map(recording);
      only = null;
    },
    playOnly(name) {
      only = recording(name);
    },
    asked,
    async close() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

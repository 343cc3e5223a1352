/** Answers that were recorded from real nodes (`test/fixtures`), and nodes that give them again. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { WebSocketServer } from 'ws';

// biome-ignore lint/suspicious/noExplicitAny: recordings are looked into freely; every field used is asserted
export type Json = any;

/** One case: a question, and the node's answer. */
export type Recording = Readonly<{
  /** The file's, without extension. */
  name: string;
  /** A text if it was not JSON. */
  request: Json;
  /** Of java-tron's interface; empty for JSON-RPC. */
  path: string;
  /** Of a single JSON-RPC call; otherwise empty. */
  method: string;
  params: Json;
  status: number;
  contentType: string;
  /** Byte for byte, where the file keeps it so. */
  text: string;
  response: Json;
  /** Over a WebSocket. */
  messages: readonly Json[];
}>;

function readRecording(path: string, name: string): Recording {
  const file = readFileSync(`${path}/${name}.json`, 'utf8');
  const { request, response, body, messages = [], status = 200, ...rest } = JSON.parse(file);
  // The rest of the file after the name of its last member; java-tron's answers have no such layout.
  const kept = file.slice(file.indexOf('\n "response": ') + 14, file.lastIndexOf('\n}'));
  const raw = rest.path ? JSON.stringify(response) : kept;
  return {
    name,
    request,
    response,
    status,
    messages,
    path: rest.path ?? '',
    method: request?.method ?? '',
    params: request?.params ?? [],
    contentType: rest.contentType ?? 'application/json;charset=utf-8',
    text: body ?? (typeof response === 'string' ? response : raw),
  };
}

/** Returns the recordings of a folder below `test/fixtures`, by name. */
export function readRecordings(folder: string): ReadonlyMap<string, Recording> {
  const path = `test/fixtures/${folder}`;
  const names = readdirSync(path).map((file) => file.replace(/\.json$/, ''));
  return new Map(names.map((name) => [name, readRecording(path, name)]));
}

/** Returns a recording, which must exist. */
export function theRecording(recordings: ReadonlyMap<string, Recording>, name: string): Recording {
  const found = recordings.get(name);
  if (!found) throw new Error(`there is no recording ${name}`);
  return found;
}

type Given = Pick<Recording, 'status' | 'contentType' | 'text'>;

/**
 * Serves answers over HTTP and WebSocket.
 * @param onMessage what is sent on a WebSocket; the answer if absent
 */
async function serve(
  answer: (text: string, path: string) => Given,
  onMessage: (text: string) => readonly string[] = (text) => [answer(text, '/').text],
) {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const given = answer(text, request.url ?? '/');
    response.writeHead(given.status, { 'content-type': given.contentType }).end(given.text);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (client) => {
    client.on('message', (data) => {
      for (const message of onMessage(data.toString())) client.send(message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    httpUrl: `http://${place}`,
    wsUrl: `ws://${place}`,
    async close() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Call = Readonly<{ id: unknown; method: string; params?: Json }>;

const json = (text: string): Given => ({ status: 200, contentType: 'application/json; charset=utf-8', text });
const same = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(one, other) || JSON.stringify(one).toLowerCase() === JSON.stringify(other).toLowerCase();
/** The function that a call of a contract is of; undefined for other requests. */
const functionOf = (params: Json): string | undefined => params?.[0]?.data?.slice(0, 10);

/** An answer with the client's id in the place of the recorded one. Where the id comes last, all else stays as text. */
function withId(text: string, id: unknown): string {
  const own = `"id":${JSON.stringify(id)}}`;
  return /"id":(\d+|null)\}$/.test(text)
    ? text.replace(/"id":(\d+|null)\}$/, own)
    : JSON.stringify({ ...JSON.parse(text), id });
}

export type RecordedNode = Awaited<ReturnType<typeof startRecordedNode>>;

/**
 * Starts a JSON-RPC node.
 * @param fallback returns the result's JSON of a call that no played recording answers, or null
 */
export async function startRecordedNode(fallback: (method: string, params: Json) => string | null) {
  let played: readonly Recording[] = [];
  let only: Recording | null = null;

  function answerCall({ id, method, params = [] }: Call): string {
    const calls = played.filter(
      ({ request }) => request.method === method && functionOf(request.params) === functionOf(params),
    );
    const found = calls.find(({ request }) => same(request.params, params)) ?? calls[0];
    if (found) return withId(found.text, id);
    const result = fallback(method, params);
    if (result !== null) return `{"jsonrpc":"2.0","result":${result},"id":${JSON.stringify(id)}}`;
    const error = { code: -32601, message: `nothing is recorded of ${method}` };
    return JSON.stringify({ jsonrpc: '2.0', id, error });
  }

  /** Returns the answer to a whole message, with the ids of the question. */
  function answer(text: string): Given {
    if (only) return only;
    const question: Call | Call[] = JSON.parse(text);
    const whole = played.find(({ request, status }) => Array.isArray(request) || status !== 200);
    if (whole && typeof whole.response === 'string') return whole;
    if (whole && Array.isArray(question)) {
      const idOf = new Map(whole.request.map(({ id }: Call, at: number) => [id, question[at]?.id]));
      const answers = [whole.response].flat().map((one: Json) => ({ ...one, id: idOf.get(one.id) ?? null }));
      return json(JSON.stringify(Array.isArray(whole.response) ? answers : answers[0]));
    }
    return json(Array.isArray(question) ? `[${question.map(answerCall)}]` : answerCall(question));
  }

  /** A subscription is answered with the recorded messages; the first one grants it. */
  function onMessage(text: string): readonly string[] {
    const messages = only?.messages ?? played.find((one) => one.messages.length > 0)?.messages;
    if (!messages || (!only && !text.includes('eth_subscribe'))) return [answer(text).text];
    const { id } = JSON.parse(text) as Call;
    return messages.map((message) => JSON.stringify(!only && message.id === 1 ? { ...message, id } : message));
  }

  return {
    ...(await serve(answer, onMessage)),
    /**
     * Plays these recordings from now on, and no others. A recorded call answers every call of its method (and of the
     * same function of a contract); of several, the one with the same arguments, or else the first. A recorded batch or
     * refusal answers every message.
     */
    play(...recordings: readonly Recording[]) {
      played = recordings;
      only = null;
    },
    /** From now on, everything is answered with this recording as it is. */
    playOnly(recording: Recording) {
      only = recording;
    },
  };
}

/**
 * Starts a node on one port, as a gateway that serves both of java-tron's ports.
 * @param unknown the answer to a path that has none
 */
export async function startRecordedTron(unknown: Recording) {
  /** Answers by path. */
  const answers = new Map<string, (body: Json) => Recording>();
  const node = await serve((text, path) => answers.get(path)?.(JSON.parse(text)) ?? unknown);
  return { ...node, answers };
}

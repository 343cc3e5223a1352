/**
 * A simulated java-tron node on loopback: the full node's interface under `/wallet/` and the solidified chain's under
 * `/walletsolidity/`, on one port, as gateways do; and the sandbox's control methods by JSON-RPC at `/`.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tronAddress } from '../chains/tron/address.ts';
import type { WorldBlock } from './block-tree.ts';
import { openControl } from './control.ts';
import type { FaultKind, InjectedFault } from './faults.ts';
import { bearerOf, closeServer, listenOnLoopback, readBody, refuse, sendThrough } from './http-listener.ts';
import { answerMessage } from './json-rpc.ts';
import { type NodeServer, type NodeServerOptions, tokenKey } from './node-server.ts';
import { TronError } from './tron-arguments.ts';
import { tronFaults, tronMethods } from './tron-methods.ts';
import { type View, viewThrough } from './view.ts';

const PATH = /^\/(wallet|walletsolidity)\/(\w+)$/;
/** The faults of HTTP connections. */
const connectionFaults: readonly FaultKind[] = ['rpc_error', 'http_error', 'hang', 'cut', 'drop'];
const errorText = (message: string): string => JSON.stringify({ Error: message });
const RATE_LIMITED = errorText('class java.lang.IllegalAccessException : lack of computing resources');
/** Not JSON, though its content type says so. */
const HISTORY_CLOSED = 'this API is closed because this node is a lite fullnode';

/**
 * Starts listening.
 * @throws the listen error when no port is free
 */
export async function startTronServer(options: NodeServerOptions): Promise<NodeServer> {
  const { world, miner, faults, chainId, controlToken } = options;
  const tokens = options.tokens.map((token) => ({ ...token, key: tokenKey(tronAddress, token) }));
  const methods = tronMethods({ world, chainId, tokens });
  const control = openControl(
    { world, miner, faults, tokens, codec: tronAddress, formatHash: (digits) => digits },
    controlToken,
  );

  /** Returns the answer's text; faults in transit are applied elsewhere. */
  function answer(path: string, method: string, body: Record<string, unknown>, fault: InjectedFault | null): string {
    const run = methods.get(method);
    if (!run || fault?.kind === 'rpc_error') return RATE_LIMITED;
    if (fault?.kind === 'history_closed') return HISTORY_CLOSED;
    const shown = viewThrough(world, fault);
    const view = path === 'walletsolidity' ? solidified(shown) : shown;
    try {
      return `${JSON.stringify(run({ body, view, fault: fault?.kind ?? null }))}\n`;
    } catch (error) {
      if (!(error instanceof TronError)) throw error;
      return errorText(error.message);
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://node');
    const text = await readBody(request);
    if (text === null) return refuse(response, 413, 'Payload Too Large');
    if (url.pathname === '/') {
      const answered = answerMessage(text, (method, params) => control.call(method, params, bearerOf(request)));
      return sendThrough(null, request, response, answered);
    }
    const [, path = '', method = ''] = PATH.exec(url.pathname) ?? [];
    if (!methods.has(method)) return refuse(response, 404, 'Not Found');
    if (request.method !== 'POST' && request.method !== 'GET') return refuse(response, 405, 'Method Not Allowed');
    const body = request.method === 'GET' ? queryFields(url.searchParams) : bodyFields(text);
    if (!body) {
      const why = 'class org.tron.json.JSONException : syntax error';
      return sendThrough(null, request, response, errorText(why));
    }
    const fault = faults.strike([...connectionFaults, ...(tronFaults.get(method) ?? [])], url.pathname, body);
    sendThrough(fault, request, response, answer(path, method, body, fault));
  }

  const server = createServer((request, response) => {
    void serve(request, response);
  });
  const port = await listenOnLoopback(server, options.port);
  return { url: `http://127.0.0.1:${port}`, close: () => closeServer(server) };
}

/** Returns what a node shows on its second port: its chain up to the final block. */
function solidified(view: View): View {
  const tip = view.finalized();
  const isShown = (block: WorldBlock | undefined) => (block && block.number <= tip.number ? block : undefined);
  return {
    ...view,
    tip: () => tip,
    at: (number) => isShown(view.at(number)),
    byHash: (hash) => isShown(view.byHash(hash)),
  };
}

function bodyFields(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Returns a query's fields, as in a body. */
const queryFields = (query: URLSearchParams): Record<string, unknown> =>
  Object.fromEntries(
    [...query].map(([name, value]) => {
      if (value === 'true' || value === 'false') return [name, value === 'true'];
      return [name, name === 'num' ? Number(value) : value];
    }),
  );

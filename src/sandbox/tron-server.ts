/**
 * A simulated java-tron node on loopback: the full node's interface under `/wallet/` and the solidified chain's under
 * `/walletsolidity/`, on one port, as gateways do; and the sandbox's control methods by JSON-RPC at `/`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tronAddress } from '../chains/tron/address.ts';
import { isFields } from '../core/fields.ts';
import { createServer } from '../lib/node-http.ts';
import type { WorldBlock } from './block-tree.ts';
import { openControl } from './control.ts';
import { bearerOf, closeServer, listenOnLoopback, readBody, refuse, sendJson } from './http-listener.ts';
import type { Call } from './interceptor.ts';
import { answerMessage, toJson } from './json-rpc.ts';
import { type NodeServer, type NodeServerOptions, tokenKey } from './node-server.ts';
import { TronError, type TronQuestion } from './tron-arguments.ts';
import { tronMethods } from './tron-methods.ts';
import { poolState } from './tron-pool.ts';
import type { Method } from './tron-wallet-methods.ts';
import type { View } from './world.ts';

const PATH = /^\/(wallet|walletsolidity)\/(\w+)$/;
const errorText = (message: string): string => `${JSON.stringify({ Error: message })}\n`;

/**
 * Starts listening.
 * @throws the listen error when no port is free
 */
export async function startTronServer(options: NodeServerOptions): Promise<NodeServer> {
  const { world, interceptor, chainId, controlToken } = options;
  const tokens = options.tokens.map((token) => ({ ...token, key: tokenKey(tronAddress, token) }));
  const methods = tronMethods({ world, chainId, tokens });
  const control = openControl({ world, tokens, codec: tronAddress, formatHash: (digits) => digits }, controlToken);

  /** Returns the answer's text. */
  function answer(isSolid: boolean, method: Method, call: Call): string {
    const view = isSolid ? solidified(world) : world;
    const pool = {
      find: (id: string) => (isSolid ? undefined : poolState(world).transactions.find((one) => one.id === id)),
      accounts: () => (isSolid ? world.accounts(view.tip().number) : poolState(world).accounts),
    };
    try {
      const answered = interceptor.call(call, (body) => method({ body: body as TronQuestion['body'], view, pool }));
      return `${toJson(answered)}\n`;
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
      return sendJson(response, answered);
    }
    const [, path = '', method = ''] = PATH.exec(url.pathname) ?? [];
    const run = methods.get(method);
    if (!run || request.method !== 'POST') return refuse(response, 405, 'Method Not Allowed');
    const body = fieldsOf(text);
    if (!body) return sendJson(response, errorText('class com.alibaba.fastjson.JSONException'));
    const call: Call = { method: url.pathname, params: body, over: 'http' };
    interceptor.exchange(text, () => answer(path === 'walletsolidity', run, call), {
      connection: response,
      send: (answered) => sendJson(response, answered),
    });
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

/** Returns a body's fields; null if it is no object. */
function fieldsOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}');
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

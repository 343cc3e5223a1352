/**
 * A simulated EVM node on loopback: JSON-RPC over HTTP and WebSocket as go-ethereum serves it, and the sandbox's
 * control methods. `newHeads` is the only subscription, and only a wake-up, as with go-ethereum: after a reorg it
 * announces the last header of the new chain and nothing else.
 */
import { evmAddress } from '../chains/evm/address.ts';
import { openControl } from './control.ts';
import { digest } from './digest.ts';
import { positional } from './evm-arguments.ts';
import { dialects } from './evm-dialect.ts';
import { evmMethods } from './evm-methods.ts';
import { hex, renderHeader } from './evm-render.ts';
import { methodNotFound, RpcError } from './json-rpc.ts';
import { type Peer, serveJsonRpc } from './json-rpc-server.ts';
import { type NodeServer, type NodeServerOptions, tokenKey } from './node-server.ts';
import type { Change } from './world.ts';

/**
 * Starts listening.
 * @throws the listen error when no port is free
 */
export async function startEvmServer(options: NodeServerOptions): Promise<NodeServer> {
  const { world, interceptor, controlToken } = options;
  const chainId = Number(options.chainId);
  const tokens = options.tokens.map((token) => ({ ...token, key: tokenKey(evmAddress, token) }));
  const dialect = dialects[options.dialect ?? 'ethereum'];
  const reads = evmMethods({ world, chainId, tokens, dialect });
  const control = openControl({ world, tokens, codec: evmAddress, formatHash: hex }, controlToken);
  const subscribers = new Map<string, Peer>();
  let subscribed = 0;

  function subscribe(params: unknown, peer: Peer): string {
    const [kind] = positional(params);
    // −32001: go-ethereum's code for a connection that cannot receive notifications.
    if (!peer.notify) throw new RpcError(-32001, 'notifications not supported');
    if (kind !== 'newHeads') throw new RpcError(-32601, `no "${kind}" subscription in eth namespace`);
    const id = hex(digest('subscription', subscribed++).slice(0, 32).replace(/^0+/, ''));
    subscribers.set(id, peer);
    return id;
  }

  function announce({ added }: Change): void {
    const head = added.at(-1);
    if (!head) return;
    for (const [id, peer] of subscribers) {
      interceptor.announce({ method: 'newHeads', params: [id, head.hash] }, () =>
        peer.notify?.('eth_subscription', { subscription: id, result: renderHeader(head, dialect) }),
      );
    }
  }

  const view = { ...world, startsFinal: dialect.startsFinal };
  const endAnnouncing = world.onChange(announce);
  const server = await serveJsonRpc(options.port, {
    interceptor,
    call(method, params, peer) {
      if (method === 'eth_subscribe') return subscribe(params, peer);
      if (control.has(method)) return control.call(method, params, peer.bearer);
      const read = reads.get(method);
      if (!read) throw methodNotFound(method);
      return read({ params, view });
    },
    leave(peer) {
      for (const [id, owner] of subscribers) if (owner === peer) subscribers.delete(id);
    },
  });

  return {
    url: `ws://127.0.0.1:${server.port}`,
    async close() {
      endAnnouncing();
      await server.close();
    },
  };
}

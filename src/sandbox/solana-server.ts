/**
 * A simulated Solana node on loopback: JSON-RPC over HTTP on one port and PubSub over WebSocket on the next, as Agave
 * serves them, and the sandbox's control methods on the first.
 */
import { solanaAddress } from '../chains/solana/address.ts';
import { isSpendable } from '../chains/solana/offline-keys.ts';
import { openControl } from './control.ts';
import { methodNotFound } from './json-rpc.ts';
import { type Peer, type RpcService, serveJsonRpc } from './json-rpc-server.ts';
import { type NodeServer, type NodeServerOptions, tokenKey } from './node-server.ts';
import { solanaMethods } from './solana-methods.ts';
import { formatBlockHash, formatSignature } from './solana-render.ts';
import type { Change } from './world.ts';

/** Attempts to find two ports next to each other. */
const PORT_PAIRS_MAX = 20;

type Listening = Awaited<ReturnType<typeof serveJsonRpc>>;

/**
 * Opens the port of PubSub, and the RPC's below it.
 * @param port of PubSub, tried first; the RPC's may be elsewhere if it is taken
 */
async function openPorts(port: number, pubSub: RpcService, rpc: RpcService): Promise<[Listening, Listening]> {
  for (let attempts = 1; ; attempts++) {
    const upper = await serveJsonRpc(port, pubSub);
    const lower = await serveJsonRpc(upper.port - 1, rpc);
    if (lower.port === upper.port - 1 || port !== 0 || attempts === PORT_PAIRS_MAX) return [upper, lower];
    await Promise.all([upper.close(), lower.close()]);
  }
}

/**
 * Starts listening.
 * @throws the listen error when no port is free
 */
export async function startSolanaServer(options: NodeServerOptions): Promise<NodeServer> {
  const { world, interceptor, chainId, controlToken } = options;
  const tokens = options.tokens.map((token) => ({ ...token, key: tokenKey(solanaAddress, token) }));
  const reads = solanaMethods({ world, chainId, tokens });
  const control = openControl(
    {
      world,
      tokens,
      codec: solanaAddress,
      isSpendable,
      formatHash: formatBlockHash,
      formatTransaction: formatSignature,
    },
    controlToken,
  );
  const subscribers = new Map<number, Peer>();
  let subscribed = 0;

  function subscribe(peer: Peer): number {
    const id = subscribed++;
    subscribers.set(id, peer);
    return id;
  }

  function announce({ added }: Change): void {
    const head = added.at(-1);
    if (!head) return;
    const parent = world.byHash(head.parent)?.number ?? 0;
    const result = { slot: head.number, parent, root: world.finalized().number };
    for (const [id, peer] of subscribers) {
      interceptor.announce({ method: 'slotNotification', params: [id, head.hash] }, () =>
        peer.notify?.('slotNotification', { result, subscription: id }),
      );
    }
  }

  const endAnnouncing = world.onChange(announce);
  const pubSub: RpcService = {
    only: 'websocket',
    interceptor,
    call(method, _params, peer) {
      if (method === 'slotSubscribe') return subscribe(peer);
      throw methodNotFound(method);
    },
    leave(peer) {
      for (const [id, owner] of subscribers) if (owner === peer) subscribers.delete(id);
    },
  };
  const rpc: RpcService = {
    only: 'http',
    interceptor,
    call(method, params, peer) {
      if (control.has(method)) return control.call(method, params, peer.bearer);
      const read = reads.get(method);
      if (!read) throw methodNotFound(method);
      return read({ params, view: world });
    },
    leave: () => {},
  };
  const [upper, lower] = await openPorts(options.port, pubSub, rpc);

  return {
    url: `ws://127.0.0.1:${upper.port}`,
    rpcUrl: `http://127.0.0.1:${lower.port}`,
    async close() {
      endAnnouncing();
      await Promise.all([upper.close(), lower.close()]);
    },
  };
}

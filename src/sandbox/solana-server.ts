/**
 * A simulated Solana node on loopback: JSON-RPC over HTTP and PubSub over WebSocket, as Agave serves them but on one
 * port, and the sandbox's control methods.
 *
 * @module
 */
import { solanaAddress } from '../chains/solana/address.ts';
import { openControl } from './control.ts';
import { methodNotFound, RpcError } from './json-rpc.ts';
import { type Peer, serveJsonRpc, transportFaults } from './json-rpc-server.ts';
import { type NodeServer, type NodeServerOptions, tokenKey } from './node-server.ts';
import { contentFaults, solanaMethods } from './solana-methods.ts';
import { formatBlockHash, formatSignature } from './solana-render.ts';
import { viewThrough } from './view.ts';
import type { Change } from './world.ts';

const SUBSCRIPTIONS_MAX = 10_000;

/**
 * Starts listening.
 * @throws the listen error when no port is free
 */
export async function startSolanaServer(options: NodeServerOptions): Promise<NodeServer> {
  const { world, miner, faults, chainId, controlToken } = options;
  const tokens = options.tokens.map((token) => ({ ...token, key: tokenKey(solanaAddress, token) }));
  const reads = solanaMethods({ world, chainId, tokens });
  const control = openControl(
    {
      world,
      miner,
      faults,
      tokens,
      codec: solanaAddress,
      formatHash: formatBlockHash,
      formatTransaction: formatSignature,
    },
    controlToken,
  );
  const subscribers = new Map<number, Peer>();
  let subscribed = 0;

  function subscribe(peer: Peer): number {
    if (!peer.notify) throw methodNotFound('slotSubscribe');
    if (subscribers.size >= SUBSCRIPTIONS_MAX) throw new RpcError(-32603, 'Internal Error: Subscription refused');
    const id = subscribed++;
    subscribers.set(id, peer);
    return id;
  }

  function unsubscribe(params: unknown, peer: Peer): boolean {
    const id = Array.isArray(params) ? Number(params[0]) : Number.NaN;
    if (subscribers.get(id) !== peer) throw new RpcError(-32602, 'Invalid subscription id.');
    return subscribers.delete(id);
  }

  function announce({ added }: Change): void {
    const head = added.at(-1);
    if (!head) return;
    const parent = world.byHash(head.parent)?.number ?? 0;
    const result = { parent, root: world.finalized().number, slot: head.number };
    for (const [id, peer] of subscribers) {
      const fault = faults.strike(['push_lost', 'push_twice'], 'slotNotification', [id, head.hash]);
      if (fault?.kind === 'push_lost') continue;
      peer.notify?.('slotNotification', { result, subscription: id });
      if (fault?.kind === 'push_twice') peer.notify?.('slotNotification', { result, subscription: id });
    }
  }

  const endAnnouncing = world.onChange(announce);
  const server = await serveJsonRpc(options.port, {
    strike: (method, params) =>
      control.has(method)
        ? null
        : faults.strike([...transportFaults, ...(contentFaults.get(method) ?? [])], method, params),
    call(method, params, peer, fault) {
      if (method === 'slotSubscribe') return subscribe(peer);
      if (method === 'slotUnsubscribe') return unsubscribe(params, peer);
      if (control.has(method)) return control.call(method, params, peer.bearer);
      const read = reads.get(method);
      if (!read) throw methodNotFound(method);
      return read({ params, view: viewThrough(world, fault), fault: fault?.kind ?? null });
    },
    leave(peer) {
      for (const [id, owner] of subscribers) if (owner === peer) subscribers.delete(id);
    },
  });

  return {
    url: `ws://127.0.0.1:${server.port}`,
    rpcUrl: `http://127.0.0.1:${server.port}`,
    async close() {
      endAnnouncing();
      await server.close();
    },
  };
}

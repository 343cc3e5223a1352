/**
 * The addresses of a Solana node: PubSub and RPC each have their own.
 *
 * @module
 */
import { permanent } from '../../../core/fault.ts';
import type { NodeOptions } from '../../chain.ts';

/**
 * Returns the addresses of PubSub and RPC.
 * @throws Fault permanent `node_url_invalid`
 */
export function readUrls({
  url,
  rpcUrl,
}: Pick<NodeOptions, 'url' | 'rpcUrl'>): Readonly<{ rpcUrl: URL; pushUrl: URL | null }> {
  const given = URL.canParse(url) ? new URL(url) : null;
  const own = rpcUrl && URL.canParse(rpcUrl) ? new URL(rpcUrl) : null;
  const isHttp = (candidate: URL | null) => candidate !== null && /^https?:$/.test(candidate.protocol);
  if (given && /^wss?:$/.test(given.protocol)) {
    if (!rpcUrl) return { rpcUrl: rpcUrlOf(given), pushUrl: given };
    if (own && isHttp(own)) return { rpcUrl: own, pushUrl: given };
  } else if (given && isHttp(given) && !rpcUrl) return { rpcUrl: given, pushUrl: null };
  throw permanent(
    'node_url_invalid',
    'the node URL must start with ws:// or wss:// (with the RPC beside it, or at an rpc_url of its own), http:// or https://',
  );
}

/**
 * Returns the RPC address for a PubSub address: one port lower, as in Agave; the same address where a gateway shows no
 * port.
 */
export function rpcUrlOf(push: URL): URL {
  const rpc = new URL(push.href.replace(/^ws/, 'http'));
  if (push.port) rpc.port = String(Number(push.port) - 1);
  return rpc;
}

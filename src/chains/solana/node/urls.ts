/** The URLs of a Solana node, one for PubSub and one for the RPC. */
import { permanent } from '../../../core/fault.ts';
import type { NodeOptions } from '../../chain.ts';

/** `advice` is shown if nothing answers at `rpcUrl`. It is empty unless `rpcUrl` was derived from `pushUrl`. */
type SolanaUrls = Readonly<{ rpcUrl: URL; pushUrl: URL | null; advice: string }>;

/**
 * Returns the URLs of PubSub and RPC.
 * @throws Fault permanent `node_url_invalid`
 */
export function readUrls({ url, rpcUrl }: Pick<NodeOptions, 'url' | 'rpcUrl'>): SolanaUrls {
  const given = URL.canParse(url) ? new URL(url) : null;
  const own = rpcUrl && URL.canParse(rpcUrl) ? new URL(rpcUrl) : null;
  const isHttp = (candidate: URL | null) => candidate !== null && /^https?:$/.test(candidate.protocol);
  if (given && /^wss?:$/.test(given.protocol)) {
    if (!rpcUrl) return { rpcUrl: rpcUrlOf(given), pushUrl: given, advice: adviceOn(given) };
    if (own && isHttp(own)) return { rpcUrl: own, pushUrl: given, advice: '' };
  } else if (given && isHttp(given) && !rpcUrl) return { rpcUrl: given, pushUrl: null, advice: '' };
  throw permanent(
    'node_url_invalid',
    'the node URL must start with ws:// or wss:// (with the RPC beside it, or at an rpc_url of its own), http:// or https://',
  );
}

const adviceOn = ({ port }: URL): string =>
  port === ''
    ? ''
    : `The RPC is expected one port below the WebSocket's (${port}). If it is elsewhere, set the network's rpc_url. If ${port} is the RPC's own port, set the network's url to the WebSocket's`;

/**
 * Returns the RPC's URL for a PubSub URL. Its port is one lower, as in Agave. Without a port, as at a gateway, both
 * have the same host.
 */
export function rpcUrlOf(push: URL): URL {
  const rpc = new URL(push.href.replace(/^ws/, 'http'));
  if (push.port) rpc.port = String(Number(push.port) - 1);
  return rpc;
}

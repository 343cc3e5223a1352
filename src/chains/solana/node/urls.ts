/**
 * The addresses of a Solana node: PubSub and RPC each have their own.
 */
import { permanent } from '../../../core/fault.ts';
import type { NodeOptions } from '../../chain.ts';

/** `advice` is for the case that nothing answers at `rpcUrl`; empty unless that address was derived from the other. */
type SolanaUrls = Readonly<{ rpcUrl: URL; pushUrl: URL | null; advice: string }>;

/**
 * Returns the addresses of PubSub and RPC.
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
    : `The RPC is looked for one port below the WebSocket's (${port}): if it is elsewhere, set the network's rpc_url, and if ${port} is the RPC's own port, set its url to the WebSocket's`;

/**
 * Returns the RPC address for a PubSub address: one port lower, as in Agave; the same address where a gateway shows no
 * port.
 */
export function rpcUrlOf(push: URL): URL {
  const rpc = new URL(push.href.replace(/^ws/, 'http'));
  if (push.port) rpc.port = String(Number(push.port) - 1);
  return rpc;
}

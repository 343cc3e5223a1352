/**
 * Calls to one java-tron node, over the transport that its URL selects. `http://` and `https://` select its own
 * interface, `ws://` and `wss://` the bridge next to it.
 */

import { invariant, permanent, transient } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { NodeOptions } from '../../chain.ts';
import { openRequestQueue } from '../../transport/request-queue.ts';
import { isUnknown, nonsense, readAnswer } from '../answer.ts';
import type { Answers, Call, TronTransport } from '../calls.ts';
import { BLOCK_PATH, type Header, readHeader } from '../wire.ts';
import { openBridgeTransport } from './bridge-transport.ts';
import { openHttp, solidUrlOf } from './http.ts';

/** On the solidified chain, which is never reorganised. */
export const SOLID_BLOCK_PATH = '/walletsolidity/getblock';
/** The chain id is the last 4 bytes of the first block's id, as in java-tron's own `eth_chainId`. */
const CHAIN_ID_CHARS = 8;

/** `host` names the node in messages. */
export type TronRpc = Readonly<{
  host: string;
  transport: TronTransport;
  /** Makes the calls one after the other. @throws Fault transient */
  askAll(calls: readonly Call[]): Promise<Answers>;
  /** Returns one call's answer, as JSON. @throws Fault transient */
  ask(call: Call): Promise<unknown>;
}>;

type TronRpcOptions = Readonly<{
  url: string;
  /** URL of `/walletsolidity/`. Absent: the default place. Null: there is none. A bridge serves both. */
  finalityUrl?: string | null;
  requestTimeoutMs: number;
  responseBytesMax: number;
  concurrencyMax: number;
  idleMsMax: number;
}> &
  Pick<NodeOptions, 'observe'>;

/**
 * Starts connecting to a bridge; connects to a node at the first request.
 * @throws Fault permanent `node_url_invalid`
 */
export function openTronRpc(options: TronRpcOptions, clock: Clock): TronRpc {
  const url = URL.canParse(options.url) ? new URL(options.url) : null;
  const scheme = url?.protocol ?? '';
  if (!url || !['ws:', 'wss:', 'http:', 'https:'].includes(scheme)) {
    throw permanent('node_url_invalid', 'the node URL must start with ws://, wss://, http:// or https://');
  }
  // Query and user part often hold an access key. Host and port are enough to find the node.
  const { host } = url;
  const { finalityUrl } = options;
  const solidUrl = finalityUrl === null ? null : finalityUrl === undefined ? solidUrlOf(url) : new URL(finalityUrl);
  const transport = scheme.startsWith('ws')
    ? openBridgeTransport({ ...options, url, host }, clock)
    : openHttp({ ...options, url, solidUrl }, clock);
  const queue = openRequestQueue({ ...options, host });

  async function askAll(calls: readonly Call[]): Promise<Answers> {
    const signal = AbortSignal.timeout(options.requestTimeoutMs);
    let answers: Answers | null = null;
    try {
      answers = await queue.add(signal, () => transport.ask(calls, signal));
      return answers;
    } finally {
      if (options.observe) calls.forEach(observed(options.observe, answers));
    }
  }

  async function ask(call: Call): Promise<unknown> {
    const { bytes, parts } = await askAll([call]);
    const [part] = parts;
    invariant(part, 'each call has an answer');
    return readAnswer(bytes.subarray(part.from, part.to), { path: call.path, host });
  }

  return { host, transport, askAll, ask };
}

/** Reports each of several calls as an exchange of its own. */
const observed =
  (observe: NonNullable<NodeOptions['observe']>, answers: Answers | null) =>
  ({ path, body }: Call, at: number): void => {
    const part = answers?.parts[at];
    const answer = answers && part ? answers.bytes.subarray(part.from, part.to) : null;
    observe({ request: `${path} ${JSON.stringify(body)}`, answer });
  };

/** Returns the chain id according to a first block, as decimal text. */
export const chainIdOf = (first: Header): string => String(Number.parseInt(first.ref.hash.slice(-CHAIN_ID_CHARS), 16));

/**
 * Returns the header at a height or, for null, at the head; null if there is none.
 * @throws Fault transient
 */
export async function readHeaderAt(
  { ask, host }: TronRpc,
  path: typeof BLOCK_PATH | typeof SOLID_BLOCK_PATH,
  number: number | null,
): Promise<Header | null> {
  const origin = { path, host };
  const value = await ask({ path, body: { ...(number !== null && { id_or_num: String(number) }), detail: false } });
  if (isUnknown(value)) return null;
  const header = readHeader(value, origin);
  if (number === null || header.ref.number === number) return header;
  throw nonsense(origin, `answered with block ${header.ref.number} instead of ${number}`);
}

/**
 * Checks that the node is on the configured chain.
 * @throws Fault transient, also if it is on another chain
 */
export async function expectChain(node: TronRpc, chainId: string): Promise<void> {
  const first = await readHeaderAt(node, BLOCK_PATH, 0);
  if (!first) {
    throw transient('node_history_pruned', `${node.host} does not return its first block, which identifies the chain`);
  }
  const found = chainIdOf(first);
  if (found === chainId) return;
  throw transient(
    'node_wrong_chain',
    `${node.host} is on chain ${found}, not ${chainId}, and is not used for payouts: correct the network's url or witness_url`,
  );
}

/**
 * The messages between the bridge next to java-tron (`node/bridge.ts`) and its client (`node/bridge-transport.ts`),
 * over a WebSocket. Pure.
 *
 *   client → bridge   {"id":7,"calls":[["/wallet/getblock",{"id_or_num":"5","detail":false}],…]}
 *   bridge → client   {"id":7,"sizes":[513,…],"answers":[<java-tron's answer, byte by byte>,…]}
 *                     {"id":7,"fault":{"code":"node_timeout","message":"…"}}
 *                     {"head":{"number":5,"hash":"0000000000000005…"}}   after connecting, then at each new head
 *
 * A message is JSON if java-tron's answers are. It need not be parsed whole, because `sizes` has the length of each
 * answer.
 */
import type { BlockRef } from '../../core/block.ts';
import type { Fault } from '../../core/fault.ts';
import { isFields } from '../../core/fields.ts';
import type { Call, Part } from './calls.ts';

/**
 * The paths that the bridge forwards, which followers and payouts need. All of them only read, except `broadcasthex`,
 * which broadcasts a signed transaction.
 */
const bridgePaths: readonly string[] = [
  '/wallet/getblock',
  '/wallet/gettransactioninfobyblocknum',
  '/wallet/gettransactioninfobyid',
  '/wallet/triggerconstantcontract',
  '/wallet/getaccount',
  '/wallet/getaccountresource',
  '/wallet/getchainparameters',
  '/wallet/getcandelegatedmaxsize',
  '/wallet/getdelegatedresourcev2',
  '/wallet/broadcasthex',
  '/walletsolidity/getblock',
  '/walletsolidity/gettransactioninfobyid',
  '/walletsolidity/gettransactionbyid',
  '/walletsolidity/triggerconstantcontract',
];

/** Calls in one request. They are made one after the other. */
const CALLS_MAX = 8;

export type BridgeRequest = Readonly<{ id: number; calls: readonly Call[] }>;

/** The id and the sizes are within this many bytes. */
const PREFIX_BYTES_MAX = 256;
const ANSWERS = /^\{"id":(\d{1,15}),"sizes":\[(\d{1,10}(?:,\d{1,10})*)\],"answers":\[/;
const FAULT = /^\{"id":(\d{1,15}),"fault":/;
const HEAD = /^\{"head":/;

const startOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, PREFIX_BYTES_MAX)).toString('latin1');

export const writeRequest = ({ id, calls }: BridgeRequest): string =>
  JSON.stringify({ id, calls: calls.map(({ path, body }) => [path, body]) });

/** Returns the request, or a sentence about its mistake. */
export function readRequest(text: string): BridgeRequest | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'expected JSON';
  }
  if (!isFields(value) || !Number.isSafeInteger(value.id) || Number(value.id) < 0 || !Array.isArray(value.calls)) {
    return 'expected {"id": a whole number, "calls": [[path, body], …]}';
  }
  if (value.calls.length < 1 || value.calls.length > CALLS_MAX) return `expected 1 to ${CALLS_MAX} calls`;
  const calls: Call[] = [];
  for (const call of value.calls) {
    const [path, body] = Array.isArray(call) ? call : [];
    if (typeof path !== 'string' || !bridgePaths.includes(path)) return `expected one of ${bridgePaths.join(', ')}`;
    if (!isFields(body)) return `expected an object to post to ${path}`;
    calls.push({ path, body });
  }
  return { id: Number(value.id), calls };
}

/** Returns the message with all answers. */
export function writeAnswers(id: number, answers: readonly Uint8Array[]): Buffer {
  const sizes = answers.map(({ byteLength }) => byteLength);
  const comma = Buffer.from(',');
  return Buffer.concat([
    Buffer.from(`{"id":${id},"sizes":[${sizes.join()}],"answers":[`),
    ...answers.flatMap((answer, at) => (at === 0 ? [answer] : [comma, answer])),
    Buffer.from(']}'),
  ]);
}

export const writeFault = (id: number, { code, message }: Pick<Fault, 'code' | 'message'>): string =>
  JSON.stringify({ id, fault: { code, message } });

export const writeHead = ({ number, hash }: Pick<BlockRef, 'number' | 'hash'>): string =>
  JSON.stringify({ head: { number, hash } });

/** Returns the id of the request that a message answers; null for a head; undefined when it is neither. */
export function peekId(bytes: Uint8Array): number | null | undefined {
  const start = startOf(bytes);
  if (HEAD.test(start)) return null;
  const found = ANSWERS.exec(start) ?? FAULT.exec(start);
  return found ? Number(found[1]) : undefined;
}

/** Returns the places of the answers in a message; null if it has none or its length does not match its sizes. */
export function readAnswers(bytes: Uint8Array): Part[] | null {
  const found = ANSWERS.exec(startOf(bytes));
  if (!found) return null;
  const parts: Part[] = [];
  let from = found[0].length;
  for (const size of (found[2] ?? '').split(',')) {
    const to = from + Number(size);
    parts.push({ from, to });
    from = to + 1;
  }
  // After the last answer comes `]}`.
  return from + 1 === bytes.byteLength ? parts : null;
}

/** Returns the fault in a message; null if there is none. */
export function readFault(bytes: Uint8Array): Readonly<{ code: string; message: string }> | null {
  if (!FAULT.test(startOf(bytes))) return null;
  try {
    const { fault } = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
    return typeof fault?.code === 'string' && typeof fault.message === 'string' ? fault : null;
  } catch {
    return null;
  }
}

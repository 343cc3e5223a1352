/**
 * JSON-RPC 2.0 as nodes implement it: envelopes and answers. The family decides what an error means. Pure.
 *
 * Sources: https://www.jsonrpc.org/specification, and the real answers of geth, anvil, Nethermind and Agave.
 */

import { excerpt } from '../core/excerpt.ts';
import { type Fault, transient } from '../core/fault.ts';

/** `data` is the node's own addition, if any. */
export type RpcError = Readonly<{ code: number; message: string; data?: unknown }>;
export type RpcAnswer =
  | Readonly<{ ok: true; id: number; result: unknown }>
  | Readonly<{ ok: false; id: number; error: RpcError }>;

/** Source of an answer, for fault messages. Never a whole URL, which may hold credentials. */
export type Origin = Readonly<{ method: string; host: string }>;

/** An id is within this many bytes of an envelope's start or end. */
const ID_WINDOW_BYTES = 96;

const ID_FIRST = /^\s*\[?\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*[,}]/;
/** `"id":7}` at the end of a message is a member of its outermost object (or of a batch's last one). */
const ID_LAST = /,\s*"id"\s*:\s*(\d{1,15})\s*\}\s*\]?\s*$/;

const viewOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Returns the id of an answer without parsing all of it, if the id comes first (geth, reth, Erigon, anvil) or last
 * (Nethermind, Agave); null if it is elsewhere. A batch is identified by any of its ids.
 */
export function peekId(bytes: Uint8Array): number | null {
  const buffer = viewOf(bytes);
  const found =
    ID_FIRST.exec(buffer.toString('latin1', 0, ID_WINDOW_BYTES)) ??
    ID_LAST.exec(buffer.toString('latin1', Math.max(0, buffer.length - ID_WINDOW_BYTES)));
  return found ? Number(found[1]) : null;
}

/** @throws Fault transient `node_nonsense` */
export function parseJson(bytes: Uint8Array, origin: Origin): unknown {
  const text = viewOf(bytes).toString();
  try {
    return JSON.parse(text);
  } catch (error) {
    throw nonsense(origin, `answered with text that is not JSON (${bytes.byteLength} bytes): ${excerpt(text)}`, error);
  }
}

/** @throws Fault transient `node_nonsense` */
export function readAnswer(value: unknown, origin: Origin): RpcAnswer {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw nonsense(origin, 'answered with something that is not a JSON-RPC object');
  }
  const { id, result, error } = value as Record<string, unknown>;
  // A node that could not read our message answers with id null.
  const answersTo = typeof id === 'number' ? id : Number.NaN;
  if (typeof error === 'object' && error !== null) {
    const { code, message, data } = error as Record<string, unknown>;
    const known = { code: typeof code === 'number' ? code : 0, message: typeof message === 'string' ? message : '' };
    return { ok: false, id: answersTo, error: data === undefined ? known : { ...known, data } };
  }
  if (result === undefined) throw nonsense(origin, 'answered with neither a result nor an error');
  return { ok: true, id: answersTo, result };
}

/**
 * Returns the result of a single answer.
 * @throws Fault transient: `node_nonsense`, or what the node's error means
 */
export function readResult(bytes: Uint8Array, origin: Origin, meanings: readonly ErrorMeaning[]): unknown {
  const answer = readAnswer(parseJson(bytes, origin), origin);
  if (!answer.ok) throw errorFault(answer.error, origin, meanings);
  return answer.result;
}

export function nonsense(origin: Origin, what: string, cause?: unknown): Fault {
  return transient(
    'node_nonsense',
    `${origin.method} at ${origin.host} ${what}. If this persists, the URL is wrong or something between us and the node changes its answers: check the network's url`,
    cause,
  );
}

/** A kind of error, the fault's code for it, and advice to the operator. */
export type ErrorMeaning = Readonly<{ code: string; is: (error: RpcError) => boolean; advice: string }>;

/**
 * Turns a JSON-RPC error into a fault. It is always transient: nodes are restarted, upgraded and reconfigured at any
 * time.
 * @param meanings those of the family; the first match wins
 */
export function errorFault(error: RpcError, origin: Origin, meanings: readonly ErrorMeaning[]): Fault {
  const meaning = meanings.find(({ is }) => is(error));
  return transient(
    meaning?.code ?? 'node_error',
    `${origin.method} at ${origin.host} answered with error ${error.code} "${excerpt(error.message)}": ${meaning?.advice ?? "look at the node's log"}`,
  );
}

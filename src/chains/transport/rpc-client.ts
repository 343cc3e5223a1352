/**
 * Calls and batches over a transport: ids, a concurrency limit, time-outs, and errors turned into faults that name the
 * method. Nothing is retried here, except that a batch that is too large for the node is sent in smaller ones.
 */
import { Fault, invariant, transient } from '../../core/fault.ts';
import type { NodeOptions } from '../chain.ts';
import {
  type ErrorMeaning,
  errorFault,
  nonsense,
  type Origin,
  parseJson,
  peekId,
  type RpcAnswer,
  readAnswer,
} from '../json-rpc.ts';
import { openRequestQueue } from './request-queue.ts';
import type { RpcTransport } from './rpc-transport.ts';

/** Nodes limit batches, some to 100 (Erigon), and a batch's answer must stay within the response limit. */
export const BATCH_CALLS_MAX = 32;
/** Faults that a smaller batch may avoid. */
const BATCH_LIMITS: readonly string[] = ['node_batch_limited', 'node_request_too_large', 'node_response_too_large'];
/** Errors are short; a longer answer is content, which the caller parses. */
const ERROR_BYTES_MAX = 2_048;

export type RpcCall = Readonly<{ method: string; params: readonly unknown[] }>;

/** The answers to several calls, one for each. */
type AnswersTo<Calls extends readonly RpcCall[]> = { readonly [At in keyof Calls]: RpcAnswer };

export type RpcClient = Readonly<{
  /**
   * Returns one call's result.
   * @throws Fault transient, also for an error in the answer
   */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  /**
   * Returns one call's answer, errors included.
   * @throws Fault transient
   */
  attempt(method: string, params: readonly unknown[]): Promise<RpcAnswer>;
  /**
   * Returns the answers to many calls, in the order of the calls. They are sent as concurrent batches of limited size.
   * If the node refuses a batch or cuts its answer off, batches are half as large from then on, down to single calls.
   * @throws Fault transient; an error in one answer is returned, not thrown
   */
  batch<const Calls extends readonly RpcCall[]>(calls: Calls): Promise<AnswersTo<Calls>>;
  /**
   * Returns one call's whole answer, unparsed, as bytes that own their buffer.
   * @throws Fault transient, also for a short error answer
   */
  raw(method: string, params: readonly unknown[]): Promise<Uint8Array>;
}>;

export function createRpcClient(
  transport: RpcTransport,
  options: Readonly<{
    host: string;
    concurrencyMax: number;
    requestTimeoutMs: number;
    /** Faults by the errors of this family. */
    meanings: readonly ErrorMeaning[];
  }> &
    Pick<NodeOptions, 'observe'>,
): RpcClient {
  const { host, requestTimeoutMs, meanings, observe } = options;
  const queue = openRequestQueue(options);
  let lastId = 0;
  /** Largest batch that the node has not refused. It only falls. */
  let callsMax = BATCH_CALLS_MAX;

  async function exchange(text: string, ids: readonly number[], origin: Origin): Promise<Uint8Array> {
    const signal = AbortSignal.timeout(requestTimeoutMs);
    let answer: Uint8Array | null = null;
    try {
      answer = await queue.add(signal, () => transport.exchange({ text, ids }, signal));
      return answer;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw transient(error.code, `${origin.method} at ${error.message}`, error);
    } finally {
      observe?.({ request: text, answer });
    }
  }

  async function ask(method: string, params: readonly unknown[]): Promise<{ bytes: Uint8Array; id: number }> {
    lastId += 1;
    const id = lastId;
    const bytes = await exchange(JSON.stringify({ jsonrpc: '2.0', id, method, params }), [id], { method, host });
    return { bytes, id };
  }

  async function attempt(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    const origin = { method, host };
    const { bytes, id } = await ask(method, params);
    const answer = readAnswer(parseJson(bytes, origin), origin);
    // An error may lack the id if the node could not read the request.
    if (answer.id !== id && answer.ok) throw nonsense(origin, 'answered another request');
    return answer;
  }

  async function batchOnce(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    const ids = calls.map((_, at) => lastId + 1 + at);
    lastId += calls.length;
    const origin = { method: calls[0]?.method ?? 'batch', host };
    const text = JSON.stringify(calls.map((call, at) => ({ jsonrpc: '2.0', id: ids[at], ...call })));
    const value = parseJson(await exchange(text, ids, origin), origin);
    if (!Array.isArray(value)) {
      const answer = readAnswer(value, origin);
      throw answer.ok
        ? nonsense(origin, 'answered a batch with a single result')
        : errorFault(answer.error, origin, meanings);
    }
    const items = value.map((item) => readAnswer(item, origin));
    const byId = new Map(items.map((answer) => [answer.id, answer]));
    return ids.map((id) => {
      const answer = byId.get(id);
      if (answer) return answer;
      // Some nodes refuse a batch with one error for all of its calls.
      for (const item of items) if (!item.ok) throw errorFault(item.error, origin, meanings);
      throw nonsense(origin, `answered ${value.length} of ${calls.length} calls of a batch`);
    });
  }

  /** Returns whether the node left the answer out because those before it were too long together. */
  const isCutOff = (answer: RpcAnswer, { method }: RpcCall): boolean =>
    !answer.ok && BATCH_LIMITS.includes(errorFault(answer.error, { method, host }, meanings).code);

  /** Sends one batch. If it was too large, sends the unanswered calls again in smaller batches. */
  async function sendPart(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    const [only] = calls;
    if (only && calls.length === 1) return [await attempt(only.method, only.params)];
    let answers: readonly RpcAnswer[] = [];
    try {
      answers = await batchOnce(calls);
    } catch (error) {
      if (!(error instanceof Fault) || !BATCH_LIMITS.includes(error.code)) throw error;
    }
    const isMissing = (call: RpcCall, at: number): boolean => {
      const answer = answers[at];
      return !answer || isCutOff(answer, call);
    };
    const missing = calls.filter(isMissing);
    if (missing.length === 0) return answers;
    callsMax = Math.min(callsMax, Math.ceil(calls.length / 2));
    const rest = (await sendAll(missing))[Symbol.iterator]();
    return calls.map((call, at) => {
      const answer = isMissing(call, at) ? rest.next().value : answers[at];
      invariant(answer, 'each call has an answer');
      return answer;
    });
  }

  async function sendAll(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    const parts: Promise<readonly RpcAnswer[]>[] = [];
    for (let at = 0; at < calls.length; at += callsMax) parts.push(sendPart(calls.slice(at, at + callsMax)));
    return (await Promise.all(parts)).flat();
  }

  return {
    attempt,
    async call(method, params) {
      const answer = await attempt(method, params);
      if (!answer.ok) throw errorFault(answer.error, { method, host }, meanings);
      return answer.result;
    },
    batch: sendAll as RpcClient['batch'],
    async raw(method, params) {
      const origin = { method, host };
      const { bytes, id } = await ask(method, params);
      const seen = peekId(bytes);
      if (bytes.byteLength <= ERROR_BYTES_MAX) {
        const answer = readAnswer(parseJson(bytes, origin), origin);
        if (!answer.ok) throw errorFault(answer.error, origin, meanings);
      }
      if (seen !== null && seen !== id) throw nonsense(origin, 'answered another request');
      // A small message may be a view into a larger buffer, which must neither be copied nor transferred to a worker.
      const isWhole = bytes.byteLength === bytes.buffer.byteLength;
      return isWhole ? bytes : new Uint8Array(bytes);
    },
  };
}

/**
 * The client of the signer, for other processes: HTTP requests to its unix socket.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import * as z from 'zod';
import type { SignedSpend } from '../chains/spend.ts';
import type { SignerConfig } from '../config/config.ts';
import { Fault, permanent, transient } from '../core/fault.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { after } from '../lib/clock.ts';
import { Agent, request } from '../lib/node-http.ts';
import { BodyError, readBody } from '../lib/request-body.ts';
import {
  ANSWER_BYTES_MAX,
  type Approval,
  type CallName,
  type CallParams,
  type CallResult,
  calls,
  type FreezeState,
  type JsonCallName,
  refusal,
  type SignRequest,
} from './protocol.ts';

type SignerOptions = Readonly<{
  /** Path of the signer's socket. */
  socket: string;
  /** A call without an answer fails after this time. The signer may still have served it. */
  timeoutMs: number;
}>;

/** Connections per process, so that all processes stay below the signer's limit. Further calls wait. */
const CONNECTIONS_MAX = 4;
/** A signature takes milliseconds, and a little more with the journal on a slow disk. */
const TIMEOUT_MS = 20_000;

/**
 * The signer, as its callers see it. Its faults are the transient `signer_unreachable` and `signer_storage_unavailable`
 * (the journal cannot be written, and nothing was signed) and the permanent `signer_refused_*`:
 * - `_approval`: it needs an approver's signature.
 * - `_cap`: it needs time, or an approver's signature of a refund.
 * - `_frozen`: an approver must end the freeze.
 * - `_fence`: another engine, or this one with a later state of the database, was served before.
 * - `_mac`: the intent was altered.
 * - `_wallet`: the policy was changed, and another wallet pays.
 * - `_request`, `_policy`, `_intent`, `_generation`, `_attempt`, `_nonce`, `_terms`, `_expiry`, `_duplicate`, `_check`:
 *   the request breaks a rule.
 */
export type Signer = ReturnType<typeof openSigner>;

/** Questions of the payout engine to the signer. */
export type PayingSigner = Omit<Signer, 'thaw' | 'backup'>;

/** Returns a client, which connects for each call. Calls may be concurrent. Failed calls are not repeated. */
export function openSigner({ socket: socketPath, timeoutMs }: SignerOptions) {
  const agent = new Agent({ keepAlive: false, maxSockets: CONNECTIONS_MAX });
  const open = new Set<ClientRequest>();

  const unreachable = (why: string, cause?: unknown): Fault =>
    transient(
      'signer_unreachable',
      `the signer at ${socketPath} ${why}. Check that it runs and is unlocked; nothing is lost meanwhile`,
      cause,
    );

  function faultFrom(error: unknown, signal: AbortSignal): Fault {
    if (error instanceof Fault) return error;
    if (signal.aborted) return unreachable(`did not answer within ${timeoutMs} ms`);
    if (error instanceof SyntaxError) return unreachable('did not answer in JSON');
    const why = error instanceof BodyError ? error.code : error instanceof Error ? error.message : error;
    return unreachable(why === 'aborted' ? 'disconnected within its answer' : `cannot be reached (${why})`, error);
  }

  /** Sends a request. @returns the answer, still unread */
  function send(name: CallName, params: unknown, signal: AbortSignal): Promise<IncomingMessage> {
    const body = JSON.stringify(params);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const one = request({ socketPath, path: `/${name}`, method: 'POST', agent, signal, headers }, resolve);
      open.add(one);
      one.once('close', () => open.delete(one)).on('error', reject);
      one.end(body);
    });
  }

  /** Returns the result in an answer. @throws Fault of the answer; transient `signer_unreachable` */
  async function resultIn(response: IncomingMessage, name: CallName): Promise<unknown> {
    const body = await readBody(response, ANSWER_BYTES_MAX).finally(() => response.destroy());
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (response.statusCode === 200) return value;
    const refusedWith = refusal.safeParse(value).data;
    throw refusedWith ? faultOf(refusedWith) : unreachable(`gave an invalid answer to "${name}"`);
  }

  async function call<N extends JsonCallName>(method: N, params: CallParams<N>): Promise<CallResult<N>> {
    const { params: paramsWire, result: resultWire } = calls[method] as (typeof calls)[JsonCallName];
    const encoded = z.safeEncode(paramsWire as z.ZodType, params);
    if (!encoded.success) {
      throw permanent(
        'signer_refused_request',
        `this is not a valid request to the signer: ${z.prettifyError(encoded.error)}`,
      );
    }
    const signal = AbortSignal.timeout(timeoutMs);
    const value = await send(method, encoded.data, signal)
      .then((response) => resultIn(response, method))
      .catch((error) => Promise.reject(faultFrom(error, signal)));
    const { data, success } = z.safeDecode(resultWire as z.ZodType, value);
    if (!success) throw unreachable(`gave an invalid answer to "${method}"`);
    return data as CallResult<N>;
  }

  /**
   * Yields, part by part, an encrypted file with the journal and the policy in force (`backup.ts`). The signer serves
   * other calls meanwhile.
   * @throws Fault transient `signer_unreachable`, also after some parts; `backup_running`
   */
  async function* backup(): AsyncGenerator<Uint8Array, void> {
    const stalled = new AbortController();
    /**
     * Each part has the time limit of other calls' whole answers. The caller's own time between parts does not count.
     */
    const limited = async <T>(next: Promise<T>): Promise<T> => {
      const done = after(timeoutMs, () => stalled.abort());
      return next.finally(done);
    };
    let response: IncomingMessage | null = null;
    try {
      response = await limited(send('backup', {}, stalled.signal));
      if (response.statusCode === 200) {
        const parts = response[Symbol.asyncIterator]();
        for (let part = await limited(parts.next()); !part.done; part = await limited(parts.next())) yield part.value;
        return;
      }
      await limited(resultIn(response, 'backup'));
      throw unreachable('gave an invalid answer to "backup"');
    } catch (error) {
      throw faultFrom(error, stalled.signal);
    } finally {
      response?.destroy();
    }
  }

  return {
    wallets: (network: NetworkKey) => call('wallets', { network }),
    /** Returns deposit addresses (keys), to compare with the database. */
    addresses: (network: NetworkKey, indices: readonly number[]) => call('addresses', { network, indices }),
    /** Returns the address key of the account that marks a refund or return as paid, where the family has one. */
    refundLock: (network: NetworkKey, id: string) => call('refundLock', { network, id }),
    sign: (request: SignRequest): Promise<SignedSpend> => call('sign', request),
    /** Returns entries of the journal with ids above `after`, oldest first. */
    journal: (network: NetworkKey, after: number, limit: number) => call('journal', { network, after, limit }),
    /** Returns the highest fence that the signer has served on the network; 0 before the first. */
    fence: (network: NetworkKey) => call('fence', { network }),
    freezeState: (): Promise<FreezeState> => call('freezeState', {}),
    /** Stops all signing, on every network, until `thaw`. A frozen signer keeps its first freeze. */
    freeze: (reason: string, frozenBy: string): Promise<FreezeState> => call('freeze', { reason, frozenBy }),
    /** Ends the freeze with an approver's signature of `thawText`. @throws Fault permanent `signer_refused_approval` */
    thaw: (approval: Approval): Promise<FreezeState> => call('thaw', { approval }),
    backup,
    async close(): Promise<void> {
      for (const one of open) one.destroy(unreachable('was disconnected'));
      agent.destroy();
    },
  };
}

const faultOf = ({ kind, code, message }: z.output<typeof refusal>): Fault => new Fault(kind, code, message);

/** Returns a client of the configured signer. */
export const openConfiguredSigner = ({ dir }: Pick<SignerConfig, 'dir'>): Signer =>
  openSigner({ socket: join(dir, 'signer.sock'), timeoutMs: TIMEOUT_MS });

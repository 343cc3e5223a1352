/**
 * The client of the signer, for other processes: HTTP requests to its unix socket.
 * @module
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import * as z from 'zod';
import type { SignerConfig } from '../config/config.ts';
import { Fault, permanent, transient } from '../core/fault.ts';
import {
  ANSWER_BYTES_MAX,
  BACKUP_BYTES_MAX,
  type CallName,
  type CallParams,
  type CallResult,
  calls,
  refusal,
} from './protocol.ts';
import { ApprovalMissing, type Signer, type SignerControl } from './signer.ts';

export type SignerOptions = Readonly<{
  /** Path of the signer's socket. */
  socket: string;
  /** A call without an answer fails after this time; the signer may have served it all the same. */
  timeoutMs: number;
}>;

/** Connections per process, so that all processes stay below the signer's limit. Further calls wait. */
const CONNECTIONS_MAX = 4;
/** A signature takes milliseconds, and a little more with the journal on a slow disk. */
const TIMEOUT_MS = 20_000;

const bytesMaxOf = (method: CallName): number => (method === 'backup' ? 2 * BACKUP_BYTES_MAX : ANSWER_BYTES_MAX);

/** Returns a client, which connects for each call. Calls may be concurrent; failed ones are not repeated. */
export function openSigner({ socket: socketPath, timeoutMs }: SignerOptions): Signer & SignerControl {
  const agent = new Agent({ keepAlive: false, maxSockets: CONNECTIONS_MAX });
  const open = new Set<ClientRequest>();

  const unreachable = (why: string, cause?: unknown): Fault =>
    transient(
      'signer_unreachable',
      `the signer at ${socketPath} ${why}. Check that it runs and is unlocked; nothing is lost meanwhile`,
      cause,
    );

  /** @throws Fault transient `signer_unreachable` */
  async function post(
    path: string,
    body: string,
    bytesMax: number,
  ): Promise<Readonly<{ status: number; value: unknown }>> {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const one = request({ socketPath, path, method: 'POST', agent, signal, headers }, resolve);
        open.add(one);
        one.once('close', () => open.delete(one)).on('error', reject);
        one.end(body);
      });
      return { status: response.statusCode ?? 0, value: JSON.parse(await read(response, bytesMax)) };
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (signal.aborted) throw unreachable(`did not answer within ${timeoutMs} ms`);
      if (error instanceof SyntaxError) throw unreachable('did not answer in JSON');
      throw unreachable(`cannot be reached (${error instanceof Error ? error.message : error})`, error);
    }
  }

  /** Reads an answer; an error closes the connection. @throws Fault transient `signer_unreachable` */
  async function read(response: IncomingMessage, bytesMax: number): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw unreachable(`answered with more than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async function call<N extends CallName>(method: N, params: CallParams<N>): Promise<CallResult<N>> {
    const { params: paramsWire, result: resultWire } = calls[method] as (typeof calls)[CallName];
    const encoded = z.safeEncode(paramsWire as z.ZodType, params);
    if (!encoded.success) {
      throw permanent(
        'signer_refused_request',
        `this is not a valid request to the signer: ${z.prettifyError(encoded.error)}`,
      );
    }
    const { status, value } = await post(`/${method}`, JSON.stringify(encoded.data), bytesMaxOf(method));
    const refusedWith = status === 200 ? null : refusal.safeParse(value).data;
    if (refusedWith) throw faultOf(refusedWith);
    const { data, success } = z.safeDecode(resultWire as z.ZodType, value);
    if (status !== 200 || !success) throw unreachable(`gave an invalid answer to "${method}"`);
    return data as CallResult<N>;
  }

  return {
    wallets: (network) => call('wallets', { network }),
    addresses: (network, indices) => call('addresses', { network, indices }),
    refundLock: (network, id, index) => call('refundLock', { network, id, ...(index !== undefined && { index }) }),
    sign: (order) => call('sign', order),
    journal: (network, after, limit) => call('journal', { network, after, limit }),
    fence: (network) => call('fence', { network }),
    freezeState: () => call('freezeState', {}),
    status: () => call('status', {}),
    freeze: (reason, frozenBy) => call('freeze', { reason, frozenBy }),
    thaw: (approval) => call('thaw', { approval }),
    backup: () => call('backup', {}),
    secretKeys: () => call('secretKeys', {}),
    async close() {
      for (const one of open) one.destroy(unreachable('was disconnected'));
      agent.destroy();
    },
  };
}

const faultOf = ({ kind, code, message, approvals }: z.output<typeof refusal>): Fault =>
  approvals ? new ApprovalMissing(code, message, approvals) : new Fault(kind, code, message);

/** Returns a client of the configured signer. */
export const openConfiguredSigner = ({ dir }: Pick<SignerConfig, 'dir'>): Signer & SignerControl =>
  openSigner({ socket: join(dir, 'signer.sock'), timeoutMs: TIMEOUT_MS });

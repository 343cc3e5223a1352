/**
 * The signer as other processes see it: one connection to its socket, made when it is needed and made again after it broke.
 * @module
 */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import type { SignerConfig } from '../config/config.ts';
import { Fault, permanent, transient } from '../core/fault.ts';
import type { Clock } from '../lib/clock.ts';
import { ANSWER_BYTES_MAX, answerLine, type CallName, type CallParams, type CallResult, calls } from './protocol.ts';
import type { Signer } from './signer.ts';

export type SignerOptions = Readonly<{
  /** Path of the signer's socket. */
  socket: string;
  /** A call that has not been answered for so long is given up; it may have been served all the same. */
  timeoutMs: number;
  clock: Clock;
}>;

type Waiting = Readonly<{ done(result: unknown): void; fail(fault: Fault): void }>;

const LINE_FEED = 0x0a;
/** A signature takes milliseconds; a journal on a slow disk a little more. */
const TIMEOUT_MS = 20_000;

/** Opens nothing yet: the first call connects. Calls may run side by side; none is repeated by itself. */
export function openSigner({ socket: path, timeoutMs, clock }: SignerOptions): Signer {
  const waiting = new Map<number, Waiting>();
  let connection: Socket | null = null;
  let lastId = 0;

  const unreachable = (why: string, cause?: unknown): Fault =>
    transient(
      'signer_unreachable',
      `the signer at ${path} ${why}. See that it runs and is unlocked; nothing is lost meanwhile`,
      cause,
    );

  function drop(dropped: Socket, fault: Fault): void {
    dropped.destroy();
    if (connection !== dropped) return;
    connection = null;
    const given = [...waiting.values()];
    waiting.clear();
    for (const call of given) call.fail(fault);
  }

  function open(): Socket {
    const opened = connect(path);
    let partial: Buffer[] = [];
    let partialBytes = 0;
    opened.on('data', (chunk: Buffer) => {
      let rest = chunk;
      for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
        const line = Buffer.concat([...partial, rest.subarray(0, end)]);
        partial = [];
        partialBytes = 0;
        rest = rest.subarray(end + 1);
        if (!take(line)) return drop(opened, unreachable('answered with something else than its protocol'));
      }
      if (rest.length > 0) partial.push(rest);
      partialBytes += rest.length;
      if (partialBytes > ANSWER_BYTES_MAX)
        drop(opened, unreachable(`answered with more than ${ANSWER_BYTES_MAX} bytes`));
    });
    opened.on('error', (error) => drop(opened, unreachable(`cannot be reached (${error.message})`, error)));
    opened.on('close', () => drop(opened, unreachable('closed the connection')));
    return opened;
  }

  /** Gives one answer to the call that waits for it. @returns false when it is none */
  function take(line: Buffer): boolean {
    const answer = readJson(line);
    if (!answer || answer.id === null) return false;
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    // A call that was given up may be answered late.
    if (!call) return answer.id <= lastId;
    if ('error' in answer) call.fail(new Fault(answer.error.kind, answer.error.code, answer.error.message));
    else call.done(answer.result);
    return true;
  }

  async function call<N extends CallName>(method: N, params: CallParams<N>): Promise<CallResult<N>> {
    const id = ++lastId;
    const { params: paramsWire, result: resultWire } = calls[method] as (typeof calls)[CallName];
    const encoded = z.safeEncode(paramsWire as z.ZodType, params);
    if (!encoded.success) {
      throw permanent(
        'signer_refused_request',
        `this cannot be asked of the signer: ${z.prettifyError(encoded.error)}`,
      );
    }
    const line = `${JSON.stringify({ id, method, params: encoded.data })}\n`;
    const answered = new AbortController();
    connection ??= open();
    const asked = connection;
    try {
      const result = await new Promise((done, fail) => {
        waiting.set(id, { done, fail });
        asked.write(line);
        clock
          .sleep(timeoutMs, answered.signal)
          .then(() => fail(unreachable(`has not answered for ${timeoutMs} ms`)), fail);
      });
      const { data, success } = z.safeDecode(resultWire as z.ZodType, result);
      if (!success) throw unreachable(`answered "${method}" with something else than that`);
      return data as CallResult<N>;
    } finally {
      answered.abort();
      waiting.delete(id);
    }
  }

  return {
    wallets: (network) => call('wallets', { network }),
    addresses: (network, indices) => call('addresses', { network, indices }),
    sign: (request) => call('sign', request),
    journal: (network, after, limit) => call('journal', { network, after, limit }),
    fence: (network) => call('fence', { network }),
    async close() {
      if (connection) drop(connection, unreachable('was left'));
    },
  };
}

/** The signer that the configuration names. */
export const openConfiguredSigner = ({ dir }: SignerConfig, clock: Clock): Signer =>
  openSigner({ socket: join(dir, 'signer.sock'), timeoutMs: TIMEOUT_MS, clock });

function readJson(line: Buffer): z.output<typeof answerLine> | null {
  try {
    return answerLine.safeParse(JSON.parse(line.toString('utf8'))).data ?? null;
  } catch {
    // Not JSON: whoever listens there is no signer.
    return null;
  }
}

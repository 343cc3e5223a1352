/**
 * java-tron's own HTTP interface, with port 8090 for the full node and port 8091 for the solidified chain. A gateway
 * may serve both at one port.
 */

import { Fault, transient } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type HttpTransport, openHttpTransport } from '../../transport/http.ts';
import { type Answers, about, type Call, type Part, type TronTransport } from '../calls.ts';

/** java-tron accepts 50 connections by default (`node.maxHttpConnectNumber`), for all clients together. */
const SOCKETS_MAX = 16;
/** The solidified chain is queried rarely, one request at a time. */
const SOLID_SOCKETS_MAX = 2;
const SOLID_PREFIX = '/walletsolidity/';
const FULL_PORT = '8090';
const SOLID_PORT = '8091';

type HttpOptions = Readonly<{
  url: URL;
  /** URL of `/walletsolidity/`; null if there is none. */
  solidUrl: URL | null;
  requestTimeoutMs: number;
  responseBytesMax: number;
  concurrencyMax: number;
}>;

/**
 * Returns the URL of the solidified chain for a node's `url`. It is one port higher if `url` has java-tron's own port,
 * and `url` itself otherwise.
 */
export function solidUrlOf(url: URL): URL {
  const solid = new URL(url);
  if (url.port === FULL_PORT) solid.port = SOLID_PORT;
  return solid;
}

/**
 * Returns whether java-tron's configuration disables the path, which it reports with status 404 and an error in the
 * body.
 */
const isDisabledPath = (status: number, body: Uint8Array): boolean =>
  status === 404 && Buffer.from(body).includes('"Error"');

/**
 * Adds advice for an operator of java-tron to a fault. Its rate limiter makes callers wait instead of refusing them,
 * and the solidified chain has a URL of its own.
 */
async function advise<T>({ path }: Call, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const limiter =
      error.code === 'node_timeout' ? " Or does rate.limiter in the node's configuration make callers wait?" : '';
    const place = path.startsWith(SOLID_PREFIX)
      ? " This is the solidified chain, at the network's solid_url. Is that URL right, and is solidityEnable on in the node's configuration?"
      : '';
    throw transient(error.code, error.message + limiter + place, error);
  }
}

/** Connects at the first request. */
export function openHttp({ url, solidUrl, ...given }: HttpOptions, clock: Clock): TronTransport {
  const limits = { ...given, isAnswer: isDisabledPath };
  const concurrencyMax = Math.min(limits.concurrencyMax, SOCKETS_MAX);
  const full = openHttpTransport({ ...limits, url, host: url.host, concurrencyMax }, clock);
  const solid =
    solidUrl &&
    openHttpTransport({ ...limits, url: solidUrl, host: solidUrl.host, concurrencyMax: SOLID_SOCKETS_MAX }, clock);

  async function post({ path, body }: Call, signal: AbortSignal): Promise<Uint8Array> {
    const [transport, base]: [HttpTransport | null, URL | null] = path.startsWith(SOLID_PREFIX)
      ? [solid, solidUrl]
      : [full, url];
    if (!transport || !base) {
      throw transient(
        'node_method_missing',
        `${url.host}: no address of the solidified chain is configured; set the network's solid_url`,
      );
    }
    return transport.post(`${base.pathname.replace(/\/$/, '')}${path}${base.search}`, JSON.stringify(body), signal);
  }

  async function ask(calls: readonly Call[], signal: AbortSignal): Promise<Answers> {
    const answers: Uint8Array[] = [];
    const parts: Part[] = [];
    let length = 0;
    for (const call of calls) {
      const answer = await about(call.path, advise(call, post(call, signal)));
      answers.push(answer);
      parts.push({ from: length, to: length + answer.byteLength });
      length += answer.byteLength;
    }
    const [only] = answers;
    if (only && answers.length === 1) return { bytes: only, parts };
    const bytes = Buffer.allocUnsafeSlow(length);
    answers.forEach((answer, at) => {
      bytes.set(answer, parts[at]?.from);
    });
    return { bytes, parts };
  }

  return {
    ask,
    onChange: () => {},
    health: full.health,
    async close() {
      await Promise.all([full.close(), solid?.close()]);
    },
  };
}

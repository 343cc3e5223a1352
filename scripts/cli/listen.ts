/**
 * Follows the test events of this installation and forwards each to a handler on this machine, signed as the sender of
 * webhooks signs them. No tunnel is needed: the events are read from the API.
 */
import { randomUUID } from 'node:crypto';
import { sign, signRequest, webhookHeaders } from '../../src/core/delivery.ts';
import { type EventType, isExtended } from '../../src/core/event.ts';
import { Fault, permanent, transient } from '../../src/core/fault.ts';
import { type Clock, toSeconds } from '../../src/lib/clock.ts';

const PATH = '/api/v1/events';
const POLL_MS = 500;
const PAGE_EVENTS = 50;
const API_TIMEOUT_MS = 10_000;
/** As long as webhooks wait for an answer. */
const HANDLER_TIMEOUT_MS = 30_000;
const BACKOFF_MS_MIN = 500;
const BACKOFF_MS_MAX = 30_000;

type Forwarded = Readonly<{
  event: string;
  type: string;
  orderId: string;
  /** HTTP status of the handler, or null with `error`. */
  status: number | null;
  error: string | null;
  ms: number;
}>;

export type ListenOptions = Readonly<{
  api: Readonly<{ baseUrl: string; apiKey: string; apiSecret: string }>;
  forwardTo: string;
  /** Signs what is forwarded: `whsec_…`. */
  secret: string;
  /** The types to forward; absent: what an endpoint gets that opted in to nothing. */
  types?: readonly EventType[];
  clock: Clock;
  signal: AbortSignal;
  onForwarded(forwarded: Forwarded): void;
  /** The API cannot be reached, or can be reached again (null). */
  onTrouble(message: string | null): void;
}>;

type Event = Readonly<{ id: string; type: EventType; data: { object: { order_id?: string } } }>;
type Page = Readonly<{ data: readonly Event[]; has_more: boolean }>;

/**
 * Forwards events that begin after the call, one at a time and in order, until the signal aborts.
 * @throws Fault permanent `api_refused`: the key or what it asked for is wrong
 */
export async function listen(options: ListenOptions): Promise<void> {
  const { types, clock, signal, onTrouble } = options;
  const isWanted = (type: EventType) => (types ? types.includes(type) : !isExtended(type));
  const filter = (types ?? []).map((type) => `&type=${type}`).join('');
  let last: string | null = null;
  let waitMs = 0;
  let isLost = false;
  while (!signal.aborted) {
    try {
      if (last === null) last = (await read(options, '?limit=1')).data[0]?.id ?? 'evt_0000000000000000000';
      const page: Page = await read(options, `?limit=${PAGE_EVENTS}&ending_before=${last}${filter}`);
      if (isLost) onTrouble(null);
      isLost = false;
      for (const event of [...page.data].reverse()) {
        if (signal.aborted) return;
        if (isWanted(event.type)) await forward(options, event);
        last = event.id;
      }
      waitMs = page.has_more ? 0 : POLL_MS;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault) || error.kind === 'permanent') throw error;
      waitMs = isLost ? Math.min(2 * waitMs, BACKOFF_MS_MAX) : BACKOFF_MS_MIN;
      if (!isLost) onTrouble(error.message);
      isLost = true;
    }
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  }
}

/** @throws Fault: transient if it can work later, permanent `api_refused` otherwise */
async function read({ api, clock, signal }: ListenOptions, query: string): Promise<Page> {
  const [timestamp, nonce] = [String(toSeconds(clock.nowMs())), randomUUID()];
  const target = `${PATH}${query}`;
  const headers = {
    Authorization: `Bearer ${api.apiKey}`,
    'X-Service-Timestamp': timestamp,
    'X-Service-Nonce': nonce,
    'X-Service-Signature': sign(api.apiSecret, timestamp, nonce, ''),
    'X-Service-Request-Signature': signRequest(api.apiSecret, { timestamp, nonce, method: 'GET', target }, ''),
  };
  const { status, text } = await exchange(`${api.baseUrl}${target}`, { headers, signal }, API_TIMEOUT_MS);
  if (status === 200) return JSON.parse(text) as Page;
  const message = `${api.baseUrl} answered ${status}: ${text.slice(0, 500)}`;
  if (status === 429 || status >= 500) throw transient('api_unavailable', message);
  throw permanent('api_refused', `${message}. Check the key; \`quayside key create --mode test\` creates one`);
}

/** @throws Fault transient `api_unavailable` if there is no whole answer */
async function exchange(url: string, init: RequestInit & { signal: AbortSignal }, timeoutMs: number) {
  try {
    const signal = AbortSignal.any([init.signal, AbortSignal.timeout(timeoutMs)]);
    const answer = await fetch(url, { ...init, redirect: 'manual', signal });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    throw transient('api_unavailable', `${new URL(url).origin} does not answer: ${reasonOf(error)}`);
  }
}

/** Posts one event to the handler. Its answer, or that there is none, changes nothing. */
async function forward({ forwardTo, secret, clock, signal, onForwarded }: ListenOptions, event: Event): Promise<void> {
  const body = JSON.stringify(event);
  const startedAtMs = clock.nowMs();
  const stamp = { timestampS: toSeconds(startedAtMs), nonce: randomUUID() };
  const { id: eventId, type: eventType } = event;
  const headers = webhookHeaders({ secret, nextSecret: null, mode: 'test', eventId, eventType, body, ...stamp });
  const shown = { event: eventId, type: eventType, orderId: event.data.object.order_id ?? '' };
  const ended = (status: number | null, error: string | null) =>
    onForwarded({ ...shown, status, error, ms: Math.max(0, clock.nowMs() - startedAtMs) });
  try {
    const { status } = await exchange(forwardTo, { method: 'POST', headers, body, signal }, HANDLER_TIMEOUT_MS);
    ended(status, null);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (!signal.aborted) ended(null, error.message);
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'time-out';
  const { cause } = error;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.message;
}

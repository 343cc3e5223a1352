/**
 * `npm run demo [-- --network NAME] [--refund] [--json]`: one payment from end to end in the sandbox that `npm start`
 * runs, and with `--refund` a refund of part of it.
 *
 * It does what a merchant's server would do, with nothing but Node's standard library: it signs API calls, creates a
 * session, listens for the webhook and verifies its signatures. Only the payer and the registration of the endpoint are
 * shortcuts of the sandbox.
 * Exit codes: 0 payment confirmed and webhook received; 1 otherwise.
 */
import '../src/lib/runtime.ts';
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { issueEndpoint } from '../src/app/new-credentials.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { type Credentials, readCredentials } from '../src/app/sandbox-credentials.ts';
import { type Config, loadConfig } from '../src/config/config.ts';
import { Fault, permanent } from '../src/core/fault.ts';
import { parseUnits } from '../src/core/money.ts';
import { isSupervised } from '../src/database/engine/instance-lock.ts';
import { refuseStaleBuild } from '../src/lib/build-stamp.ts';
import { systemClock } from '../src/lib/clock.ts';
import { nameSources } from '../src/lib/stack-trace.ts';
import { payInSandbox } from '../src/sandbox/operator/control.ts';
import { strangersAddress } from '../src/sandbox/operator/signer.ts';

nameSources();

const READY_MS_MAX = 30_000;
const PAYMENT_MS_MAX = 60_000;
/** In seconds. The demo cancels nothing, so it has nothing to wait for. */
const CANCEL_WINDOW_S = 0;
/** The time that the chain takes until the refund is final. */
const REFUND_MS_MAX = 180_000;
const POLL_MS = 150;
/** A message that was signed longer ago may be a replay. */
const SIGNATURE_AGE_S_MAX = 300;

/** The fields of a session that the demo reads; the API reference at /docs shows all of them. */
type SessionAnswer = Readonly<{
  id: string;
  payer_url: string;
  payment_status: string;
  payment_options: readonly Readonly<{
    network: string;
    currency: 'USDT' | 'USDC';
    address: string;
    amount: string;
    confirmations_required: number;
  }>[];
  payments: readonly Readonly<{ confirmations: number; transaction_hash: string }>[];
}>;

type RefundAnswer = Readonly<{
  refund_id: string;
  status: string;
  failure_reason?: string;
  transaction_hash?: string;
  receipt_number?: string;
}>;

type Webhook = Readonly<{ headers: IncomingHttpHeaders; body: string }>;

// ── What a merchant's server does ────────────────────────────────────────────────────────────────────────────────────

/** Signs and sends one API request: HMAC-SHA256 over `timestamp.nonce.body` with the secret of the API key. */
async function callApi<T = SessionAnswer>(
  credentials: Credentials,
  method: 'GET' | 'POST',
  path: string,
  payload?: object,
): Promise<T> {
  const body = payload ? JSON.stringify(payload) : '';
  const timestamp = String(Math.floor(systemClock.nowMs() / 1000));
  const nonce = randomUUID();
  const signature = createHmac('sha256', credentials.api_secret).update(`${timestamp}.${nonce}.${body}`).digest('hex');
  const response = await fetch(`${credentials.base_url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${credentials.api_key}`,
      'X-Service-Timestamp': timestamp,
      'X-Service-Nonce': nonce,
      'X-Service-Signature': signature,
      ...(payload && { 'Content-Type': 'application/json' }),
    },
    ...(payload && { body }),
  });
  const answer = (await response.json()) as T & { error?: { code: string; message: string } };
  if (!response.ok) throw permanent('api_refused', `${method} ${path}: ${response.status} ${answer.error?.message}`);
  return answer;
}

/** Verifies `X-Service-Signature`. It signs the raw body: parse that afterwards, never before. */
function verifyServiceSignature({ headers, body }: Webhook, secret: string): boolean {
  const timestamp = String(headers['x-service-timestamp']);
  const nonce = String(headers['x-service-nonce']);
  const expected = createHmac('sha256', secret).update(`${timestamp}.${nonce}.${body}`).digest('hex');
  return isRecent(timestamp) && isSame(expected, String(headers['x-service-signature']));
}

/** Verifies `webhook-signature`, as Standard Webhooks specifies it; there are libraries for many languages. */
function verifyStandardSignature({ headers, body }: Webhook, secret: string): boolean {
  const timestamp = String(headers['webhook-timestamp']);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const mac = createHmac('sha256', key).update(`${headers['webhook-id']}.${timestamp}.${body}`).digest('base64');
  const given = String(headers['webhook-signature']).split(' ');
  return isRecent(timestamp) && given.some((signature) => isSame(`v1,${mac}`, signature));
}

const isRecent = (timestamp: string): boolean =>
  Math.abs(systemClock.nowMs() / 1000 - Number(timestamp)) <= SIGNATURE_AGE_S_MAX;

/** Compares in constant time, which does not reveal how much of a guess was right. */
const isSame = (expected: string, given: string): boolean =>
  expected.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));

/** Listens on loopback and answers every webhook with 200 at once, as a receiver should before any slow work. */
async function listenForWebhooks() {
  const received: Webhook[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"received":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/webhook`, received, close };
}

// ── The demo ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Polls until `look` finds something. @throws Fault permanent `demo_timeout` */
async function waitFor<T>(what: string, msMax: number, look: () => Promise<T | undefined>): Promise<T> {
  const giveUpAtMs = systemClock.nowMs() + msMax;
  while (systemClock.nowMs() < giveUpAtMs) {
    const found = await look();
    if (found !== undefined) return found;
    await systemClock.sleep(POLL_MS);
  }
  throw permanent('demo_timeout', `no ${what} within ${msMax / 1000} s; \`npx quayside status\` may say why`);
}

/**
 * Registers the listener as an endpoint of the store, with a secret of its own, and refunds without the cancel window,
 * which the store gets back afterwards. A merchant registers once: `npx quayside webhook add <url> --mode live`.
 */
async function withEndpoint<T>(
  config: Config,
  merchantId: string,
  url: string,
  work: (secret: string) => Promise<T>,
): Promise<T> {
  const { stores, endpoints, close } = openDatabase(config, process.env);
  const endpoint = issueEndpoint(merchantId, 'test', url, [], systemClock.nowMs());
  const { refundCancelWindowS } = await stores.values(merchantId);
  try {
    await stores.update(merchantId, { refundCancelWindowS: CANCEL_WINDOW_S });
    await endpoints.add(endpoint);
    return await work(endpoint.secret);
  } finally {
    await endpoints.remove(endpoint.id);
    await stores.update(merchantId, { refundCancelWindowS });
    close();
  }
}

/**
 * Returns the credentials of the sandbox. Waits for one that is starting, and until it follows the wanted network:
 * sessions do not offer it before.
 * @throws Fault permanent `demo_not_ready`, `demo_timeout`
 */
function findSandbox(config: Config, wanted: string | undefined): Promise<Credentials> {
  const what = wanted ? `running sandbox that follows ${wanted}` : 'running sandbox';
  return waitFor(what, READY_MS_MAX, async () => {
    const credentials = config.sandbox ? readCredentials(config.dataDir) : null;
    const readiness = credentials && (await readReadiness(credentials.base_url));
    if (credentials && readiness?.isReady && !readiness.unfollowed.some((network) => network === wanted))
      return credentials;
    if (readiness?.isReady || isSupervised(config.dataDir)) return undefined;
    const help = 'run `npm start` in another terminal first, with the same QUAYSIDE_DATA_DIR if you set one';
    throw permanent('demo_not_ready', `no sandbox runs in ${config.dataDir}: ${help}`);
  });
}

type Readiness = Readonly<{ isReady: boolean; unfollowed: readonly string[] }>;

/** Returns whether the server is ready, and the names of networks that it does not follow; null if it is not there. */
async function readReadiness(baseUrl: string): Promise<Readiness | null> {
  try {
    const response = await fetch(`${baseUrl}/readyz`);
    const { networks_not_followed: unfollowed = [] } = (await response.json()) as {
      networks_not_followed?: readonly { network: string }[];
    };
    return { isReady: response.ok, unfollowed: unfollowed.map(({ network }) => network.replace(/^\w+:/, '')) };
  } catch {
    return null;
  }
}

async function demo(wanted: string | undefined, isRefunded: boolean, say: (text: string) => void) {
  refuseStaleBuild();
  const config = loadConfig({ env: process.env, cwd: process.cwd(), beforeSandbox: true });
  const credentials = await findSandbox(config, wanted);
  say(`Quayside answers at ${credentials.base_url}`);
  const listener = await listenForWebhooks();
  try {
    return await withEndpoint(config, credentials.merchant_id, listener.url, async (secret) => {
      say(`listening for webhooks at ${listener.url}`);
      const session = await callApi(credentials, 'POST', '/api/v1/checkout/sessions/create', {
        amount: 1050,
        currency: 'USD',
        order_id: `demo-${randomUUID()}`,
        description: 'Two coffees',
      });
      say(`created session ${session.id} for 10.50 USD: ${session.payment_status}`);
      say(`payment page: ${session.payer_url}`);

      const option = session.payment_options.find(({ network }) => !wanted || network === wanted);
      const offered = session.payment_options.map((one) => one.network);
      if (!option) throw permanent('demo_network', `"${wanted}" is not offered; choose one of ${offered.join(', ')}`);
      const { network, currency, address, amount, confirmations_required: required } = option;
      const hash = await pay(config, option);
      say(`the payer sends ${amount} ${currency} on ${network} to ${address}`);
      say(`transaction ${hash}`);

      let seen = '';
      await waitFor('full confirmation', PAYMENT_MS_MAX, async () => {
        const now = await callApi(credentials, 'GET', `/api/v1/checkout/sessions/${session.id}`);
        const count = now.payments[0]?.confirmations ?? 0;
        const progress = count > required ? `${required} of ${required}, becoming final` : `${count} of ${required}`;
        const counted = `confirmations ${progress}: ${now.payment_status}`;
        if (counted !== seen && now.payments.length > 0) say(counted);
        seen = counted;
        return now.payment_status === 'paid' || undefined;
      });
      const hear = (type: string, id: string) => hearWebhook(listener, { type, id, secret, say });
      const signatures = await hear('payment.completed', session.id);
      const refund = isRefunded ? await refundTo(config, credentials, { session: session.id, option, say }) : null;
      if (refund) await hear('refund.succeeded', refund.refund_id);
      return {
        session: session.id,
        network,
        currency,
        amount,
        transaction_hash: hash,
        signatures,
        ...(refund && { refund }),
      };
    });
  } finally {
    listener.close();
  }
}

/**
 * Waits for the webhook of an event and verifies both of its signatures.
 * @param id of the session or the refund that the event is about
 * @throws Fault permanent `demo_signature`, `demo_timeout`
 */
async function hearWebhook(
  { received }: Readonly<{ received: readonly Webhook[] }>,
  { type, id, secret, say }: Readonly<{ type: string; id: string; secret: string; say(text: string): void }>,
) {
  const webhook = await waitFor('webhook', PAYMENT_MS_MAX, async () =>
    received.find(({ headers, body }) => headers['x-service-event-type'] === type && body.includes(id)),
  );
  say(`webhook ${type}: ${webhook.body}`);
  const signatures = {
    service: verifyServiceSignature(webhook, secret),
    standard: verifyStandardSignature(webhook, secret),
  };
  say(`X-Service-Signature ${signatures.service ? 'verified' : 'WRONG'}`);
  say(`webhook-signature (Standard Webhooks) ${signatures.standard ? 'verified' : 'WRONG'}`);
  if (!signatures.service || !signatures.standard) throw permanent('demo_signature', 'a webhook signature is wrong');
  return signatures;
}

/** Refunds 4.50 to a payer's address, and waits until that is final on the chain. */
async function refundTo(
  config: Config,
  credentials: Credentials,
  {
    session,
    option,
    say,
  }: { session: string; option: SessionAnswer['payment_options'][number]; say(text: string): void },
) {
  const family = config.networks.find(({ name }) => name === option.network)?.family;
  if (!family) throw permanent('demo_network', `${option.network} is not configured`);
  const refund_address = await strangersAddress(family);
  const refundId = `refund-${randomUUID()}`;
  await callApi(credentials, 'POST', '/api/v1/refunds/create', {
    order_id: session,
    refund_id: refundId,
    amount: '4.50',
    currency: option.currency,
    reason: 'requested_by_customer',
    metadata: { refund_address },
  });
  say(`refund of 4.50 ${option.currency} to ${refund_address}`);
  let seen = '';
  const done = await waitFor('refund', REFUND_MS_MAX, async () => {
    const now: RefundAnswer = await callApi(credentials, 'GET', `/api/v1/refunds/${refundId}`);
    if (now.status !== seen) say(`refund ${now.status}`);
    seen = now.status;
    if (now.status === 'failed') throw permanent('demo_refund', `the refund failed: ${now.failure_reason}`);
    return now.status === 'completed' ? now : undefined;
  });
  say(`transaction ${done.transaction_hash}, receipt ${done.receipt_number}`);
  return done;
}

/** Pays, as a payer's wallet would. @returns the transaction's hash */
function pay(config: Config, option: SessionAnswer['payment_options'][number]): Promise<string> {
  const token = config.networks
    .find(({ name, sandbox }) => sandbox && name === option.network)
    ?.tokens.find(({ symbol }) => symbol === option.currency);
  const units = token && parseUnits(option.amount, token.decimals);
  if (!units) throw permanent('demo_network', `${option.network} is not a sandbox network`);
  return payInSandbox(config.dataDir, option.network, { to: option.address, symbol: option.currency, units });
}

const { values } = parseArgs({
  options: { network: { type: 'string' }, refund: { type: 'boolean', default: false }, json: { type: 'boolean' } },
});
const startedAtMs = systemClock.nowMs();
const sinceStart = () => ((systemClock.nowMs() - startedAtMs) / 1000).toFixed(1);
const say = (text: string) => {
  if (!values.json) process.stdout.write(`${sinceStart().padStart(5)} s  ${text}\n`);
};
try {
  const result = await demo(values.network, values.refund, say);
  say(`done: the session is paid${values.refund ? ', the refund is final' : ''} and the webhook is authentic`);
  if (values.json) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  process.stderr.write(`demo: ${error.message}\n`);
  process.exitCode = 1;
}

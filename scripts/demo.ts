/**
 * `npm run demo [-- --network NAME] [--refund] [--json]`: one payment from end to end in the sandbox that `npm start`
 * runs, and with `--refund` a refund of part of it.
 *
 * It does what a merchant's server would do, with the client in `sdk/typescript`: it creates a session by a signed
 * call, listens for the webhook and verifies its signature. Only the payer and the registration of the endpoint are
 * shortcuts of the sandbox.
 * Exit codes: 0 payment confirmed and webhook received; 1 otherwise.
 */
import '../src/lib/runtime.ts';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { type Client, createClient, type PaymentOption, QuaysideError } from '../sdk/typescript/quayside.ts';
import { issueEndpoint } from '../src/app/new-credentials.ts';
import { openDatabase } from '../src/app/open-database.ts';
import { type Credentials, readCredentials } from '../src/app/sandbox-credentials.ts';
import { type Config, loadConfig } from '../src/config/config.ts';
import { Fault, permanent } from '../src/core/fault.ts';
import { parseUnits } from '../src/core/money.ts';
import { isSupervised } from '../src/database/engine/instance-lock.ts';
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
type Webhook = Readonly<{ headers: IncomingHttpHeaders; body: string }>;

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

/** One run: a signed client, and where its steps are printed. */
type Run = Readonly<{ config: Config; client: Client; say(text: string): void }>;

async function demo(wanted: string | undefined, isRefunded: boolean, say: (text: string) => void) {
  const config = loadConfig({ env: process.env, cwd: process.cwd() });
  const { api_key, api_secret, base_url, merchant_id } = await findSandbox(config, wanted);
  const client = createClient({ apiKey: api_key, apiSecret: api_secret, baseUrl: base_url });
  const run = { config, client, say };
  say(`Quayside answers at ${base_url}`);
  const listener = await listenForWebhooks();
  try {
    return await withEndpoint(config, merchant_id, listener.url, async (secret) => {
      say(`listening for webhooks at ${listener.url}`);
      const { id, option, hash } = await payFor(run, wanted);
      await confirmed(run, id, option.confirmations_required);
      await hearWebhook(run, listener, { type: 'payment.completed', id, secret });
      const refund = isRefunded ? await refundTo(run, id, option) : null;
      if (refund) await hearWebhook(run, listener, { type: 'refund.succeeded', id: refund.refund_id, secret });
      const { network, currency, amount } = option;
      return { session: id, network, currency, amount, transaction_hash: hash, ...(refund && { refund }) };
    });
  } finally {
    listener.close();
  }
}

/** Creates a session, and pays it on the wanted network, as a payer's wallet would. */
async function payFor({ config, client, say }: Run, wanted: string | undefined) {
  const session = await client.sessions.create({
    amount: 1050,
    currency: 'USD',
    order_id: `demo-${randomUUID()}`,
    description: 'Two coffees',
  });
  say(`created session ${session.id} for 10.50 USD: ${session.payment_status}`);
  say(`payment page: ${session.payer_url}`);
  const offered = session.payment_options ?? [];
  const option = offered.find(({ network }) => !wanted || network === wanted);
  const names = offered.map((one) => one.network).join(', ');
  if (!option) throw permanent('demo_network', `"${wanted}" is not offered; choose one of ${names}`);
  const { network, currency, address, amount } = option;
  const token = config.networks
    .find(({ name, sandbox }) => sandbox && name === network)
    ?.tokens.find(({ symbol }) => symbol === currency);
  const units = token && parseUnits(amount, token.decimals);
  if (!units) throw permanent('demo_network', `${network} is not a sandbox network`);
  const hash = await payInSandbox(config.dataDir, network, { to: address, symbol: token.symbol, units });
  say(`the payer sends ${amount} ${currency} on ${network} to ${address}`);
  say(`transaction ${hash}`);
  return { id: session.id, option, hash };
}

/** Waits until a session is paid, and prints how its confirmations grow. */
async function confirmed({ client, say }: Run, id: string, required: number): Promise<void> {
  let seen = '';
  await waitFor('full confirmation', PAYMENT_MS_MAX, async () => {
    const { payment_status, payments = [] } = await client.sessions.get(id);
    const count = payments[0]?.confirmations ?? 0;
    const progress = count > required ? `${required} of ${required}, becoming final` : `${count} of ${required}`;
    const counted = `confirmations ${progress}: ${payment_status}`;
    if (counted !== seen && payments.length > 0) say(counted);
    seen = counted;
    return payment_status === 'paid' || undefined;
  });
}

/**
 * Waits for the webhook of an event and verifies its signature.
 * @param event `id` of the session or the refund that it is about, and the endpoint's secret
 * @throws Fault permanent `demo_timeout`; QuaysideError
 */
async function hearWebhook(
  { client, say }: Run,
  { received }: Readonly<{ received: readonly Webhook[] }>,
  { type, id, secret }: Readonly<{ type: string; id: string; secret: string }>,
): Promise<void> {
  const { headers, body } = await waitFor('webhook', PAYMENT_MS_MAX, async () =>
    received.find((one) => one.headers['x-service-event-type'] === type && one.body.includes(id)),
  );
  say(`webhook ${type}: ${body}`);
  client.webhooks.verify(body, headers, secret);
  say('its signature is verified');
}

/** Refunds 4.50 to a payer's address, and waits until that is final on the chain. */
async function refundTo({ config, client, say }: Run, session: string, { network, currency }: PaymentOption) {
  const family = config.networks.find(({ name }) => name === network)?.family;
  if (!family) throw permanent('demo_network', `${network} is not configured`);
  const refund_address = await strangersAddress(family);
  const refundId = `refund-${randomUUID()}`;
  await client.refunds.create({
    order_id: session,
    refund_id: refundId,
    amount: '4.50',
    currency,
    reason: 'requested_by_customer',
    metadata: { refund_address },
  });
  say(`refund of 4.50 ${currency} to ${refund_address}`);
  let seen = '';
  const done = await waitFor('refund', REFUND_MS_MAX, async () => {
    const now = await client.refunds.get(refundId);
    if (now.status !== seen) say(`refund ${now.status}`);
    seen = now.status;
    if (now.status === 'failed') throw permanent('demo_refund', `the refund failed: ${now.failure_reason}`);
    return now.status === 'completed' ? now : undefined;
  });
  say(`transaction ${done.transaction_hash}, receipt ${done.receipt_number}`);
  return done;
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
  if (!(error instanceof Fault || error instanceof QuaysideError)) throw error;
  process.stderr.write(`demo: ${error.message}\n`);
  process.exitCode = 1;
}

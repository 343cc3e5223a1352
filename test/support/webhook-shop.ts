/**
 * A store with sessions whose events are to be delivered to endpoints, created through the database's port as the other
 * processes do.
 */
import { randomBytes } from 'node:crypto';
import type { ExtendedEventType } from '../../src/core/event.ts';
import { invariant } from '../../src/core/fault.ts';
import { sortableId } from '../../src/lib/id.ts';
import { openLog } from '../../src/lib/log.ts';
import {
  type Dispatcher,
  type DispatcherOptions,
  startDispatcher,
  type WebhookSettings,
} from '../../src/webhooks/dispatcher.ts';
import { ingestedChain } from './ingested-chain.ts';
import { merchantStore, newSession } from './new-session.ts';
import { shiftedClock } from './shifted-clock.ts';
import { openTempDatabase } from './temp-database.ts';
import { testNetwork } from './test-network.ts';

export const DELAYS_S = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].map((minutes) => minutes * 60);

/** The settings, except that loopback targets are allowed. */
export const webhookConfig: WebhookSettings = {
  allowCidrs: ['127.0.0.0/8'],
  timeoutMs: 20_000,
  responseBytesMax: 65_536,
  perEndpointMax: 4,
  retryDelaysS: DELAYS_S,
};

export type WebhookShop = Awaited<ReturnType<typeof openWebhookShop>>;

async function openWebhookShop() {
  const { database, file, connect, close } = openTempDatabase();
  const clock = shiftedClock();
  const network = testNetwork({ name: 'ethereum' });
  const merchant = merchantStore();
  await database.stores.create(merchant);
  const keys = Array.from({ length: 500 }, () => randomBytes(20).toString('hex'));
  await database.addresses.add({ family: 'evm', mode: 'test', source: 'test', firstIndex: 0, keys });
  const chain = ingestedChain(() => database, clock, network);
  await chain.mine();
  const dispatchers: Dispatcher[] = [];
  let orders = 0;

  const order = async (webhookUrl?: string) => {
    const name = `order${++orders}`;
    await chain.report('following');
    const wish = { storeId: merchant.id, name, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() };
    const session = newSession(wish);
    const request = { ...session.request, webhookUrl: webhookUrl ?? null };
    const outcome = await database.sessions.create({ ...session, request });
    invariant(outcome.kind === 'created', `the session is created, not ${outcome.kind}`);
    return outcome.session;
  };
  const deliveries = () => database.deliveries.list({ limit: 1_000 });
  return {
    database,
    file,
    connect,
    clock,
    /** The store's signing secret of test mode. */
    secret: merchant.webhookSecrets.test,
    chain,
    async addEndpoint(url: string, extendedEvents: readonly ExtendedEventType[] = []) {
      const id = `we_${sortableId(clock.nowMs())}`;
      const own = { id, storeId: merchant.id, mode: 'test', url } as const;
      await database.endpoints.add({ ...own, extendedEvents, createdAtMs: clock.nowMs() });
      return id;
    },
    order,
    /**
     * Creates and cancels a session: one `payment.cancelled` for each endpoint, and for the URL that it names.
     * @returns the session's id
     */
    async cancelOne(webhookUrl?: string) {
      const { id } = await order(webhookUrl);
      const replay = { idempotencyKey: null, path: 'cancel', bodyHash: '' };
      const outcome = await database.sessions.cancel({
        id,
        storeId: merchant.id,
        mode: 'test',
        replay,
        nowMs: clock.nowMs(),
      });
      invariant(outcome.kind === 'done', `the session is canceled, not ${outcome.kind}`);
      return id;
    },
    /** Starts a dispatcher that stops with the shop. */
    dispatch(options: Partial<Omit<DispatcherOptions, 'config'>> = {}, config: Partial<WebhookSettings> = {}) {
      const log = openLog('test', 'silent');
      const defaults = { database, holder: 'webhooks of a test', clock, log, dice: () => 0.5 };
      const dispatcher = startDispatcher({ ...defaults, ...options, config: { ...webhookConfig, ...config } });
      dispatchers.push(dispatcher);
      return dispatcher;
    },
    deliveries,
    /** Returns the only delivery, with its attempts. */
    async only() {
      const [delivery, ...others] = await deliveries();
      invariant(delivery && others.length === 0, 'there is one delivery');
      return { ...delivery, log: await database.deliveries.attempts(delivery.id) };
    },
    async close() {
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.stop()));
      close();
    },
  };
}

/** Runs a test with a shop of its own, closed even if the test fails. */
export async function inShop(run: (shop: WebhookShop) => Promise<void>): Promise<void> {
  const shop = await openWebhookShop();
  try {
    await run(shop);
  } finally {
    await shop.close();
  }
}

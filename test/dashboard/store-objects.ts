/**
 * One of everything that a store's pages name by an id, in test and in live mode, and paths that name them.
 */
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { invariant } from '../../src/core/fault.ts';
import type { Mode } from '../../src/core/transfer.ts';
import type { Dashboard } from '../support/dashboard.ts';

const names = ['id', 'payment', 'refund', 'held', 'endpoint', 'delivery', 'key', 'person'] as const;

/** The ids of a store's objects in one mode. `person` is a member of its team, `claim` the token of a claim link. */
export type StoreObjects = Readonly<Record<(typeof names)[number] | 'claim' | 'payer', string>>;

/**
 * Creates a paid session with a refund, held money, a delivery, an endpoint and a key in both modes, and a
 * member who has not used their link.
 */
export async function createObjects(dashboard: Dashboard): Promise<Readonly<Record<Mode, StoreObjects>>> {
  const { api } = dashboard;
  const { id: person } = await dashboard.invite('A member', { role: 'staff', storeId: api.merchantId });
  return { test: await createIn(dashboard, 'test', person), live: await createIn(dashboard, 'live', person) };
}

async function createIn({ api }: Dashboard, mode: Mode, person: string): Promise<StoreObjects> {
  const endpoint = issueEndpoint(api.merchantId, mode, `https://${mode}.example/`, [], api.clock.nowMs());
  await api.database().endpoints.add(endpoint);
  const client = api.client(mode === 'test' ? api.testKey : api.liveKey);
  const order = { amount: 1050, currency: 'USD', order_id: `order-${mode}` };
  const made = (await client.send('POST', '/api/v1/checkout/sessions/create', order)).json as Record<string, string>;
  const { id = '', payer_url = '' } = made;
  const to = (await api.database().sessions.find(id))?.addresses.evm ?? '';
  const chain = api.chain('ethereum', mode);
  await chain.confirm(await chain.mine([{ to, currency: 'USDT', units: 11_500_000n }]));
  const asked = { order_id: id, refund_id: 'r-1', amount: '1.00', currency: 'USDT' };
  const answer = (await client.send('POST', '/api/v1/refunds/create', asked)).json as {
    metadata?: { claim_url?: string };
  };
  const claim = answer.metadata?.claim_url?.split('/').at(-1) ?? '';
  const [refund] = await api.database().refunds.list({ sessionId: id, limit: 1 });
  const [held] = await api.database().held.list({ sessionId: id, limit: 1 });
  const [delivery] = await api.database().deliveries.list({ sessionId: id, limit: 1 });
  const { id: key } = await api.addKey(api.merchantId, mode);
  const payer = new URL(payer_url).searchParams.get('k') ?? '';
  invariant(refund && held && delivery && claim !== '' && payer !== '', 'everything was made');
  const ids = { refund: refund.id, held: held.id, delivery: delivery.id };
  return { id, payment: id, ...ids, endpoint: endpoint.id, key, person, claim, payer };
}

/** Puts the objects' ids, and others by their names, into the parameters of a path. */
export const withObjects = (path: string, ids: Readonly<Record<string, string>>): string =>
  path.replace(/:(\w+)/g, (name, parameter: string) => ids[parameter] ?? name);

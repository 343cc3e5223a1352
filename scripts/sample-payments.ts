/**
 * Makes the sample payments of a sandbox, and ends. The supervisor starts it once, after the first start of a sandbox
 * that was asked for them. The sessions are created by signed calls, and paid on the simulated chains.
 */
import '../src/lib/runtime.ts';
import { type Client, type CreateSession, createClient, QuaysideError } from '../sdk/typescript/quayside.ts';
import { IN_BACKGROUND, runProgram } from '../src/app/program.ts';
import { readCredentials } from '../src/app/sandbox-credentials.ts';
import { systemClock } from '../src/lib/clock.ts';
import type { Simulation } from '../src/payments/simulation.ts';

const POLL_MS = 500;
/** The longest life of a session, in seconds: what is open stays so while somebody looks around. */
const LIFE_S_MAX = 3600;

type Sample = Readonly<{
  order: Pick<CreateSession, 'amount' | 'currency' | 'description'>;
  network: string;
  coin: 'USDT' | 'USDC';
  /** Its payer's act; null: the payer has not paid yet. */
  action: Simulation | null;
  /** The part that is refunded once it is paid. */
  refunded?: string;
}>;

const sold = (description: string, amount: number, currency = 'USD'): Sample['order'] => ({
  amount,
  currency,
  description,
});

/** The sales of a coffee roaster: `SAMPLE-1` and so on. */
const samples: readonly Sample[] = [
  {
    order: sold('Espresso beans, 1 kg', 2850),
    network: 'ethereum',
    coin: 'USDC',
    action: 'pay_exact',
    refunded: '14.25',
  },
  { order: sold('Pour-over kettle', 6490, 'EUR'), network: 'tron', coin: 'USDT', action: 'pay_exact' },
  { order: sold('Six espresso cups', 4200), network: 'solana', coin: 'USDC', action: 'pay_exact' },
  { order: sold('Gift card', 5000), network: 'bsc', coin: 'USDT', action: 'pay_late' },
  { order: sold('Hand grinder', 18_900), network: 'tron', coin: 'USDT', action: 'pay_under' },
  { order: sold('Filter papers, 3 boxes', 1800, 'GBP'), network: 'bsc', coin: 'USDC', action: 'pay_over' },
  { order: sold('Tasting for two', 3500), network: 'tron', coin: 'USDT', action: 'expire' },
  { order: sold('Oat milk, 12 cartons', 2640), network: 'solana', coin: 'USDT', action: null },
];

type Run = Readonly<{ client: Client; signal: AbortSignal }>;

/** Waits until a look finds something, or until the end. */
async function find(signal: AbortSignal, look: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted && !(await look())) await systemClock.sleep(POLL_MS, signal);
}

/** Whether payers are offered every network. */
async function areFollowed(baseUrl: string): Promise<boolean> {
  const answer = await fetch(`${baseUrl}/readyz`);
  const { networks_not_followed = [] } = (await answer.json()) as { networks_not_followed?: readonly unknown[] };
  return answer.ok && networks_not_followed.length === 0;
}

async function make({ client, signal }: Run, { order, network, coin, action, refunded }: Sample, at: number) {
  if (signal.aborted) return;
  const { id } = await client.sessions.create({ ...order, order_id: `SAMPLE-${at + 1}`, expires_in: LIFE_S_MAX });
  if (action === null) return;
  const body = { action, network, currency: coin };
  await client.request('POST', `/api/v1/test/sessions/${id}/simulate`, { body });
  if (refunded === undefined) return;
  await find(signal, async () => (await client.sessions.get(id)).payment_status === 'paid');
  if (signal.aborted) return;
  await client.refunds.create({
    order_id: id,
    refund_id: `SAMPLE-R${at + 1}`,
    amount: refunded,
    currency: coin,
    reason: 'requested_by_customer',
  });
}

await runProgram(
  'samples',
  async ({ config, log, signal }) => {
    const known = config.sandbox && readCredentials(config.dataDir);
    if (!known) return;
    const { api_key: apiKey, api_secret: apiSecret, base_url: baseUrl } = known;
    const run = { client: createClient({ apiKey, apiSecret, baseUrl }), signal };
    try {
      await find(signal, () => areFollowed(baseUrl));
      // The refund comes last: it waits until its payment is final.
      for (const [at, sample] of [...samples.entries()].reverse()) await make(run, sample, at);
    } catch (error) {
      if (!(error instanceof QuaysideError)) throw error;
      log.warn({ code: error.code }, `the sample payments are not all there: ${error.message}`);
    }
  },
  IN_BACKGROUND,
);

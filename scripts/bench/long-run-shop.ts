/**
 * The shop of the long run: it creates sessions at a steady rate, asks again when the server is down, as a merchant's
 * server would, and its customers pay them on all networks.
 * @module
 */
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { systemClock, toSeconds } from '../../src/lib/clock.ts';
import { controlSandbox } from '../../src/sandbox/operator/control.ts';
import { createRandom, type Random } from '../../src/sandbox/random.ts';
import { signedClient } from '../../test/support/signed-client.ts';

/** How much of what is due its customer pays, in two halves or at once. */
export type Plan = 'whole' | 'halves' | 'over' | 'under' | 'nothing';

type Option = Readonly<{ network: string; currency: string; address: string; amount: string }>;

/** `ids` are those of all answers: one, if the same order never became two sessions. */
export type Sale = Readonly<{
  orderId: string;
  plan: Plan;
  amountMinor: number;
  expiresInS: number;
  ids: Set<string>;
  options: readonly Option[];
}>;

/** Times in ms: of the attempts that were answered, and from each order's first attempt to its answer. */
export type Sold = Readonly<{ answeredMs: number[]; waitedMs: number[]; failures: Map<string, number> }>;

export type SellOptions = Readonly<{ name: string; seconds: number; perSecond: number; isPaid: boolean }>;

/** Base units of one coin, by network and decimals of its tokens. */
export const decimalsOf: Readonly<Record<string, number>> = { tron: 6, ethereum: 6, bsc: 18, solana: 6 };

const AMOUNT_MINOR_MIN = 1000;
const AMOUNT_MINOR_SPAN = 9000;
const EXPIRES_IN_S = 3600;
/** The shortest there is: such a session ends within the run. */
const EXPIRES_IN_S_MIN = 60;
const ASK_AGAIN_MS = 250;
/** A server that accepts a request and is killed closes its connection; one that hangs does not. */
const ANSWER_MS_MAX = 30_000;
const ORDER_MS_MAX = 240_000;
const TICK_MS = 10;
const THINKING_MS_MAX = 3000;
const plans: readonly Plan[] = [
  ...Array<Plan>(14).fill('whole'),
  ...Array<Plan>(2).fill('halves'),
  'over',
  'under',
  'nothing',
  'nothing',
];

/** @param baseUrl of the server; it keeps it when it is restarted */
export function openLongRunShop(dataDir: string, seed: string) {
  const { base_url: baseUrl = '', api_key: apiKey = '', api_secret: apiSecret = '' } = readCredentials(dataDir) ?? {};
  const client = signedClient({ baseUrl, apiKey, apiSecret }, () => toSeconds(systemClock.nowMs()));
  const sales: Sale[] = [];

  async function order(sale: Sale, sold: Sold): Promise<readonly Option[]> {
    const body = {
      amount: sale.amountMinor,
      currency: 'USD',
      order_id: sale.orderId,
      expires_in: sale.expiresInS,
    };
    const firstAtMs = performance.now();
    while (performance.now() - firstAtMs < ORDER_MS_MAX) {
      const atMs = performance.now();
      const outcome = await attempt(body);
      if (typeof outcome !== 'string') {
        sold.answeredMs.push(performance.now() - atMs);
        sold.waitedMs.push(performance.now() - firstAtMs);
        sale.ids.add(outcome.id);
        return outcome.payment_options;
      }
      sold.failures.set(outcome, (sold.failures.get(outcome) ?? 0) + 1);
      await systemClock.sleep(ASK_AGAIN_MS);
    }
    // The audit finds an order without a session.
    return [];
  }

  /** Returns the session, or why there is none yet. */
  async function attempt(body: object): Promise<{ id: string; payment_options: readonly Option[] } | string> {
    const late = new AbortController();
    const tooLate = systemClock.sleep(ANSWER_MS_MAX, late.signal).then(() => 'no answer');
    try {
      const sent = client.send('POST', '/api/v1/checkout/sessions/create', body);
      const answer = await Promise.race([sent, tooLate]);
      if (typeof answer === 'string') return answer;
      if (answer.status !== 200) return `${answer.status} ${errorCode(answer.json)}`;
      return answer.json as { id: string; payment_options: readonly Option[] };
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    } finally {
      late.abort();
    }
  }

  async function serve(sale: Sale, sold: Sold, isPaid: boolean, random: Random): Promise<void> {
    const options = await order(sale, sold);
    sales.push({ ...sale, options });
    if (!isPaid || sale.plan === 'nothing') return;
    await systemClock.sleep(random.int(THINKING_MS_MAX));
    const parts = sale.plan === 'halves' ? 2 : 1;
    for (let part = 0; part < parts; part++) {
      const option = options[random.int(options.length)];
      // What a node that has just been killed did not take is not on its chain, which is what counts in the end.
      if (option) await pay(dataDir, option, shareOf(sale.plan, unitsOf(option))).catch(() => {});
    }
  }

  return {
    sales: (): readonly Sale[] => sales,

    /** Creates one session that nobody pays in full, and that is still pending when the run ends. */
    async open(orderId: string, amountMinor: number): Promise<readonly Option[]> {
      const sold = newSold();
      const sale: Sale = {
        orderId,
        plan: 'under',
        amountMinor,
        expiresInS: EXPIRES_IN_S,
        ids: new Set(),
        options: [],
      };
      await serve(sale, sold, false, createRandom('open', seed));
      return sales.at(-1)?.options ?? [];
    },

    /** Creates sessions, whether or not the earlier ones have been answered; resolves when all are served. */
    async sell({ name, seconds, perSecond, isPaid }: SellOptions): Promise<Sold> {
      const sold = newSold();
      const random = createRandom(name, seed);
      const total = Math.round(seconds * perSecond);
      const startedAtMs = performance.now();
      const running: Promise<void>[] = [];
      while (running.length < total) {
        const due = Math.min(total, ((performance.now() - startedAtMs) * perSecond) / 1000);
        while (running.length < due) {
          const plan = (isPaid && plans[random.int(plans.length)]) || 'nothing';
          const sale: Sale = {
            orderId: `${name}-${running.length}`,
            plan,
            amountMinor: AMOUNT_MINOR_MIN + 2 * random.int(AMOUNT_MINOR_SPAN / 2),
            expiresInS: plan === 'nothing' ? EXPIRES_IN_S_MIN : EXPIRES_IN_S,
            ids: new Set(),
            options: [],
          };
          running.push(serve(sale, sold, isPaid, random));
        }
        await systemClock.sleep(TICK_MS);
      }
      await Promise.all(running);
      return sold;
    },
  };
}

const newSold = (): Sold => ({ answeredMs: [], waitedMs: [], failures: new Map() });

const errorCode = (json: unknown): string => (json as { error?: { code?: string } } | null)?.error?.code ?? '';

const pay = (dataDir: string, { network, currency, address }: Option, units: bigint): Promise<unknown> =>
  controlSandbox(dataDir, network, 'sandbox_pay', { to: address, symbol: currency, amount: units.toString() });

function unitsOf({ network, amount }: Option): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(`${whole}${fraction.padEnd(decimalsOf[network] ?? 0, '0')}`);
}

function shareOf(plan: Plan, units: bigint): bigint {
  if (plan === 'halves' || plan === 'under') return units / 2n;
  return plan === 'over' ? units + units / 4n : units;
}

/**
 * Deposit addresses are swept to the treasury by the operator's commands, on any family: planned, given gas where they
 * need some, sent, final.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Currency } from '../../src/core/transfer.ts';
import type { Json } from '../support/instance.ts';
import type { PayoutShop } from '../support/payout-shop.ts';
import { until } from '../support/until.ts';

export type SweepPlan = Readonly<{
  /** Sessions that are paid first. */
  paid: readonly (readonly [cents: number, currency: Currency])[];
  /** How a plan says that the gas wallet has nothing. */
  poor: RegExp;
  /** Coins that the gas wallet gets then. */
  coins: number;
  /** The plan's sweeps: amount, addresses, forms of gas. */
  sweeps: readonly (readonly [amount: string, addresses: number, gas: readonly string[]])[];
  /** Addresses that the plan leaves because they hold too little. */
  tooSmall: readonly string[];
  /** The share of a sweep that its fees are, where the operator gave the coin's price. */
  costShare: RegExp | null;
}>;

const EVENT_TYPES = ['detected', 'partially_paid', 'completed', 'late', 'reversed'];

/** Registers the suite; `closeBooks` runs it. */
export function sweepConforms(bench: PayoutShop, expected: SweepPlan): void {
  const { chain, quayside, shop } = bench;
  const sweep = (...words: string[]): Promise<Json> => quayside.cli('sweep', bench.network, ...words);
  const plans = () => sweep('--dry-run');
  const sweptCents = (of: Currency): number => {
    const amounts = expected.sweeps.map(([amount]) => amount.split(' ') as [string, string]);
    return amounts.reduce((sum, [amount, symbol]) => sum + (symbol === of ? Math.round(Number(amount) * 100) : 0), 0);
  };
  const unitsIn = (text: string): bigint => {
    const [amount, symbol] = text.split(' ') as [string, Currency];
    return bench.unitsOf(Math.round(Number(amount) * 100), symbol);
  };
  const eventsOf = (session: Json) => EVENT_TYPES.map((type) => shop.events(session, `payment.${type}`).length);
  const views = (all: readonly Json[]) =>
    Promise.all(
      all.map(async (session) => {
        const { payments, payment_status, amount_received } = await shop.show(session);
        return { payments: payments.length, payment_status, amount_received, events: eventsOf(session) };
      }),
    );
  let sessions: Json[] = [];
  test.before(async () => {
    // Plans are made of what the signer knows.
    await bench.untilUnlocked();
    for (const [cents] of expected.paid) sessions = [...sessions, await shop.newSession(cents)];
    for (const [at, [cents, currency]] of expected.paid.entries())
      await chain.pay(bench.keyOf(sessions[at]), currency, bench.unitsOf(cents, currency));
    for (const session of sessions) await shop.waitForStatus(session, 'paid');
    for (const session of sessions) await shop.completed(session);
    await chain.finalize?.();
    await until('all of it is final', async () => (await plans()).left.length === expected.paid.length);
  });

  test('a plan spends nothing, and says what would be swept, what would be left, and why', async () => {
    const poor = await plans();
    assert.equal(poor.sweeps, []);
    assert.match(poor.left[0].detail, expected.poor, 'the gas wallet has nothing yet');
    await chain.fund(bench.gasWallet, expected.coins);
    await until('the gas wallet can pay', async () => (await plans()).sweeps.length > 0);
    const plan = await plans();
    assert.is(bench.parse(plan.treasury), chain.treasury);
    assert.equal(
      plan.sweeps.map(({ amount, addresses, gas }: Json) => [
        amount,
        addresses.length,
        gas.map(({ form }: Json) => form),
      ]),
      expected.sweeps,
    );
    for (const { cost_share: share } of plan.sweeps) {
      if (expected.costShare) assert.match(share, expected.costShare);
    }
    assert.equal(
      plan.left.map(({ amount, why }: Json) => [amount, why]),
      expected.tooSmall.map((amount) => [amount, 'too_small']),
    );
    assert.equal(await quayside.cli('payout', 'list'), []);
  });

  test('two runs at once give gas to and sweep each address once; a later run finds nothing', async () => {
    const before = await views(sessions);
    const tokens = chain.tokens.map(({ symbol }) => symbol);
    const balances = () => Promise.all(tokens.map((symbol) => chain.held(chain.treasury, symbol)));
    const held = await balances();
    const runs = await Promise.all([sweep('--yes'), sweep('--yes')]);
    const swept = runs.flatMap((run) => run.sweeps);
    assert.equal(swept.map(({ amount }: Json) => amount).sort(), expected.sweeps.map(([amount]) => amount).sort());
    await until('every sweep has succeeded', async () => {
      const states = await Promise.all(swept.map(async ({ id }: Json) => (await quayside.cli('show', id)).state));
      return states.every((state) => state === 'succeeded');
    });
    assert.equal(
      (await balances()).map((units, at) => units - (held[at] ?? 0n)),
      tokens.map((symbol) => bench.unitsOf(sweptCents(symbol), symbol)),
    );
    const left = await Promise.all(
      expected.paid.map(([, currency], at) => chain.held(bench.keyOf(sessions[at]), currency)),
    );
    assert.equal(
      left.filter((units) => units > 0n),
      expected.tooSmall.map(unitsIn),
      'the addresses are empty',
    );
    const all: Json[] = await quayside.cli('payout', 'list');
    assert.equal(
      all.filter(({ kind }) => kind === 'gas').map(({ state }: Json) => state),
      expected.sweeps.flatMap(([, , forms]) => forms.map(() => 'succeeded')),
    );
    assert.equal((await sweep('--yes')).sweeps, []);
    // Neither gas nor a sweep is a payment to anybody.
    assert.equal(await views(sessions), before);
  });
}

/**
 * The path of a payment through a whole installation, from the signed call to the signed webhook. Each family runs this
 * suite over a bench of its own; all of Quayside runs as it does for an operator.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Currency, Token } from '../../src/core/transfer.ts';
import { has, have } from '../support/fields.ts';
import type { FlowShop, Instance, Json } from '../support/instance.ts';
import { expectBooks } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

/** One of the bench's networks, and how its chain takes payments. The next block mined has the payments. */
export type PaymentNetwork = Readonly<{
  /** As sessions name it. */
  name: string;
  tokens: readonly Pick<Token, 'symbol' | 'decimals'>[];
  /** `confirmations_required`. */
  required: number;
  pay(session: Json, currency: Currency, units: bigint): Promise<string>;
  mine(blocks?: number): Promise<void>;
  /** Mines until payments in the tip lack one more step to be confirmed. */
  mineAlmost(): Promise<Readonly<{ confirmations: number; blocks: number }>>;
  /** Mines until everything paid so far is confirmed. */
  confirm(): Promise<void>;
  head(): Promise<number>;
}>;

/** A network of the long suite, and what else a test can make its chain do. */
export type FlowNetwork = PaymentNetwork &
  Readonly<{
    /** Makes several payments in one transaction, in the first token. */
    payTogether(outputs: readonly (readonly [session: Json, units: bigint])[]): Promise<string>;
    /** Mines everything that resembles a payment of this many units of a token, but is none. */
    payWorthless(session: Json, currency: Currency, units: bigint): Promise<void>;
    /** Replaces the newest blocks by others that lack their payments. */
    reorg(blocks: number): Promise<void>;
    /** Replaces the newest blocks by others that have a payment elsewhere. */
    remine(blocks: number, tx: string, untilOrphaned: () => Promise<void>): Promise<void>;
    stop(): Promise<void>;
    start(): Promise<void>;
  }>;

export type FlowBench<Network = FlowNetwork> = Readonly<{
  quayside: Instance;
  shop: FlowShop;
  networks: readonly Network[];
  /** Asserts what is particular to the family in the payment options. */
  checkOptions?(session: Json): void;
  close(): Promise<void>;
}>;

/** Returns an amount in cents as base units of a token. */
function centsOf({ tokens }: Pick<PaymentNetwork, 'tokens'>, currency: Currency, cents: number): bigint {
  const decimals = tokens.find(({ symbol }) => symbol === currency)?.decimals ?? 0;
  return BigInt(cents) * 10n ** BigInt(decimals - 2);
}

const nameInStatus = ({ name }: PaymentNetwork): string => `test:${name}`;
const currenciesOf = ({ tokens }: PaymentNetwork): Currency[] => tokens.map(({ symbol }) => symbol);

/** Registers and runs the short suite: one payment in each token of each network. */
export function paymentConforms(bench: FlowBench<PaymentNetwork>): void {
  openFlow(bench);
  testPayments(bench);
  closeFlow(bench);
}

function testPayments(bench: FlowBench<PaymentNetwork>): void {
  const { shop, networks } = bench;
  for (const network of networks) {
    for (const currency of currenciesOf(network)) {
      test(`${currency} on ${network.name}: from the signed call to the signed webhook`, async () => {
        const session = await shop.newSession(1050);
        const offered = networks.flatMap((one) => currenciesOf(one).map((symbol) => `${symbol} on ${one.name}`));
        assert.equal(
          session.payment_options.map((one: Json) => `${one.currency} on ${one.network}`).sort(),
          offered.sort(),
        );
        const option = session.payment_options.find(
          (one: Json) => one.network === network.name && one.currency === currency,
        );
        has(option, { amount: '10.50', confirmations_required: network.required });
        bench.checkOptions?.(session);

        const tx = await network.pay(session, currency, centsOf(network, currency, 1050));
        await network.mine();
        await shop.waitForSeen(session);
        const seen = await shop.show(session);
        assert.is(seen.payment_status, 'pending');
        const payment = { network: network.name, currency, amount: '10.50', transaction_hash: tx };
        assert.equal(seen.payments, [{ ...payment, confirmations: 1, status: 'seen' }]);
        const { confirmations } = await network.mineAlmost();
        await shop.waitFor('counts', session, (now) => now.payments[0].confirmations === confirmations);
        assert.is((await shop.show(session)).payment_status, 'pending', 'one step short');
        await network.confirm();
        await shop.waitForStatus(session, 'paid');
        const paid = await shop.show(session);
        assert.is(paid.payments[0].status, 'confirmed');
        assert.not(paid.underpaid);
        assert.not(paid.overpaid);
        assert.equal(await shop.completed(session), {
          amount: 1050,
          status: 'completed',
          currency,
          order_id: session.metadata.order_id,
          session_id: session.id,
          source: 'api',
          exchange_rate: '1.0000',
        });
      });
    }
  }
}

/** Registers and runs the long suite, with the short one: part payments, overpayments, reorgs, what stops. */
export function flowConforms(bench: FlowBench): void {
  const { networks } = bench;
  openFlow(bench);
  testPayments(bench);
  for (const [at, network] of networks.entries()) {
    const next = networks[(at + 1) % networks.length] ?? network;
    testAmounts(bench, network, next);
    testReorgs(bench, network);
    testOutages(bench, network);
  }
  closeFlow(bench);
}

/** Sessions offer only networks that are followed, and the instance is ready when one of a mode is. */
function openFlow({ shop, networks }: FlowBench<PaymentNetwork>): void {
  test('every network is followed', async () => {
    for (const network of networks) {
      await until(
        `${network.name} is followed`,
        async () => (await shop.statusOf(nameInStatus(network)))?.state === 'following',
      );
    }
  });
}

function testAmounts({ quayside, shop }: FlowBench, network: FlowNetwork, next: FlowNetwork): void {
  const currencies = currenciesOf(network);
  const [first = 'USDT', second] = currencies;
  const { decimals = 0 } = network.tokens[0] ?? {};

  test(`${network.name}: a part payment is announced, then topped up there and on ${next.name}`, async () => {
    const session = await shop.newSession(2000);
    await network.pay(session, first, centsOf(network, first, 1250));
    await network.confirm();
    await shop.waitFor('is underpaid', session, (now) => now.underpaid && now.payments[0].status === 'confirmed');
    await until('the part is announced', () => shop.events(session, 'payment.partially_paid').length === 1);
    assert.is(shop.events(session, 'payment.partially_paid')[0].data.object.amount, 1250);
    await network.pay(session, first, centsOf(network, first, 250));
    await network.mine();
    const last = currenciesOf(next).at(-1) ?? first;
    await next.pay(session, last, centsOf(next, last, 500));
    await next.confirm();
    await network.confirm();
    await shop.waitForStatus(session, 'paid');
    const paid = await shop.show(session);
    assert.is(paid.payments.length, 3);
    assert.not(paid.underpaid);
    has(await shop.completed(session), { amount: 2000, currency: first });
  });

  test(`${network.name}: an overpayment is paid, announced in full, and flagged`, async () => {
    const session = await shop.newSession(500);
    await network.pay(session, first, centsOf(network, first, 731) + 1n);
    await network.confirm();
    await shop.waitForStatus(session, 'paid');
    const paid = await shop.show(session);
    assert.ok(paid.overpaid);
    assert.is(paid.payments[0].amount, `7.31${'1'.padStart(decimals - 2, '0')}`);
    assert.is((await shop.completed(session)).amount, 731, 'rounded down to the minor unit');
  });

  test(`${network.name}: one transaction pays three sessions, one of them twice`, async () => {
    const [one, two, twice] = [await shop.newSession(300), await shop.newSession(400), await shop.newSession(500)];
    const tx = await network.payTogether([
      [one, centsOf(network, first, 300)],
      [twice, centsOf(network, first, 200)],
      [two, centsOf(network, first, 400)],
      [twice, centsOf(network, first, 300)],
    ]);
    await network.confirm();
    for (const session of [one, two, twice]) await shop.waitForStatus(session, 'paid');
    have((await shop.show(twice)).payments, [
      { amount: '2.00', transaction_hash: tx },
      { amount: '3.00', transaction_hash: tx },
    ]);
    assert.is((await shop.completed(twice)).amount, 500);
  });

  test(`${network.name}: what only resembles a payment is not credited`, async () => {
    const session = await shop.newSession(600);
    await network.payWorthless(session, first, centsOf(network, first, 600));
    await network.confirm();
    // Once the real payment after them is credited, everything before it was read.
    await network.pay(session, first, centsOf(network, first, 600));
    await network.confirm();
    await shop.waitForStatus(session, 'paid');
    assert.is((await shop.show(session)).payments.length, 1);
    assert.is((await shop.completed(session)).amount, 600);
  });

  if (second === undefined) return;
  test(`${network.name}: a session in ${first} is not paid by ${second}, but shows it`, async () => {
    const session = await shop.newSession(800, { currency: first });
    assert.equal([...new Set(session.payment_options.map((one: Json) => one.currency))], [first]);
    await network.pay(session, second, centsOf(network, second, 800));
    await network.confirm();
    await shop.waitFor(`shows the ${second}`, session, (now) => now.payments[0]?.status === 'confirmed');
    const wrong = await shop.show(session);
    assert.is(wrong.payment_status, 'pending');
    assert.ok(wrong.underpaid);
    const refusal = await quayside.api('POST', `/api/v1/checkout/sessions/${session.id}/cancel`);
    assert.is(refusal.status, 400);
    assert.is(refusal.body.error.code, 'payment_in_progress');
    await network.pay(session, first, centsOf(network, first, 800));
    await network.confirm();
    await shop.waitForStatus(session, 'paid');
    has(await shop.completed(session), { amount: 800, currency: first });
  });
}

function testReorgs({ quayside, shop }: FlowBench, network: FlowNetwork): void {
  const [currency = 'USDT'] = currenciesOf(network);
  const statuses = (session: Json): string[] => session.payments.map((one: Json) => one.status).sort();

  test(`${network.name}: a reorg removes an unconfirmed payment; the session is open again`, async () => {
    const [repaid, canceled] = [await shop.newSession(900), await shop.newSession(900)];
    for (const session of [repaid, canceled]) await network.pay(session, currency, centsOf(network, currency, 900));
    await network.mine();
    const { confirmations, blocks } = await network.mineAlmost();
    for (const session of [repaid, canceled])
      await shop.waitFor('is nearly confirmed', session, (now) => now.payments[0]?.confirmations === confirmations);
    await network.reorg(blocks);
    for (const session of [repaid, canceled])
      await shop.waitFor('shows it orphaned', session, (now) => now.payments[0].status === 'orphaned');
    await network.confirm();
    const head = await network.head();
    await until('the new branch is read', async () => (await shop.statusOf(nameInStatus(network))).cursor === head);
    const open = await shop.show(canceled);
    assert.is(open.payment_status, 'pending');
    assert.not(open.underpaid);
    assert.is(shop.events(canceled, 'payment.completed').length, 0);
    const { status, body } = await quayside.api('POST', `/api/v1/checkout/sessions/${canceled.id}/cancel`);
    assert.equal({ status, payment_status: body.payment_status }, { status: 200, payment_status: 'canceled' });
    await until('the cancel is announced', () => shop.events(canceled, 'payment.cancelled').length === 1);

    await network.pay(repaid, currency, centsOf(network, currency, 900));
    await network.confirm();
    await shop.waitForStatus(repaid, 'paid');
    const paid = await shop.show(repaid);
    assert.not(paid.overpaid);
    assert.equal(statuses(paid), ['confirmed', 'orphaned']);
    assert.is((await shop.completed(repaid)).amount, 900);
  });

  test(`${network.name}: a reorg puts the payment into another block; it is credited once`, async () => {
    const session = await shop.newSession(1100);
    const tx = await network.pay(session, currency, centsOf(network, currency, 1100));
    await network.mine(2);
    await shop.waitForSeen(session);
    await network.remine(2, tx, () =>
      shop.waitFor('shows it orphaned', session, (now) => now.payments[0].status === 'orphaned'),
    );
    await network.confirm();
    await shop.waitForStatus(session, 'paid');
    const paid = await shop.show(session);
    assert.not(paid.overpaid);
    assert.is(
      statuses(paid)
        .filter((status) => status !== 'orphaned')
        .join(),
      'confirmed',
    );
    assert.is((await shop.completed(session)).amount, 1100);
  });
}

function testOutages({ shop, networks }: FlowBench, network: FlowNetwork): void {
  const [currency = 'USDT'] = currenciesOf(network);
  const status = () => shop.statusOf(nameInStatus(network));

  test(`${network.name}: nothing is lost if the node is stopped and started in the middle of a payment`, async () => {
    const session = await shop.newSession(1300);
    await network.pay(session, currency, centsOf(network, currency, 1300));
    await network.mine();
    await shop.waitForSeen(session);
    await network.stop();
    await until('the outage shows in status', async () => (await status()).state === 'fault');
    assert.match((await status()).reason.code, /^node_/);
    for (const other of networks.filter((one) => one !== network))
      await until(
        'the other network goes on',
        async () => (await shop.statusOf(nameInStatus(other))).state === 'following',
      );
    await network.start();
    await network.confirm();
    await shop.waitForStatus(session, 'paid');
    assert.is((await shop.completed(session)).amount, 1300);
  });

  test(`${network.name}: an indexer that is killed in the middle of a payment is restarted and credits once`, async () => {
    const session = await shop.newSession(1500);
    await network.pay(session, currency, centsOf(network, currency, 1500));
    await network.mine();
    await shop.waitForSeen(session);
    const { pid } = await status();
    process.kill(pid, 'SIGKILL');
    await network.mineAlmost();
    await until('another one has taken over', async () => {
      const now = await status();
      return now.pid !== pid && now.state === 'following';
    });
    await network.confirm();
    await shop.waitForStatus(session, 'paid');
    assert.not((await shop.show(session)).overpaid);
    assert.is((await shop.completed(session)).amount, 1500);
  });
}

function closeFlow({ quayside, shop, networks }: FlowBench<PaymentNetwork>): void {
  test('in the end every network is followed to its head, the books balance, and stopping is clean', async () => {
    for (const network of networks) {
      const head = await network.head();
      await until(`${network.name} is level`, async () => {
        const { state, cursor } = await shop.statusOf(nameInStatus(network));
        return state === 'following' && cursor === head;
      });
    }
    const { networks: shown } = await quayside.cli('status');
    assert.equal(
      shown.map(({ network, state, lag }: Json) => [network, state, lag]),
      networks.map((network) => [nameInStatus(network), 'following', 0]),
    );
    await expectBooks(quayside.cli);
    assert.is(await quayside.stop(), 0);
  });
  test.run();
}

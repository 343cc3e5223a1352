/**
 * Refunds that a database has lost with its newest state, and whose transfers an operator acknowledges by ending the
 * freeze: what is requested again afterwards is not paid before a person has looked.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { retry, settleNever, settlePaid } from '../../../indexers/payouts/exits.ts';
import { createPayoutWallets } from '../../../indexers/payouts/wallets.ts';
import { chains } from '../../../src/chains/index.ts';
import { Fault } from '../../../src/core/fault.ts';
import { thawAll } from '../../support/thaw.ts';
import { COIN, closeBenches, type NodeBenchOptions, network, openNodeBench, READ_MS } from './node-bench.ts';

const USDT = 1_000_000n;
const payees = ['dd', 'cc', 'bb'].map((one) => one.repeat(20)) as [string, string, string];
test.after(closeBenches);

/** A wallet that has paid these payees 3 USDT each, of which the database knows nothing. */
async function openLost(family: 'evm' | 'tron', lost: readonly string[], through?: NodeBenchOptions['through']) {
  const bench = await openNodeBench(family, { ...(through && { through }) });
  const { sim, database, node, signer, tokens, walletKey, pass, clock, passMinutes } = bench;
  const wallet = walletKey('refund', 0);
  sim.world.fund(wallet.key, 300n * COIN[family]);
  sim.pay(wallet.key, 50n * USDT);
  for (let n = 0; n < 3; n++) assert.is(await pass(READ_MS), null);
  const txs: string[] = [];
  for (const [at, to] of lost.entries()) {
    txs.push(await bench.payUnknown(`rf_${at}`, to, 3n * USDT));
    bench.advance(READ_MS);
  }
  // Where transactions have no numbers, what they cost is missed, too.
  await passMinutes(5);
  const rules = chains[family].spendRules;
  const wallets = createPayoutWallets({ network, tokens, rules, signer });
  const act = (command: string) => ({ atMs: clock.nowMs(), operator: 'anna', command, reason: 'looked' });
  const find = async (id: string) => {
    const payout = await database.findPayout(id);
    assert.ok(payout);
    return payout;
  };
  const codes = async () => (await database.listFreezes()).map(({ code }) => code);
  return {
    ...bench,
    txs,
    act,
    find,
    codes,
    parts: () => ({ node, wallets, rules, database, act: act('payout resolve'), isDryRun: false }),
    refusalOf: async (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error: unknown) => (error instanceof Fault ? `${error.code}: ${error.message}` : String(error)),
      ),
    /** Lets an operator end all that froze money out, and the halted wallets go on. */
    async thaw() {
      await thawAll(database, network, act('payout thaw'));
      for (const { payer } of await database.haltedLanes())
        await database.resumeLane(network, payer, (await node.count(payer))?.final ?? 0, clock.nowMs());
      assert.equal(await codes(), []);
      const { freeze } = bench.service.freezeState();
      assert.ok(freeze, 'the signer stays frozen');
      bench.thawSigner();
    },
    /** What each payee of the lost refunds has been paid, in whole tokens. */
    paidTo: () => payees.map((to) => Number(bench.paid(wallet.key, to).reduce((sum, units) => sum + units, 0n) / USDT)),
  };
}

for (const family of ['evm', 'tron'] as const) {
  test(`${family}: of two lost refunds one is requested after the thaw: it waits, and is settled by its transfer`, async () => {
    const { database, txs, find, planRefund, thaw, passMinutes, parts, paidTo } = await openLost(
      family,
      payees.slice(0, 2),
    );
    await planRefund('rf_0', payees[0], 3n * USDT);
    await passMinutes(2);
    assert.is((await find('rf_0')).tx, txs[0]);
    assert.ok(
      (await database.listFreezes()).some(({ code }) => code === 'wallet_outflow_foreign'),
      'one is left',
    );
    await thaw();
    await planRefund('rf_1', payees[1], 3n * USDT);
    await passMinutes(3);
    const { state, wait } = await find('rf_1');
    assert.equal([state, wait?.code], ['waiting', 'refund_equals_transfer']);
    for (const shown of [`resolve rf_1 --paid ${txs[1]}`, 'resolve rf_1 --retry --yes'])
      assert.ok(wait?.message.includes(shown), wait?.message);
    assert.ok((await database.alarms.list(9)).some(({ code }) => code === 'refund_equals_transfer'));
    assert.is(await database.cancelPayout('rf_1', 0), false, 'its amount is not free');
    await planRefund('rf_2', payees[2], 3n * USDT);
    await passMinutes(3);
    assert.equal([(await find('rf_2')).state, paidTo()], ['succeeded', [3, 3, 3]], 'others go on');
    await settlePaid(parts(), await find('rf_1'), txs[1] ?? '', false);
    assert.equal([(await find('rf_1')).tx, paidTo()], [txs[1], [3, 3, 3]]);
  });
}

test('a refund that equals an acknowledged transfer by chance is paid once a person has said so, and so is the next', async () => {
  const { database, txs, find, planRefund, thaw, passMinutes, parts, refusalOf, paidTo } = await openLost('tron', [
    payees[0],
  ]);
  await thaw();
  for (const [id, total] of [
    ['rf_8', 6],
    ['rf_9', 9],
  ] as const) {
    await planRefund(id, payees[0], 3n * USDT);
    await passMinutes(2);
    assert.is((await find(id)).wait?.code, 'refund_equals_transfer');
    const again = async (isAgreed: boolean) => refusalOf(retry(parts(), await find(id), isAgreed));
    assert.match(await again(false), new RegExp(`^payout_equals: transaction ${txs[0]} has paid .*--yes`));
    assert.is(await again(true), 'done');
    await passMinutes(3);
    assert.equal([(await find(id)).state, paidTo()[0]], ['succeeded', total]);
  }
  await planRefund('rf_10', payees[0], 3n * USDT);
  await passMinutes(2);
  await settleNever(parts(), await find('rf_10'), true);
  assert.equal([(await find('rf_10')).state, paidTo()[0]], ['failed', 9]);
  const [entry] = await database.audit.list(1);
  assert.equal([entry?.command, entry?.target], ['payout resolve', 'rf_10']);
});

test('a refund that equals two acknowledged transfers is not paid before a person has looked at each', async () => {
  const { txs, find, planRefund, thaw, passMinutes, parts, refusalOf, paidTo } = await openLost('tron', [
    payees[0],
    payees[0],
  ]);
  await thaw();
  await planRefund('rf_8', payees[0], 3n * USDT);
  const never = async (isRenewed: boolean) =>
    refusalOf((isRenewed ? retry : settleNever)(parts(), await find('rf_8'), true));
  for (const tx of txs) {
    await passMinutes(2);
    const { state, wait } = await find('rf_8');
    assert.equal([state, wait?.code], ['waiting', 'refund_equals_transfer']);
    assert.ok(wait?.message.includes(`--paid ${tx}`), wait?.message);
    if (tx === txs[0]) assert.match(await never(false), new RegExp(`^payout_equals: transaction ${txs[1]}.*--retry`));
    assert.is(await never(true), 'done');
    // The command again, before anybody was shown the other one.
    if (tx === txs[0]) assert.match(await never(true), /^payout_moved/);
    assert.is(paidTo()[0], 6);
  }
  await passMinutes(3);
  assert.equal([(await find('rf_8')).state, paidTo()[0]], ['succeeded', 9]);
});

test('of two refunds that equal a transfer one is settled by it: the other is asked about the next', async () => {
  const { txs, find, planRefund, thaw, passMinutes, parts, refusalOf, paidTo } = await openLost('tron', [
    payees[0],
    payees[0],
  ]);
  await thaw();
  for (const id of ['rf_0', 'rf_1']) await planRefund(id, payees[0], 3n * USDT);
  await passMinutes(2);
  await settlePaid(parts(), await find('rf_0'), txs[0] ?? '', false);
  assert.ok((await find('rf_1')).wait?.message.includes(txs[0] ?? ''));
  const again = async () => refusalOf(retry(parts(), await find('rf_1'), true));
  assert.match(await again(), /^payout_moved/);
  assert.ok((await find('rf_1')).wait?.message.includes(txs[1] ?? ''));
  await settlePaid(parts(), await find('rf_1'), txs[1] ?? '', false);
  await passMinutes(3);
  assert.is(paidTo()[0], 6);
});

test('a refund whose payee cannot be paid any more does not fail while an acknowledged transfer equals it', async () => {
  const { txs, database, find, planRefund, thaw, passMinutes, parts, paidTo } = await openLost(
    'evm',
    [payees[0]],
    (node) => ({
      ...node,
      quote: async (draft, ...of) =>
        draft.to === payees[0] && draft.intent.id !== 'rf_0'
          ? { refused: 'destination_frozen', message: 'the issuer has frozen it', missing: null }
          : node.quote(draft, ...of),
    }),
  );
  await thaw();
  for (const id of ['rf_7', 'rf_8']) await planRefund(id, payees[0], 3n * USDT);
  await planRefund('rf_9', payees[0], 2n * USDT);
  await passMinutes(3);
  for (const id of ['rf_7', 'rf_8']) {
    const { state, wait } = await find(id);
    assert.equal([state, wait?.code], ['waiting', 'refund_equals_transfer']);
    assert.match(wait?.message ?? '', new RegExp(`--paid ${txs[0]}.*cannot be paid now: the issuer has frozen it`));
  }
  assert.is((await find('rf_9')).state, 'failed', 'another amount fails');
  await settlePaid(parts(), await find('rf_7'), txs[0] ?? '', false);
  await passMinutes(6);
  assert.equal([(await find('rf_7')).state, (await find('rf_8')).state], ['succeeded', 'failed']);
  assert.equal([paidTo()[0], await database.listFreezes()], [3, []]);
});

test('only transfers that were shown are acknowledged: with another one the network stays frozen', async () => {
  const { database, act, codes, payUnknown, passMinutes, find, planRefund } = await openLost('tron', [payees[0]]);
  const shown = {
    freezes: await database.listFreezes(),
    transfers: (await database.listForeign(network, 9)).map(({ id }) => id),
  };
  const later = await payUnknown('rf_7', payees[1], 3n * USDT);
  await passMinutes(2);
  await database.thawPayouts(shown, act('payout thaw'));
  assert.ok((await codes()).includes('wallet_outflow_foreign'));
  assert.equal(
    (await database.listForeign(network, 9)).map(({ tx }) => tx),
    [later],
  );
  await planRefund('rf_7', payees[1], 3n * USDT);
  await passMinutes(2);
  assert.is((await find('rf_7')).tx, later, 'it is settled by it as before');
  assert.not.ok((await codes()).includes('wallet_outflow_foreign'));
});

for (const family of ['evm', 'tron'] as const) {
  test(`${family}: the freeze ends by itself once every transfer is explained, and the signer's does not`, async () => {
    const { database, service, txs, find, planRefund, passMinutes, codes, paidTo } = await openLost(
      family,
      payees.slice(0, 2),
    );
    for (const [at, id] of ['rf_0', 'rf_1'].entries()) {
      assert.ok((await codes()).includes('wallet_outflow_foreign'));
      await planRefund(id, payees[at] ?? '', 3n * USDT);
      await passMinutes(2);
      assert.is((await find(id)).tx, txs[at]);
    }
    // What the transactions cost was missing for minutes where they have no number.
    assert.equal(await codes(), family === 'evm' ? [] : ['wallet_balance_short']);
    const entry = (await database.audit.list(20)).find(({ command }) => command === 'payout thaw');
    assert.equal([entry?.operator, entry?.target, entry?.after], ['quayside', network, null]);
    assert.ok(service.freezeState().freeze);
    assert.equal(paidTo(), [3, 3, 0]);
  });
}

test.run();

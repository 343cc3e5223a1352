/**
 * TRON's payouts against the simulated java-tron, which checks and charges what was signed as java-tron does; and
 * against nodes that lie: an attempt is dead only if the blocks of every node say so, and an outcome counts only if all
 * nodes have it.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tronSpending } from '../../../../src/chains/tron/spend.ts';
import { lookalikeKey } from '../../../../src/sandbox/transaction.ts';
import type { Lie } from '../../../support/liar.ts';
import type { Json } from '../../../support/recordings.ts';
import { faultOf } from '../../../support/refusal.ts';
import { accountKey, tronTokenKeys } from '../../../support/simulated-node.ts';
import { type Lied, liedPayouts, openLied } from '../../lied-payouts.ts';
import { gasOf, sweepOf, withClient } from '../../payout-bench.ts';
import { nothingYet, quoted, refused } from '../../seed-wallets.ts';
import { makeSimulatedPayouts } from '../../simulated-payouts.ts';

const TRX = 1_000_000n;
const bench = withClient(await makeSimulatedPayouts('tron'));
const { sandbox, world, network, node, open, openWallets, openFundedWallets, signOn, prepare, send, carry } = bench;
const { outcomeOf, mine, finalBlocks, held, native } = bench;
const opened = await openLied(bench, sandbox);
const { liar, alone, pairs, prepared, paid, outcomeOf: outcomeBy, fails } = opened;
const outlive = (): void => bench.outlive?.();
/** Makes the newest block final. */
const mineFinal = () => mine(finalBlocks);
test.after.each(() => sandbox.faults.heal());

const { treasury } = network;

const ENERGY_SUN = 100n;
const TO_HOLDER = 64_285n * ENERGY_SUN;
const TO_OTHERS = 130_285n * ENERGY_SUN;
const BYTES = 345n * 1_000n;
/** A quarter more, in whole energy. */
const withReserve = (sun: bigint): bigint => (((sun / ENERGY_SUN) * 5n + 3n) / 4n) * ENERGY_SUN;

// ── Success
// ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('paying a holder of the token takes less energy, and bytes cost TRX once the day’s are used', async () => {
  const wallets = await openFundedWallets();
  const first = wallets.refund('USDT', 5n);
  const quote = quoted(await node.quote(wallets.draft(first), null, []));
  assert.is(quote.feeUnits, TO_OTHERS, 'its bytes are free');
  assert.is(BigInt(quote.terms.fee_limit ?? 0), withReserve(TO_OTHERS));
  await carry(wallets, first);
  const intent = wallets.refund('USDT', 7n, first.to);
  const { feeUnits } = quoted(await node.quote(wallets.draft(intent), null, []));
  assert.is(feeUnits, TO_HOLDER + BYTES);
  const outcome = await carry(wallets, intent);
  assert.is(outcome.kind === 'succeeded' && outcome.feeUnits, feeUnits);
  assert.is(held(first.to), 12n);
});

test('the signer’s own reading never exceeds what was quoted', async () => {
  const wallets = await openFundedWallets();
  const gasWallet = wallets.keyOf({ role: 'gas' });
  world.fund(gasWallet, 100n * TRX);
  world.fund(gasWallet, 1_000n * TRX, true);
  world.fund(wallets.keyOf({ role: 'collection', index: 0 }), 1n);
  mine();
  for (const intent of [wallets.refund('USDT', 5n), gasOf('transfer', 1, TRX), gasOf('delegate', 0, 2n * TRX)]) {
    const { terms, feeUnits, feeUnitsMax } = quoted(await node.quote(wallets.draft(intent), null, []));
    const read = tronSpending.read(signOn(wallets, intent, terms).bytes, network);
    assert.ok(feeUnits <= feeUnitsMax);
    if (intent.kind === 'refund' || intent.form === 'transfer') assert.is(read.feeUnitsMax, feeUnitsMax);
  }
});

test('a deposit address is lent energy for its sweep, pays nothing, and the loan is reclaimed', async () => {
  const wallets = openWallets();
  const [gasWallet, owner] = [wallets.keyOf({ role: 'gas' }), wallets.keyOf({ role: 'collection', index: 2 })];
  world.fund(gasWallet, 10n * TRX);
  world.fund(gasWallet, 10_000n * TRX, true);
  sandbox.pay(owner, 5_000n);
  mine();
  const intent = sweepOf({ index: 2, units: 5_000n });
  const loan = refused(await node.quote(wallets.draft(intent), null, [])).missing?.loan;
  assert.ok(loan);
  assert.is(loan.coinUnits, 1n, 'the account must exist');
  assert.is(loan.units / TRX, (64_285n * 5n) / 4n / 10n + 2n, 'a staked TRX gives ten units of energy a day');
  const early = refused(await node.quote(wallets.draft(gasOf('delegate', 2, loan.units)), null, []));
  assert.is(early.refused, 'would_fail');
  assert.match(early.message, 'before it can be lent energy');
  assert.is((await carry(wallets, gasOf('transfer', 2, loan.coinUnits))).kind, 'succeeded');
  const greedy = refused(await node.quote(wallets.draft(gasOf('delegate', 2, 10_001n * TRX)), null, []));
  assert.match(greedy.message, 'stake 1 TRX more');
  assert.is(refused(await node.quote(wallets.draft(intent), null, [])).missing?.loan?.coinUnits, 0n);
  assert.is((await carry(wallets, gasOf('delegate', 2, loan.units))).kind, 'succeeded');
  assert.is(world.accounts().usable(owner), loan.units);

  const quote = quoted(await node.quote(wallets.draft(intent), null, []));
  assert.is(quote.feeUnits, 0n);
  assert.is(quote.terms.fee_limit, String(withReserve(TO_HOLDER)), 'the limit bounds lent energy as well');
  const before = held(treasury);
  const outcome = await carry(wallets, intent);
  assert.is(outcome.kind === 'succeeded' && outcome.feeUnits, 0n);
  assert.is(held(treasury), before + 5_000n);

  assert.is((await carry(wallets, gasOf('reclaim', 2, loan.units))).kind, 'succeeded');
  assert.is(world.accounts().usable(owner), 0n);
  const again = refused(await node.quote(wallets.draft(gasOf('reclaim', 2, loan.units)), null, []));
  assert.is(again.refused, 'would_fail');
});

test('two refunds of one amount to one payee are two transactions', async () => {
  const wallets = await openFundedWallets();
  const one = wallets.refund('USDT', 5n);
  const other = wallets.refund('USDT', 5n, one.to);
  const attempts = [await prepare(wallets, one), await prepare(wallets, other)];
  const again = open();
  const { terms } = quoted(await again.quote(wallets.draft(other), null, []));
  attempts.push(signOn(wallets, other, terms));
  assert.is(new Set(attempts.map(({ tx }) => tx)).size, 3, 'also after a restart');
  for (const attempt of attempts.slice(0, 2)) await send(attempt);
  mine(1 + finalBlocks);
  assert.is(held(one.to), 10n);
});

// ── Refused quotes ───────────────────────────────────────────────────────────────────────────────────────────────────

test('a payee that is frozen, a contract or cannot be paid is refused', async () => {
  const wallets = await openFundedWallets();
  const codeTo = async (to: string, over = node) =>
    refused(await over.quote(wallets.draft(wallets.refund('USDT', 5n, to)), null, [])).refused;
  for (const to of [
    '0'.repeat(40),
    tronTokenKeys[1],
    wallets.keyOf({ role: 'refund' }),
    lookalikeKey(tronTokenKeys[0]),
  ]) {
    assert.is(await codeTo(to), 'destination_invalid', to);
  }
  const watched = open({ url: liar.httpUrl });
  const payee = accountKey('frozen');
  for (const selector of ['e47d6060', 'fe575a87']) {
    liar.tell((path, body, { result: _refusal, ...answer }) => {
      if (!path.endsWith('triggerconstantcontract') || !body.data.startsWith(selector)) return undefined;
      return {
        ...answer,
        result: { result: true },
        constant_result: ['1'.padStart(64, '0')],
        transaction: { ret: [{}] },
      };
    });
    assert.is(await codeTo(payee, watched), 'destination_frozen');
  }
});

// ── Trouble on the chain ─────────────────────────────────────────────────────────────────────────────────────────────

test('a transaction that runs out of energy is failed once that is final, costs its limit, and is signed again', async () => {
  const wallets = await openFundedWallets();
  const payee = accountKey('trader');
  sandbox.pay(payee, 8n);
  mine();
  const intent = wallets.refund('USDT', 5n, payee);
  const attempt = await prepare(wallets, intent);
  const output = { token: tronTokenKeys[0], to: accountKey('exchange'), units: 8n };
  world.pay({ kind: 'direct', from: payee, outputs: [output] });
  mine();
  await send(attempt);
  mine();
  const { number } = world.tip();
  assert.equal(await outcomeOf(wallets, intent, [attempt]), { kind: 'waiting', included: { tx: attempt.tx, number } });
  mineFinal();
  const feeUnits = 100n * TRX - native(wallets.keyOf({ role: 'refund' }));
  assert.equal(await outcomeOf(wallets, intent, [attempt]), { kind: 'failed', tx: attempt.tx, number, feeUnits });
  assert.is(feeUnits, BigInt(attempt.terms.fee_limit ?? 0));
  assert.is(held(payee), 0n);
  assert.is((await carry(wallets, intent)).kind, 'succeeded');
  assert.is(held(payee), 5n);
});

test('money in the pool is quoted on; if it never comes, neither does the payout, and it waits for the money', async () => {
  const wallets = openWallets();
  const wallet = wallets.keyOf({ role: 'refund' });
  world.fund(wallet, 100n * TRX);
  mine(2);
  sandbox.pay(wallet, 50n);
  const intent = wallets.refund('USDT', 50n);
  const attempt = await prepare(wallets, intent);
  await send(attempt);
  assert.equal((await node.balance(wallet)).tokens.USDT, 0n, 'what was sent is gone from the balance, too');
  // The node is killed: it forgets its pool.
  world.restart({ depth: 1 });
  assert.equal(await outcomeOf(wallets, intent, [attempt]), nothingYet);
  outlive();
  assert.equal(await outcomeOf(wallets, intent, [attempt]), { kind: 'dead' });
  assert.is(refused(await node.quote(wallets.draft(intent), null, [])).refused, 'token_short');
  assert.is(held(intent.to), 0n);
});

test('nodes without a solidified chain are not used for payouts', () => {
  assert.throws(() => open({ finalityUrl: null }), /payouts need the solidified chain, and solid_url of/);
});

async function lost(): Promise<Lied> {
  const lied = await prepared();
  outlive();
  return lied;
}

const isById = (path: string): boolean => /gettransaction(info)?byid$/.test(path);
/** A node whose indexes know no transaction. */
const denied: Lie = (path) => (isById(path) ? {} : undefined);
/** A node that also removes one from its blocks. */
const erased =
  (tx: string): Lie =>
  (path, _, answer) => {
    if (isById(path)) return {};
    if (!path.endsWith('getblock') || !answer.transactions?.some(({ txID }: Json) => txID === tx)) return undefined;
    const { transactions, block_header, ...block } = answer;
    const others = transactions.filter(({ txID }: Json) => txID !== tx);
    if (others.length > 0) return { ...block, block_header, transactions: others };
    return { ...block, block_header: { ...block_header, raw_data: { ...block_header.raw_data, txTrieRoot: '' } } };
  };

// ── One node ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a node that denies a transaction is contradicted by its own blocks, after the expiration', async () => {
  const lied = await paid();
  liar.tell(denied);
  assert.equal(await outcomeBy(lied, alone), nothingYet, 'it may still be included');
  outlive();
  await fails(lied, alone, 'payout_node_contradicts');
  assert.match((await faultOf(outcomeBy(lied, alone))).message, lied.attempt.tx);
  liar.heal();
  assert.is((await outcomeBy(lied, alone)).kind, 'succeeded');
});

test('the last block that could contain an attempt is read too', async () => {
  const lied = await prepared();
  const { attempt } = lied;
  const endS = Math.ceil(Number(attempt.terms.expiration_ms) / 1000);
  while (world.tip().timeS + 60 < endS) mine(1, 60_000);
  await send(attempt);
  // Its own time is after the expiration, and that of the block before is not.
  mine(1, 120_000);
  assert.ok(world.tip().timeS >= endS);
  assert.is(world.find(attempt.tx)?.block.hash, world.tip().hash);
  mineFinal();
  liar.tell(denied);
  await fails(lied, alone, 'payout_node_contradicts');
  liar.heal();
  assert.is((await outcomeBy(lied, alone)).kind, 'succeeded');
});

test('blocks that are missing, of another chain, or not linked prove nothing', async () => {
  const lied = await lost();
  const { attempt } = lied;
  assert.is((await outcomeBy(lied, alone)).kind, 'dead');
  const reference = Number(attempt.terms.ref_block_number);
  const isAt = (path: string, body: Json, number: number) =>
    path === '/walletsolidity/getblock' && body.id_or_num === String(number);
  const elsewhere = (block: Json, change: object) => ({
    ...block,
    block_header: { ...block.block_header, raw_data: { ...block.block_header.raw_data, ...change } },
  });
  const lies: readonly (readonly [code: string, lie: Lie])[] = [
    ['node_block_unknown', (path, body) => (isAt(path, body, reference + 7) ? {} : undefined)],
    [
      'payout_node_contradicts',
      (path, body, block) =>
        isAt(path, body, reference) ? { ...block, blockID: block.blockID.slice(0, 16) + '12'.repeat(24) } : undefined,
    ],
    [
      'payout_node_contradicts',
      (path, body, block) =>
        isAt(path, body, reference + 5) ? elsewhere(block, { parentHash: '12'.repeat(32) }) : undefined,
    ],
    [
      'node_nonsense',
      (path, body, block) =>
        isAt(path, body, reference + 6) ? elsewhere(block, { txTrieRoot: '12'.repeat(32) }) : undefined,
    ],
    [
      'payout_node_contradicts',
      (path, body, block) =>
        path === '/walletsolidity/getblock' && body.id_or_num !== undefined
          ? elsewhere(block, { timestamp: Number(attempt.terms.timestamp_ms) })
          : undefined,
    ],
    [
      'node_nonsense',
      (path, body, block) =>
        isAt(path, body, reference + 3) ? { ...block, blockID: `${'0'.repeat(15)}1${'12'.repeat(24)}` } : undefined,
    ],
  ];
  for (const [code, lie] of lies) {
    liar.tell(lie);
    await fails(lied, alone, code);
  }
});

test('a success needs all three fields, and the whole of its info', async () => {
  const lied = await paid();
  const info =
    (change: (info: Json) => object): Lie =>
    (path, _, answer) =>
      path === '/walletsolidity/gettransactioninfobyid' ? { ...answer, ...change(answer) } : undefined;
  const lies: Readonly<Record<string, Lie>> = {
    'the block disagrees': (path, _, answer) =>
      path === '/walletsolidity/gettransactionbyid' ? { ...answer, ret: [{ contractRet: 'OUT_OF_TIME' }] } : undefined,
    'the info disagrees': info(() => ({ result: 'FAILED' })),
    'the receipt disagrees': info(({ receipt }) => ({ receipt: { ...receipt, result: 'REVERT' } })),
    'the receipt is empty': info(() => ({ receipt: {} })),
  };
  for (const [what, lie] of Object.entries(lies)) {
    liar.tell(lie);
    await fails(lied, alone, 'payout_outcome_unclear', what);
  }
  for (const missing of ['gettransactionbyid', 'gettransactioninfobyid']) {
    liar.tell((path) => (path === `/walletsolidity/${missing}` ? {} : undefined));
    await fails(lied, alone, 'node_infos_missing', missing);
  }
  liar.tell(info(() => ({ id: '12'.repeat(32) })));
  await fails(lied, alone, 'node_nonsense');
});

// ── Two nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a node that is behind delays the outcome', async () => {
  const lied = await lost();
  const behind = Number(lied.attempt.terms.ref_block_number) + 2;
  liar.tell((path, body, answer) => {
    if (path !== '/walletsolidity/getblock' || body.id_or_num !== undefined) return undefined;
    const block = world.at(behind);
    return {
      ...answer,
      blockID: block?.hash,
      block_header: {
        raw_data: {
          ...answer.block_header.raw_data,
          number: behind,
          parentHash: block?.parent,
          timestamp: (block?.timeS ?? 0) * 1000,
        },
      },
    };
  });
  for (const pair of pairs) assert.equal(await outcomeBy(lied, pair), nothingYet);
});

liedPayouts(
  {
    async contradiction(lied) {
      outlive();
      liar.tell(erased(lied.attempt.tx));
      assert.is((await outcomeBy(lied, alone)).kind, 'dead', 'the lie is complete');
      return erased(lied.attempt.tx);
    },
    useless: [
      [
        'node_wrong_chain',
        (path, body, answer) =>
          path.endsWith('getblock') && body.id_or_num === '0'
            ? { ...answer, blockID: `${'0'.repeat(16)}${'12'.repeat(24)}` }
            : undefined,
      ],
    ],
    logs: { call: /^.walletsolidity.gettransactioninfobyid$/, name: 'log', prefix: '', otherToken: '12'.repeat(20) },
    substitutes: [
      ...[null, true, false, '', '0', 'SUCCESS', 'FAILED', 'REVERT', 0, 1, 7, 1_900_000_000_000, [], {}],
      ...['12'.repeat(32), '0'.repeat(64), '41'.repeat(21)],
    ],
    async scenes() {
      const [done, gone, early, broken] = [await paid(), await lost(), await prepared(), await prepared()];
      const starved = signOn(broken.wallets, broken.intent, { ...broken.attempt.terms, fee_limit: '1000000' });
      await send(starved);
      mine(1 + finalBlocks);
      return [
        [done, 'succeeded'],
        [gone, 'dead'],
        [early, 'waiting'],
        [{ ...broken, attempt: starved }, 'failed'],
      ];
    },
    lieAtRandom(random, spoiled, { attempt }) {
      if (random.chance(0.3)) return erased(attempt.tx);
      // There are many blocks, and one lie among them is enough.
      return (path, _, answer) => (random.chance(path.endsWith('getblock') ? 0.97 : 0.5) ? undefined : spoiled(answer));
    },
    expected: ['succeeded', 'waiting', 'failed', 'dead', 'node_nonsense'],
    honesty: 0.8,
  },
  opened,
);

test.run();

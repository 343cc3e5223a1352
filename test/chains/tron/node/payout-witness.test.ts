/**
 * Nodes that lie about payouts: an attempt is dead only if the blocks of every node say so, and an outcome counts only
 * if all nodes have it.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { faultOf } from '../../../conformance/chain.ts';
import type { Lie } from '../../../support/liar.ts';
import type { Json } from '../../../support/recordings.ts';
import { type Lied, liedPayouts, openLied } from '../../lied-payouts.ts';
import { nothingYet } from '../../seed-wallets.ts';
import { makeTronPayouts } from '../../simulated-payouts.ts';

const bench = await makeTronPayouts('witness');
const { world, signOn, send, mine, mineFinal, finalBlocks, outlive } = bench;
const opened = await openLied(bench, bench.sandbox);
const { liar, alone, pairs, prepared, paid, outcomeOf, fails } = opened;
const { tell } = liar;

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
  tell(denied);
  assert.equal(await outcomeOf(lied, alone), nothingYet, 'it may still be included');
  outlive();
  await fails(lied, alone, 'payout_node_contradicts');
  assert.match((await faultOf(outcomeOf(lied, alone))).message, lied.attempt.tx);
  liar.heal();
  assert.is((await outcomeOf(lied, alone)).kind, 'succeeded');
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
  tell(denied);
  await fails(lied, alone, 'payout_node_contradicts');
  liar.heal();
  assert.is((await outcomeOf(lied, alone)).kind, 'succeeded');
});

test('blocks that are missing, of another chain, or not linked prove nothing', async () => {
  const lied = await lost();
  const { attempt } = lied;
  assert.is((await outcomeOf(lied, alone)).kind, 'dead');
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
    tell(lie);
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
    tell(lie);
    await fails(lied, alone, 'payout_outcome_unclear', what);
  }
  for (const missing of ['gettransactionbyid', 'gettransactioninfobyid']) {
    tell((path) => (path === `/walletsolidity/${missing}` ? {} : undefined));
    await fails(lied, alone, 'node_infos_missing', missing);
  }
  tell(info(() => ({ id: '12'.repeat(32) })));
  await fails(lied, alone, 'node_nonsense');
});

// ── Two nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a node that is behind delays the outcome', async () => {
  const lied = await lost();
  const behind = Number(lied.attempt.terms.ref_block_number) + 2;
  tell((path, body, answer) => {
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
  for (const pair of pairs) assert.equal(await outcomeOf(lied, pair), nothingYet);
});

liedPayouts(
  {
    async contradiction(lied) {
      outlive();
      tell(erased(lied.attempt.tx));
      assert.is((await outcomeOf(lied, alone)).kind, 'dead', 'the lie is complete');
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

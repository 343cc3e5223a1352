/**
 * Nodes that lie about payouts: an attempt is dead only if the blocks of every node say so, and an outcome counts only
 * if all nodes have it.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefundIntent } from '../../../../src/core/intent.ts';
import { createRandom } from '../../../../src/sandbox/random.ts';
import { faultOf } from '../../../conformance/chain.ts';
import { faultsOf, type LiedScene, spoiler, survivesLiar } from '../../random-lies.ts';
import { type Attempt, nothingYet, type SeedWallets } from '../../seed-wallets.ts';
import { makeTronPayouts } from '../../simulated-payouts.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are changed at will
type Json = any;
type Lie = (path: string, body: Json, answer: Json) => Json;

const bench = await makeTronPayouts('witness');
const {
  sandbox,
  world,
  proxy,
  open,
  openFundedWallets,
  signOn,
  prepare,
  send,
  outcomeOf,
  mine,
  mineFinal,
  finalBlocks,
  outlive,
} = bench;
const alone = open({ url: proxy.url });
const paired = open({ witnessUrl: proxy.url });
/** The liar is the main node and the witness is honest. */
const pairedOther = open({ url: proxy.url, witnessUrl: sandbox.url });
const heal = () => {
  delete proxy.lies.answer;
};
test.after.each(heal);
test.after(() => bench.close());

/** Answers that a lie leaves undefined stay unchanged. */
function tell(lie: Lie): void {
  proxy.lies.answer = (path, body, text) => {
    const told = lie(path, body, JSON.parse(text));
    return told === undefined ? undefined : JSON.stringify(told);
  };
}

type Scene = Readonly<{ wallets: SeedWallets; intent: RefundIntent; attempt: Attempt }>;

async function prepared(): Promise<Scene> {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  return { wallets, intent, attempt: await prepare(wallets, intent) };
}

async function paid(): Promise<Scene> {
  const scene = await prepared();
  await send(scene.attempt);
  mine(1 + finalBlocks);
  return scene;
}

async function lost(): Promise<Scene> {
  const scene = await prepared();
  outlive();
  return scene;
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
  const { wallets, intent, attempt } = await paid();
  tell(denied);
  assert.equal(await outcomeOf(wallets, intent, [attempt], alone), nothingYet, 'it may still be included');
  outlive();
  const fault = await faultOf(outcomeOf(wallets, intent, [attempt], alone));
  assert.is(fault.kind, 'transient');
  assert.is(fault.code, 'payout_node_contradicts');
  assert.match(fault.message, attempt.tx);
  heal();
  assert.is((await outcomeOf(wallets, intent, [attempt], alone)).kind, 'succeeded');
});

test('the last block that could contain an attempt is read too', async () => {
  const { wallets, intent, attempt } = await prepared();
  const endS = Math.ceil(Number(attempt.terms.expiration_ms) / 1000);
  while (world.tip().timeS + 60 < endS) mine(1, 60_000);
  await send(attempt);
  // Its own time is after the expiration, and that of the block before is not.
  mine(1, 120_000);
  assert.ok(world.tip().timeS >= endS);
  assert.is(world.find(attempt.tx)?.block.hash, world.tip().hash);
  mineFinal();
  tell(denied);
  assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], alone))).code, 'payout_node_contradicts');
  heal();
  assert.is((await outcomeOf(wallets, intent, [attempt], alone)).kind, 'succeeded');
});

test('blocks that are missing, of another chain, or not linked prove nothing', async () => {
  const { wallets, intent, attempt } = await lost();
  assert.is((await outcomeOf(wallets, intent, [attempt], alone)).kind, 'dead');
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
    const fault = await faultOf(outcomeOf(wallets, intent, [attempt], alone));
    assert.is(fault.kind, 'transient');
    assert.is(fault.code, code, fault.message);
  }
});

test('a success needs all three fields, and exactly the payment in its logs', async () => {
  const { wallets, intent, attempt } = await paid();
  const info =
    (change: (info: Json) => Json): Lie =>
    (path, _, answer) =>
      path === '/walletsolidity/gettransactioninfobyid' ? change(answer) : undefined;
  const logs = (change: (log: Json) => Json[]) => info((answer) => ({ ...answer, log: answer.log.flatMap(change) }));
  const word = (digits: string) => digits.padStart(64, '0');
  const lies: Readonly<Record<string, Lie>> = {
    'the block disagrees': (path, _, answer) =>
      path === '/walletsolidity/gettransactionbyid' ? { ...answer, ret: [{ contractRet: 'OUT_OF_TIME' }] } : undefined,
    'the info disagrees': info((answer) => ({ ...answer, result: 'FAILED' })),
    'the receipt disagrees': info((answer) => ({ ...answer, receipt: { ...answer.receipt, result: 'REVERT' } })),
    'the receipt is empty': info((answer) => ({ ...answer, receipt: {} })),
    'no log': logs(() => []),
    'fewer units': logs((log) => [{ ...log, data: word('4') }]),
    'more units': logs((log) => [{ ...log, data: word('6') }]),
    'twice the units': logs((log) => [log, log]),
    'another token': logs((log) => [{ ...log, address: '12'.repeat(20) }]),
    'another sender': logs((log) => [{ ...log, topics: [log.topics[0], word('1'), log.topics[2]] }]),
    'another payee': logs((log) => [{ ...log, topics: [...log.topics.slice(0, 2), word('1')] }]),
    'another event': logs((log) => [{ ...log, topics: [word('1'), ...log.topics.slice(1)] }]),
  };
  for (const [what, lie] of Object.entries(lies)) {
    tell(lie);
    assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], alone))).code, 'payout_outcome_unclear', what);
  }
  for (const missing of ['gettransactionbyid', 'gettransactioninfobyid']) {
    tell((path) => (path === `/walletsolidity/${missing}` ? {} : undefined));
    assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], alone))).code, 'node_infos_missing', missing);
  }
  tell(info((answer) => ({ ...answer, id: '12'.repeat(32) })));
  assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], alone))).code, 'node_nonsense');
});

// ── Two nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a node that has erased a payment even from its blocks cannot make it dead next to an honest one', async () => {
  const { wallets, intent, attempt } = await paid();
  outlive();
  tell(erased(attempt.tx));
  assert.is((await outcomeOf(wallets, intent, [attempt], alone)).kind, 'dead', 'the lie is complete');
  for (const pair of [paired, pairedOther]) {
    const fault = await faultOf(outcomeOf(wallets, intent, [attempt], pair));
    assert.is(fault.kind, 'transient');
    assert.is(fault.code, 'payout_nodes_disagree');
  }
});

test('a node that is behind delays the outcome', async () => {
  const { wallets, intent, attempt } = await lost();
  const behind = Number(attempt.terms.ref_block_number) + 2;
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
  for (const pair of [paired, pairedOther]) assert.equal(await outcomeOf(wallets, intent, [attempt], pair), nothingYet);
});

test('a witness that is silent or of another chain determines nothing', async () => {
  const { wallets, intent, attempt } = await paid();
  tell((path, body, answer) =>
    path.endsWith('getblock') && body.id_or_num === '0'
      ? { ...answer, blockID: `${'0'.repeat(16)}${'12'.repeat(24)}` }
      : undefined,
  );
  assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], paired))).code, 'node_wrong_chain');
  proxy.lies.answer = () => 'lack of computing resources';
  assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], paired))).kind, 'transient');
});

// ── Lies at random ───────────────────────────────────────────────────────────────────────────────────────────────────

const SEED = process.env.SEED ?? '1';
const ROUNDS = 40;

const substitutes: readonly unknown[] = [
  ...[null, true, false, '', '0', 'SUCCESS', 'FAILED', 'REVERT', 0, 1, 7, 1_900_000_000_000, [], {}],
  ...['12'.repeat(32), '0'.repeat(64), '41'.repeat(21)],
];

test(`one honest node of two is enough: whatever the other answers, no false outcome is reported (SEED=${SEED})`, async () => {
  const random = createRandom('payout lies', SEED);
  const spoiled = spoiler(substitutes, random);
  const [done, gone, early] = [await paid(), await lost(), await prepared()];
  const broken = await prepared();
  const starved = signOn(broken.wallets, broken.intent, { ...broken.attempt.terms, fee_limit: '1000000' });
  await send(starved);
  mine(1 + finalBlocks);
  const scenes = (
    [
      [done, 'succeeded'],
      [gone, 'dead'],
      [early, 'waiting'],
      [{ ...broken, attempt: starved }, 'failed'],
    ] as const
  ).map(([{ wallets, intent, attempt }, truth]) => ({ wallets, intent, attempts: [attempt], truth }));
  const lie = ({ attempts }: LiedScene) => {
    const whole = random.chance(0.3) ? erased(attempts[0]?.tx ?? '') : null;
    tell((path, body, answer) => {
      if (whole) return whole(path, body, answer);
      // There are many blocks, and one lie among them is enough.
      return random.chance(path.endsWith('getblock') ? 0.97 : 0.5) ? undefined : spoiled(answer);
    });
  };
  const expected = ['succeeded', 'waiting', 'failed', 'dead', 'node_nonsense'];
  await survivesLiar(random, ROUNDS, scenes, [paired, pairedOther], lie, expected);
});

test(`a node that lies at random quotes or fails, and breaks nothing (SEED=${SEED})`, async () => {
  const random = createRandom('quote lies', SEED);
  const spoiled = spoiler(substitutes, random);
  const { wallets, intent, attempt } = await prepared();
  const draft = wallets.draft(intent);
  const asked = [
    () => alone.quote(draft, null, []),
    () => alone.balance(draft.payer),
    () => alone.broadcast(attempt.bytes.subarray(1)),
  ];
  tell((_path, _body, answer) => (random.chance(0.8) ? undefined : spoiled(answer)));
  assert.ok((await faultsOf(asked, 3 * ROUNDS)) > ROUNDS / 2);
});

test.run();

/**
 * A shop whose Solana node lies about the block that pays it. As long as it lies, the network says what is wrong, stays
 * where it is and credits nothing; once it tells the truth, the payment is credited, once.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/lib/clock.ts';
import { type IndexedShop, type Order, openIndexedShop } from '../../../support/indexed-shop.ts';
import { type Answer, type LyingProxy, type Question, startLyingProxy } from '../../../support/lying-proxy.ts';
import type { RunningIndexer } from '../../../support/running-indexer.ts';
import { type SimulatedNode, startSimulatedNode, writtenBy } from '../../../support/simulated-node.ts';
import { testNetwork } from '../../../support/test-network.ts';
import { until } from '../../../support/until.ts';

const DUE = 10_000_000n;
const DEPTH = 3;
const ORDERS_MAX = 50;

const test = suite('Solana shop with a lying node');
let node: SimulatedNode;
let proxy: LyingProxy;
let shop: IndexedShop;
let indexer: RunningIndexer;

/** Waits are shortened: there are many of them. */
const quick = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 20, signal) };
const start = (): void => {
  indexer = shop.start({ clock: quick, requestTimeoutMs: 600 });
};

test.before(async () => {
  node = await startSimulatedNode({
    family: 'solana',
    seed: 'followed lies',
    isSkipped: (slot) => slot > 0 && slot % 5 === 0,
  });
  mine(40);
  proxy = await startLyingProxy(node);
  const network = testNetwork({
    name: 'solana',
    family: 'solana',
    url: proxy.wsUrl,
    rpcUrl: proxy.httpUrl,
    confirmations: [{ blocks: DEPTH }],
    reorgDepthMax: 32,
  });
  shop = await openIndexedShop(network, ORDERS_MAX);
  start();
});
test.before.each(async () => {
  mine(1);
  await shop.holds(tip());
  await shop.isIn('following');
});
test.after.each(() => proxy.heal());
test.after(async () => {
  await shop.close();
  await proxy.close();
  await node.close();
});

const mine = (blocks: number): void => {
  for (let left = blocks; left > 0; left--) node.world.mine();
};
const tip = (): string => writtenBy.solana.hash(node.world.tip().hash);

// ── Ways to lie ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Spoils answers about blocks above the one that the shop holds when the lie begins. */
type Lie = (paid: (question: Question) => boolean) => void;
// biome-ignore lint/suspicious/noExplicitAny: answers are changed at will
type Json = any;

const detailsOf = ({ params }: Question): unknown =>
  (params[1] as { transactionDetails?: unknown })?.transactionDetails;

/** Changes the answers to some questions. */
const changing =
  (isMeant: (question: Question) => boolean, change: (answer: Answer, question: Question) => Answer): Lie =>
  (isPaid) => {
    proxy.lies.answer = (question, answer) =>
      isMeant(question) && isPaid(question) ? change(answer, question) : answer;
  };
const isContent = (question: Question): boolean => detailsOf(question) === 'accounts';
const isBlock = ({ method }: Question): boolean => method === 'getBlock';
const isSlot = ({ method }: Question): boolean => method === 'getSlot';

const failing = (code: number, message: string, isMeant = isContent): Lie =>
  changing(isMeant, ({ id }) => ({ jsonrpc: '2.0', id, error: { code, message } }));
const editing = (edit: (block: Json, question: Question) => Json): Lie =>
  changing(isContent, (answer, question) => ({ ...answer, result: edit(structuredClone(answer.result), question) }));

/** The node has lost the blocks below the newest, and does not list them either. */
const losingBlocks: Lie = (isPaid) => {
  const isLost = (question: Question) => isPaid(question) && Number(question.params[0]) < node.world.tip().number;
  proxy.lies.answer = (question, answer) => {
    if (question.method === 'getBlocks') return { ...answer, result: (answer.result as number[]).slice(-1) };
    if (question.method !== 'getBlock' || !isLost(question)) return answer;
    return { jsonrpc: '2.0', id: answer.id, error: { code: -32007, message: 'missing due to ledger jump' } };
  };
};

/** Changes the text of the answers to some method. */
const spoiling =
  (spoil: (text: string) => string | null, method = 'getBlock'): Lie =>
  () => {
    proxy.lies.text = (text, methods) => (methods.includes(method) ? spoil(text) : text);
  };

const breakingOff: Lie = () => {
  proxy.lies.breaksOff = (methods) => methods.includes('getBlock');
};

// ── The lies ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The lie, the fault's code, and what its message must say: one of each kind. `wire.test.ts` and
 * `lying-calls.slow.test.ts` have the others.
 */
const lies: readonly (readonly [about: string, lie: Lie, code: string, says: RegExp])[] = [
  ['-32007, skipped or missing', failing(-32007, 'Slot was skipped'), 'node_block_missing', /skipped only if/],
  ['-32015 for headers', failing(-32015, 'Transaction version', isBlock), 'node_version_unsupported', /^getBlock/],
  ['-32005 for the newest slot', failing(-32005, 'unhealthy', isSlot), 'node_unhealthy', /^getSlot at 127/],
  [
    'another hash',
    editing((block) => ({ ...block, blockhash: block.previousBlockhash })),
    'node_block_unknown',
    /block/,
  ],
  ['null', editing(() => null), 'node_block_missing', /has lost its block of slot/],
  ['no transactions', editing(({ transactions, ...block }) => block), 'node_nonsense', /without transactions/],
  ['a cut text', spoiling((text) => text.slice(0, -40)), 'node_nonsense', /not JSON/],
  ['silence', spoiling(() => null), 'node_timeout', /did not answer within 600 ms/],
  ['a connection that is closed in the middle', breakingOff, 'node_unreachable', /^getBlock at .*Is the node up/],
  ['a gap in the ledger', losingBlocks, 'node_block_missing', /ledger jump.*skipped only if/],
  ['a list of slots that is cut', spoiling((text) => text.slice(0, -3), 'getBlocks'), 'node_nonsense', /^getBlocks at/],
];

let orders = 0;
/** Pays two blocks below the tip: the block is read as one of a range, and its content by itself. */
async function payUnder(lie: Lie): Promise<Order> {
  orders += 1;
  const order = await shop.order(`lie${orders}`);
  const held = node.world.tip().number;
  lie(({ method, params }) => method !== 'getBlock' || Number(params[0]) > held);
  node.pay(order.address, DUE);
  mine(3);
  return order;
}

/** The node tells the truth again: the payment exists, once. */
async function isPaidOnce(order: Order): Promise<void> {
  proxy.heal();
  mine(2 * DEPTH);
  await until('the session is paid', async () => (await order.read()).life.status === 'paid');
  const { payments } = await order.read();
  assert.equal(
    payments.map(({ currency, units }) => [currency, units]),
    [['USDT', DUE]],
  );
  assert.is((await order.read()).standing.funded, 'full');
}

for (const [about, lie, code, says] of lies) {
  test(`${about}: ${code}, and nothing moves`, async () => {
    const before = tip();
    const order = await payUnder(lie);
    await shop.isIn('fault', code);
    const { reason, cursor } = (await shop.status()) ?? {};
    assert.match(reason?.message ?? '', says);
    assert.match(reason?.message ?? '', /127\.0\.0\.1:\d+/, 'the node is named');
    assert.is(cursor?.hash, before);
    assert.equal((await order.read()).payments, []);
    await isPaidOnce(order);
  });
}

for (const code of [-32004, -32014]) {
  test(`${code} for the newest block: the head is the one below it, and nothing moves`, async () => {
    const before = tip();
    const order = await shop.order(`newest ${code}`);
    const held = node.world.tip().number;
    let refusals = 0;
    failing(
      code,
      'not yet',
      isBlock,
    )(({ params }) => {
      const isNew = Number(params[0]) > held;
      if (isNew) refusals += 1;
      return isNew;
    });
    node.pay(order.address, DUE);
    mine(1);
    await until('the indexer has polled more than once', () => refusals > 2);
    const { state, cursor } = (await shop.status()) ?? {};
    assert.equal([state, cursor?.hash], ['following', before]);
    assert.equal((await order.read()).payments, []);
    await isPaidOnce(order);
  });
}

/** Answers to the last check before a credit. The payment was seen; it does not count. */
const contradictions: readonly (readonly [string, (status: Json) => Json])[] = [
  ['says that it failed', (status) => ({ ...status, err: { InstructionError: [0, 'Custom'] } })],
  ['reports it in another slot', (status) => ({ ...status, slot: status.slot + 1 })],
];
for (const [about, edit] of contradictions) {
  test(`the node ${about} at the last check: the payment is not credited`, async () => {
    const order = await payUnder(
      changing(
        ({ method }) => method === 'getSignatureStatuses',
        (answer) => {
          const { value, ...rest } = answer.result as Json;
          return { ...answer, result: { ...rest, value: value.map((status: Json) => status && edit(status)) } };
        },
      ),
    );
    mine(DEPTH);
    await shop.isIn('fault', 'confirmation_contradicted');
    const { payments, life } = await order.read();
    assert.equal(
      payments.map(({ state }) => state),
      ['seen'],
    );
    assert.is(life.status, 'pending');
    await isPaidOnce(order);
  });
}

test('a push connection that sends nonsense, falls silent or closes delays nothing', async () => {
  const order = await shop.order('push');
  const before = proxy.connections();
  proxy.say('{"jsonrpc":"2.0","method":"blockNotification","params":{}}');
  await until('the connection is closed', () => proxy.connections() > before);
  proxy.freeze();
  node.pay(order.address, DUE);
  mine(1);
  await until('the payment is seen by polling', async () => (await order.read()).payments.length === 1);
  await isPaidOnce(order);
});

test('the genesis hash of another cluster: the network halts, and continues when it is started with the right node', async () => {
  const otherGenesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
  const order = await payUnder(
    changing(
      ({ method }) => method === 'getGenesisHash',
      (answer) => ({ ...answer, result: otherGenesis }),
    ),
  );
  // The node is unreachable for a moment, so its identity is checked again.
  proxy.lies.breaksOff = () => true;
  await shop.isIn('fault', 'node_unreachable');
  delete proxy.lies.breaksOff;
  await shop.isIn('halted', 'chain_id_mismatch');
  const { reason } = (await shop.status()) ?? {};
  assert.match(reason?.message ?? '', `found chain ${otherGenesis}`);
  assert.match(reason?.message ?? '', /Set the network.s url to a node of the right chain, or correct its chain_id/);
  assert.is((await shop.database.alarms.list(1))[0]?.code, 'chain_id_mismatch');
  assert.is(await indexer.stop(), 'stopped');
  start();
  await isPaidOnce(order);
});

test.run();

/**
 * Duties of every family's `PayoutNode`: the rules of `src/chains/spend.ts`, over a chain that the bench drives.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PayoutNode } from '../../src/chains/spend.ts';
import { Fault } from '../../src/core/fault.ts';
import type { RefundIntent } from '../../src/core/intent.ts';
import type { Outcome } from '../../src/core/spend.ts';
import { gasOf, type PayoutNodeBench, sweepOf, TOKENS, withClient } from '../chains/payout-bench.ts';
import { type Attempt, nothingYet, quoted, refused, type SeedWallets } from '../chains/seed-wallets.ts';
import { has } from '../support/fields.ts';
import { faultOf } from '../support/refusal.ts';

type Scene = ReturnType<typeof withClient<PayoutNodeBench>>;

type Paid = Readonly<{ wallets: SeedWallets; intent: RefundIntent; attempt: Attempt }>;

async function paid(scene: Scene): Promise<Paid> {
  const wallets = await scene.openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const attempt = await scene.prepare(wallets, intent);
  await scene.send(attempt);
  await scene.mine();
  await scene.finalize();
  return { wallets, intent, attempt };
}

/** Registers the tests of one family. */
export function payoutNodeConformance(name: string, makeBench: () => Promise<PayoutNodeBench>): void {
  const test = suite(name);
  let scene: Scene;
  const it = (what: string, check: (scene: Scene) => Promise<void>) => test(what, () => check(scene));

  test.before(async () => {
    scene = withClient(await makeBench());
  });
  test.after(() => scene.close());
  registerPayments(it);
  registerRefusals(it);
  registerTrouble(it);
  test.run();
}

type It = (what: string, check: (scene: Scene) => Promise<void>) => void;

function registerPayments(it: It): void {
  it('a refund is quoted, sent, included and final, over each of the node’s addresses', async (scene) => {
    for (const url of scene.urls) await followRefund(scene, scene.open({ url }));
  });

  it('a count follows the wallet’s transactions, where they are numbered', async (scene) => {
    const { node, chain, mine } = scene;
    const wallets = await scene.openFundedWallets();
    const key = wallets.keyOf({ role: 'refund' });
    const counts = async () => {
      const count = await node.count(key);
      return count && [count.final, count.head, count.pending];
    };
    const expected = (...count: number[]) => (chain.spendRules.lane === 'sequence' ? count : null);
    assert.equal(await counts(), expected(0, 0, 0));
    await scene.send(await scene.prepare(wallets, wallets.refund('USDT', 5n)));
    assert.equal(await counts(), expected(0, 0, 1));
    await mine();
    assert.equal(await counts(), expected(0, 1, 1));
    await scene.finalize();
    assert.equal(await counts(), expected(1, 1, 1));
  });

  it('refunds of one wallet that are under way at once all arrive', async (scene) => {
    const { node, chain } = scene;
    const wallets = await scene.openFundedWallets();
    const intents = [3n, 4n, 5n, 6n].map((units) => wallets.refund('USDT', units));
    const attempts: Attempt[] = [];
    for (const [at, intent] of intents.entries()) {
      const nonce = chain.spendRules.lane === 'sequence' ? at : null;
      attempts.push(scene.signOn(wallets, intent, quoted(await node.quote(wallets.draft(intent), nonce, [])).terms));
    }
    for (const attempt of attempts) await scene.send(attempt);
    await scene.mine(2);
    await scene.finalize();
    for (const [at, intent] of intents.entries()) {
      assert.is((await scene.outcomeOf(wallets, intent, attempts.slice(at, at + 1))).kind, 'succeeded');
      assert.is(await scene.held(intent.to), intent.units);
    }
  });

  it('deposit addresses are swept to the treasury, once somebody can pay for it', async (scene) => {
    const { node, network, mine, chain } = scene;
    const wallets = scene.openWallets();
    const indexes = [4, 5, 6].slice(0, chain.spendRules.sweepOwnersMax);
    const owners = indexes.map((index) => wallets.keyOf({ role: 'collection', index }));
    for (const owner of owners) await scene.giveTokens(owner, 77_000n);
    await mine();
    const sweep = sweepOf(...indexes.map((index) => ({ index, units: 77_000n })));
    const draft = wallets.draft(sweep);
    const poor = refused(await node.quote(draft, 0, []));
    assert.is(poor.refused, 'native_short');
    assert.match(poor.message, chain.address.format(draft.payer));
    await giveMissing(scene, wallets, draft.payer, poor.missingUnits);
    const before = await scene.held(network.treasury);
    assert.is((await scene.carry(wallets, sweep)).kind, 'succeeded');
    assert.is(await scene.held(network.treasury), before + 77_000n * BigInt(owners.length));
    for (const owner of owners) assert.is(await scene.held(owner), 0n);
    assert.is(refused(await node.quote(draft, 1, [])).refused, 'token_short');
  });

  it('a payee with more coins than a double can count is paid', async (scene) => {
    const wallets = await scene.openFundedWallets();
    const intent = wallets.refund('USDT', 5n);
    await scene.giveNative(intent.to, 2n ** 57n + 1n);
    await scene.mine();
    assert.is((await scene.carry(wallets, intent)).kind, 'succeeded');
    assert.is(await scene.held(intent.to), 5n);
  });
}

/** Gives the payer of a sweep of index 4 what it lacks: from the gas wallet, unless that is the payer itself. */
async function giveMissing(scene: Scene, wallets: SeedWallets, payer: string, units: bigint): Promise<void> {
  const gasWallet = wallets.keyOf({ role: 'gas' });
  if (payer === gasWallet) {
    await scene.giveNative(payer, units);
    await scene.mine();
    return;
  }
  const gas = gasOf('transfer', 4, units);
  const empty = refused(await scene.node.quote(wallets.draft(gas), 0, []));
  assert.is(empty.refused, 'native_short', 'the gas wallet is empty');
  assert.ok(empty.missingUnits >= units);
  await scene.giveNative(gasWallet, scene.nativeUnits);
  await scene.mine();
  assert.is((await scene.carry(wallets, gas)).kind, 'succeeded');
  assert.is(await scene.native(payer), units);
}

/** Follows one refund from its quote to its cost. */
async function followRefund(scene: Scene, over: PayoutNode): Promise<void> {
  const { mine, native, held, chain } = scene;
  const wallets = await scene.openFundedWallets();
  const wallet = wallets.keyOf({ role: 'refund' });
  const intent = wallets.refund('USDT', 12_345_678n);
  const draft = wallets.draft(intent);
  const quote = quoted(await over.quote(draft, 0, []));
  assert.ok(quote.feeUnits <= quote.feeUnitsMax);
  const attempt = scene.signOn(wallets, intent, quote.terms);
  assert.equal(await over.outcome(draft, []), nothingYet, 'nothing is signed');
  assert.equal(await over.outcome(draft, [attempt]), nothingYet, 'not sent');
  assert.equal(await over.broadcast(attempt.bytes), { kind: 'accepted' });
  assert.equal(await over.broadcast(attempt.bytes), { kind: 'known' });
  assert.equal(await over.outcome(draft, [attempt]), nothingYet, 'not mined');
  const before = await native(wallet);
  await mine();
  const number = await scene.head();
  assert.equal(await over.outcome(draft, [attempt]), { kind: 'waiting', included: { tx: attempt.tx, number } });
  assert.is(await over.paidBy(draft, attempt.tx), null, 'not final');
  await scene.finalize();
  const feeUnits = before - (await native(wallet));
  assert.ok(feeUnits > 0n && feeUnits <= quote.feeUnitsMax);
  assert.equal(await over.outcome(draft, [attempt]), { kind: 'succeeded', tx: attempt.tx, number, feeUnits });
  const nonce = chain.spendRules.lane === 'sequence' ? 0 : null;
  assert.equal(await over.paidBy(draft, attempt.tx), { feeUnits, nonce });
  assert.is(await over.paidBy(draft, scene.unknownTx), null, 'no such transaction');
  const dearer = { ...draft, intent: { ...intent, units: intent.units + 1n } };
  assert.is((await faultOf(over.paidBy(dearer, attempt.tx))).code, 'payout_outcome_unclear');
  assert.is(await held(intent.to), intent.units);
  const balance = await over.balance(wallet);
  assert.is(balance.native, await native(wallet));
  assert.is(balance.tokens.USDT, TOKENS - intent.units);
}

function registerRefusals(it: It): void {
  it('too little of a token is refused with the exact missing amount', async (scene) => {
    const wallets = await scene.openFundedWallets();
    const quote = refused(await scene.node.quote(wallets.draft(wallets.refund('USDT', TOKENS + 1n)), 0, []));
    has(quote, { refused: 'token_short', missingUnits: 1n });
    assert.match(quote.message, '0.000001 USDT');
  });

  it('what a wallet lacks in native coin is said, and suffices', async (scene) => {
    const { node, mine } = scene;
    const wallets = scene.openWallets();
    const wallet = wallets.keyOf({ role: 'refund' });
    await scene.giveTokens(wallet, 5n);
    await mine();
    const intent = wallets.refund('USDT', 5n);
    const lacking = async () => refused(await node.quote(wallets.draft(intent), 0, []));
    const first = await lacking();
    assert.is(first.refused, 'native_short');
    const half = first.missingUnits / 2n;
    await scene.giveNative(wallet, half);
    await mine();
    const second = await lacking();
    assert.is(second.refused, 'native_short');
    // The price may have fallen with an empty block.
    assert.ok(second.missingUnits <= first.missingUnits - half);
    await scene.giveNative(wallet, second.missingUnits);
    await mine();
    assert.is((await scene.carry(wallets, intent)).kind, 'succeeded');
  });

  it('a payee that cannot be paid is refused', async (scene) => {
    const wallets = await scene.openFundedWallets();
    for (const to of scene.unpayable) {
      const quote = refused(await scene.node.quote(wallets.draft(wallets.refund('USDT', 5n, to)), 0, []));
      assert.is(quote.refused, 'destination_invalid', to);
    }
  });
}

function registerTrouble(it: It): void {
  it('a reorg removes an inclusion; the same bytes are sent again and paid once', async (scene) => {
    const { reorg, node } = scene;
    if (!reorg) return;
    const wallets = await scene.openFundedWallets();
    const intent = wallets.refund('USDT', 31n);
    const attempt = await scene.prepare(wallets, intent);
    await scene.send(attempt);
    await scene.mine(2);
    await reorg(2);
    assert.equal(await scene.outcomeOf(wallets, intent, [attempt]), nothingYet);
    // A node may keep what a reorg has removed.
    assert.is.not((await node.broadcast(attempt.bytes)).kind, 'rejected');
    await scene.mine();
    await scene.finalize();
    assert.is((await scene.outcomeOf(wallets, intent, [attempt])).kind, 'succeeded');
    assert.is(await scene.held(intent.to), 31n);
  });

  it('an attempt that a node took and denied is found', async (scene) => {
    const { deny } = scene;
    if (!deny) return;
    const wallets = await scene.openFundedWallets();
    const intent = wallets.refund('USDT', 5n);
    const attempt = await scene.prepare(wallets, intent);
    assert.is((await deny(() => scene.node.broadcast(attempt.bytes))).kind, 'rejected');
    await scene.mine();
    await scene.finalize();
    assert.is((await scene.outcomeOf(wallets, intent, [attempt])).kind, 'succeeded');
  });

  it('an attempt that was never sent is dead once it has expired at finality, and never where none expires', async (scene) => {
    const { node, outlive } = scene;
    const wallets = await scene.openFundedWallets();
    const intent = wallets.refund('USDT', 5n);
    const attempt = await scene.prepare(wallets, intent);
    await scene.finalize();
    assert.equal(await scene.outcomeOf(wallets, intent, [attempt]), nothingYet);
    if (!outlive) return;
    await outlive();
    assert.equal(await scene.outcomeOf(wallets, intent, [attempt]), { kind: 'dead' });
    assert.is((await node.broadcast(attempt.bytes)).kind, 'rejected');
    assert.is((await scene.carry(wallets, intent)).kind, 'succeeded');
    assert.is(await scene.held(intent.to), 5n);
  });

  it('two nodes that agree determine the outcome, and one that shows nothing determines none', async (scene) => {
    const { wallets, intent, attempt } = await paid(scene);
    const [url = ''] = scene.urls;
    const agreeing = scene.open({ witnessUrl: url });
    assert.is((await scene.outcomeOf(wallets, intent, [attempt], agreeing)).kind, 'succeeded');
    for (const pair of [
      scene.open({ witnessUrl: scene.blindUrl }),
      scene.open({ url: scene.blindUrl, witnessUrl: url }),
    ]) {
      assert.ok(await isUndecided(pair.outcome(wallets.draft(intent), [attempt])));
      assert.ok(await isUndecided(pair.paidBy(wallets.draft(intent), attempt.tx)));
    }
  });

  it('a node of another chain tells nothing', async (scene) => {
    const { wallets, intent, attempt } = await paid(scene);
    const wrong = scene.open({ chainId: scene.otherChainId });
    const draft = wallets.draft(intent);
    const asked: (() => Promise<unknown>)[] = [
      () => wrong.balance(draft.payer),
      () => wrong.quote(draft, 0, []),
      () => wrong.outcome(draft, [attempt]),
      () => wrong.paidBy(draft, attempt.tx),
    ];
    if (scene.chain.spendRules.lane === 'sequence') asked.push(() => wrong.count(draft.payer));
    for (const ask of asked) assert.is((await faultOf(ask())).code, 'node_wrong_chain');
  });
}

/** Returns whether an answer is none: it waits, or is a fault that passes. */
async function isUndecided(work: Promise<Outcome | unknown>): Promise<boolean> {
  try {
    const answer = await work;
    return answer === null || (answer as Outcome).kind === 'waiting';
  } catch (error) {
    return error instanceof Fault && error.kind === 'transient';
  }
}

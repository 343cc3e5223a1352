/**
 * A node that accepts every transaction of ours and drops it for ten minutes of the chain's time, and afterwards relays
 * all that it was ever given, the oldest first.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PayoutNode } from '../../../src/chains/spend.ts';
import { ATTEMPTS_MAX } from '../../../src/core/payout.ts';
import { COIN, closeBenches, network, openNodeBench, thief } from './node-bench.ts';

const USDT = 1_000_000n;
const DROPPED_MS = 600_000;
const STEP_MS = 12_000;
/** The alarms that report it, and pass by themselves. */
const passing: readonly string[] = ['payout_not_included'];
/** Of one transaction, by the signer's policy. */
const FEE_MAX = { evm: COIN.evm / 20n, tron: 50n * COIN.tron, solana: COIN.solana / 20n } as const;
test.after(closeBenches);

const scenes = [
  // One number for all attempts, each with a higher fee than the one before.
  { family: 'evm', generations: 1, attemptsMax: ATTEMPTS_MAX },
  // Within ten minutes nothing expires: the same bytes are sent again and again.
  { family: 'tron', generations: 1, attemptsMax: 1 },
  { family: 'tron', expiryMs: 120_000, generations: 3, attemptsMax: 1 },
  // A minute each, and longer pauses between them.
  { family: 'solana', generations: 4, attemptsMax: 1 },
] as const;

for (const scene of scenes) {
  const { family, generations, attemptsMax } = scene;
  const expiryMs = 'expiryMs' in scene ? scene.expiryMs : undefined;
  const what = expiryMs === undefined ? family : `${family}, for ${expiryMs / 1000} s at most`;
  test(`${what}: transactions that are dropped for ten minutes, and then all relayed, pay once and need no command`, async () => {
    const sent: Uint8Array[] = [];
    const through = (node: PayoutNode): PayoutNode => ({
      ...node,
      broadcast(bytes) {
        if (!sent.some((one) => Buffer.from(one).equals(bytes))) sent.push(bytes);
        return node.broadcast(bytes);
      },
    });
    const bench = await openNodeBench(family, { through, ...(expiryMs !== undefined && { expiryMs }) });
    const { sim, database, service, node, walletKey, advance, look, planRefund, paid } = bench;
    const wallet = walletKey('refund', 0).key;
    const payee = thief[family];
    sim.world.fund(wallet, 200n * COIN[family]);
    sim.pay(wallet, 20n * USDT);
    advance(STEP_MS);
    const passAll = async (ms: number) => {
      for (let left = ms; left > 0; left -= STEP_MS) {
        advance(STEP_MS);
        await look();
      }
    };
    sim.faults.set({ rates: { send_dropped: 1 } });
    await planRefund('rf_1', payee, 3n * USDT);
    await passAll(DROPPED_MS);
    assert.equal([paid(wallet, payee), sim.world.pending().length], [[], 0]);
    assert.ok(sent.length >= generations, `${sent.length} were sent`);

    sim.faults.heal();
    // Whoever kept them relays the old copies first, whatever the node answers.
    for (const bytes of [...sent]) await node.broadcast(bytes).catch(() => null);
    await passAll(DROPPED_MS + 900_000);
    assert.equal(paid(wallet, payee), [3n * USDT]);
    for (const bytes of [...sent]) await node.broadcast(bytes).catch(() => null);
    await passAll(DROPPED_MS);
    assert.equal(paid(wallet, payee), [3n * USDT]);

    const payout = await database.payouts.find('rf_1');
    assert.is(payout?.state, 'succeeded');
    const attempts = await database.payouts.attempts('rf_1');
    const ofGeneration = (generation: number) => attempts.filter((one) => one.generation === generation);
    assert.ok(attempts.every(({ generation }) => ofGeneration(generation).length <= attemptsMax));
    assert.is(new Set(attempts.map(({ generation }) => generation)).size, (payout?.generation ?? 0) + 1);
    assert.ok((payout?.generation ?? 0) <= generations, `generation ${payout?.generation}`);
    assert.is(service.journal(network, 0, 100).length, attempts.length, 'each signature is known');
    const feeMax = FEE_MAX[family];
    assert.ok(attempts.every(({ feeUnitsMax }) => feeUnitsMax <= feeMax));
    const cost = attempts.reduce((sum, { feeUnits }) => sum + (feeUnits ?? 0n), 0n);
    assert.ok(cost > 0n && cost <= feeMax, `it cost ${cost}`);
    assert.equal(await database.holds.list(), []);
    const alarms = (await database.alarms.list(50)).filter(({ code }) => !passing.includes(code));
    assert.equal(
      alarms.map(({ code, message }) => `${code}: ${message}`),
      [],
    );
    const { unbalanced, differences } = await database.ledger.verify();
    assert.equal({ unbalanced, differences }, { unbalanced: [], differences: [] });
  });
}

test.run();

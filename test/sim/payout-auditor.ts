/**
 * Checks the result of simulated payouts with code of its own: the chain itself, the rows of the database, the signer's
 * journal.
 */
import * as assert from 'uvu/assert';
import { GENERATIONS_MAX } from '../../src/core/payout.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { column } from '../support/fields.ts';
import type { Base } from './payout-bench.ts';
import type { Chain, Mined } from './payout-chain.ts';
import type { SimSigner } from './payout-signer.ts';

type AttemptRow = Readonly<{
  attempt: number;
  payout_id: string;
  payer: string;
  nonce: number | null;
  tx: string | null;
  bytes: Buffer | null;
}>;
type PayoutRow = Readonly<{
  id: string;
  state: string;
  tx: string | null;
  wait_code: string | null;
  generation: number;
}>;

/**
 * No intent has moved money twice, at any time or place.
 * @param endedUnpaid those that were ended as never paid
 */
export function auditChain(chain: Chain, endedUnpaid: ReadonlySet<string>): void {
  const paid = new Map<string, string>();
  for (const { tx, intentId, paid: isPaid } of chain.final().flat() as Mined[]) {
    if (!isPaid || intentId === 'foreign') continue;
    assert.not(paid.has(intentId), `${intentId} was paid by ${paid.get(intentId)} and again by ${tx}`);
    assert.not(endedUnpaid.has(intentId), `${intentId} was ended as never paid, and ${tx} has paid it`);
    paid.set(intentId, tx);
  }
}

/** An engine's broadcast must be on the disk of its database before. */
export function auditWire({ bytesOf }: Base, tx: string): void {
  assert.ok(bytesOf(tx), `${tx} was broadcast, and no database has its bytes`);
}

const postingsOf = `SELECT seq AS entry, asset, units FROM ledger_postings WHERE network = ?`;

/**
 * The database, the journal and the chain agree, and nothing is left half done.
 * @returns what occurred, for a tally
 */
export function auditEnd(
  main: Base,
  signer: SimSigner,
  chain: Chain,
  network: NetworkKey,
  planned: readonly string[],
  wasPutBack: boolean,
): string[] {
  const payouts = main.raw.prepare('SELECT * FROM payouts WHERE network = ?').all(network) as PayoutRow[];
  const attempts = main.raw.prepare('SELECT * FROM payout_attempts WHERE network = ?').all(network) as AttemptRow[];
  const mined = chain.final().flat();

  assert.equal(payouts.map(({ id }) => id).sort(), [...planned].sort(), 'no payout is forgotten, and none is invented');
  for (const { id, state, tx, wait_code, generation } of payouts) {
    const effects = mined.filter(({ intentId, paid }) => intentId === id && paid);
    if (state === 'succeeded') {
      assert.equal(column(effects, 'tx'), [tx], `${id} succeeded by the one transaction that paid it`);
      continue;
    }
    assert.is(effects.length, 0, `${id} is ${state} (${wait_code}), and ${effects[0]?.tx} paid it`);
    const mayStick =
      wait_code === 'payout_nonce_foreign' || (wait_code === 'payout_generations' && generation >= GENERATIONS_MAX);
    const isEnded = state === 'canceled' || (state === 'failed' && wait_code === 'rejected_by_operator');
    assert.ok(isEnded || (state === 'stuck' && mayStick), `${id} is ${state} (${wait_code}) in the end`);
  }

  const journal = new Map(signer.journal.entries(network, 0, 1000).map((entry) => [entry.tx, entry]));
  for (const { tx, bytes, payout_id } of attempts) {
    if (tx === null || bytes === null) continue;
    // A payment learned from the chain after a restore has no bytes here, and no signature.
    if (bytes.length === 0 && wasPutBack) continue;
    const entry = journal.get(tx);
    assert.ok(entry && Buffer.from(entry.bytes).equals(bytes), `${tx} of ${payout_id} is in the journal`);
    journal.delete(tx);
  }
  assert.is(journal.size, 0, `every signature is an attempt here: ${[...journal.keys()]}`);

  auditNumbers(main, attempts, chain, network, wasPutBack);
  auditBooks(main, network);
  return [
    ...payouts.map(({ state, generation }) => `payout ${state} in generation ${generation}`),
    ...attempts.filter(({ attempt }) => attempt > 0).map(() => 'fee raised'),
  ];
}

/** Numbers have no gaps, each was used by an attempt of ours, and the next one is the chain's. */
function auditNumbers(
  { raw }: Base,
  attempts: readonly AttemptRow[],
  chain: Chain,
  network: NetworkKey,
  wasPutBack: boolean,
): void {
  const lanes = raw.prepare('SELECT * FROM lanes WHERE network = ?').all(network) as {
    payer: string;
    next_nonce: number;
    halted_code: string | null;
  }[];
  for (const { payer, next_nonce, halted_code } of lanes) {
    const used = chain
      .final()
      .flat()
      .filter((one) => one.payer === payer);
    assert.equal(column(used, 'nonce'), [...used.keys()], `${payer}: numbers in order`);
    for (const { tx, intentId, paid } of used) {
      // A forgotten attempt that failed is an operator's to explain: this chain shows nothing of it.
      const isLost = wasPutBack && !paid;
      assert.ok(
        intentId === 'foreign' || isLost || attempts.some((one) => one.tx === tx),
        `${tx} of ${payer} is an attempt of ours`,
      );
    }
    if (halted_code !== null) continue;
    assert.ok(next_nonce <= used.length, `${payer}: no number was given out without being used`);
    const beyond = used
      .slice(next_nonce)
      .filter(({ intentId, paid }) => intentId !== 'foreign' && (paid || !wasPutBack));
    assert.equal(beyond, [], `${payer}: all numbers that we used were given out`);
  }
}

/** Every entry adds up to zero. */
function auditBooks({ raw }: Base, network: NetworkKey): void {
  const sums = new Map<string, bigint>();
  for (const { entry, asset, units } of raw.prepare(postingsOf).all(network) as {
    entry: number;
    asset: string;
    units: string;
  }[]) {
    const key = `${entry} ${asset}`;
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(units));
  }
  for (const [key, sum] of sums) assert.is(sum, 0n, `entry ${key} adds up`);
}

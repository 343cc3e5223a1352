/**
 * A chain from the point of view of payouts, in its three kinds: numbers that are used in order (`sequence`),
 * transactions that expire (`expiry`), or such that expire and set a lock, which lets no second one pay the same refund
 * (`lock`). Of the accepted transactions it mines a random choice, and of competing
 * replacements any; it forgets, and reorganises above finality. Two nodes show it: one that may lie or lose things, and
 * an honest witness.
 */
import { createHash } from 'node:crypto';
import { type PayoutNode, type SentAttempt, UnclearOutcome } from '../../src/chains/spend.ts';
import { transient } from '../../src/core/fault.ts';
import { type Intent, isPayback } from '../../src/core/intent.ts';
import type { Outcome, Terms } from '../../src/core/spend.ts';
import type { Random } from '../support/random.ts';

export const lanes = ['sequence', 'expiry', 'lock'] as const;
export type Lane = (typeof lanes)[number];

/** The content of signed bytes here. */
type Spend = Readonly<{ intent: { id: string; kind: Intent['kind'] }; payer: string; terms: Terms }>;

export const encodeSpend = (spend: Spend): Uint8Array =>
  new TextEncoder().encode(JSON.stringify([spend.intent, spend.payer, spend.terms]));

/** Bytes here name their intent, which is looked up. */
export const signedIntents = new Map<string, Intent>();

export function decodeSpend(bytes: Uint8Array): Spend & { tx: string } {
  const [intent, payer, terms] = JSON.parse(new TextDecoder().decode(bytes)) as [Spend['intent'], string, Terms];
  return { intent, payer, terms, tx: createHash('sha256').update(bytes).digest('hex') };
}

/** A transaction in a block: it paid, or it failed and still used its number. */
export type Mined = Readonly<{ tx: string; intentId: string; payer: string; nonce: number | null; paid: boolean }>;
type Pooled = Spend & { tx: string };
type Block = readonly Mined[];

const FINAL_DEPTH = 3;
/** How many blocks an expiring transaction is valid from its quote. */
const LIFE_BLOCKS = 6;
const FEE = 7n;
export const TREASURY = 'ee'.repeat(20);

/** Faults between an engine and its node; all probabilities from 0 to 1. */
export type Weather = Readonly<{
  lost: number;
  timeoutAfterAccepting: number;
  refused: number;
  lies: number;
  down: number;
  fails: number;
  mines: number;
  forgets: number;
  reorgs: number;
  dear: number;
  /** The node no longer has the final state. */
  pruned: number;
}>;

export const calm: Weather = {
  lost: 0,
  timeoutAfterAccepting: 0,
  refused: 0,
  lies: 0,
  down: 0,
  fails: 0,
  mines: 1,
  forgets: 0,
  reorgs: 0,
  dear: 0,
  pruned: 0,
};

export type Chain = ReturnType<typeof createChain>;

/**
 * Creates a chain.
 * @param onWire called with every transaction before the node does anything with it
 */
export function createChain(lane: Lane, random: Random, onWire: (bytes: Uint8Array) => void) {
  let blocks: Block[] = [];
  let price = 100n;
  const pool = new Map<string, Pooled>();
  const failing = new Set<string>();
  let salt = 0;
  const isNumbered = lane === 'sequence';
  /** Whether what would fail at a lock reaches no block; otherwise it is included, and fails. */
  const dropsLocked = lane === 'lock' && random.chance(0.5);

  const final = () => blocks.slice(0, Math.max(0, blocks.length - FINAL_DEPTH));
  const nonceOf = (payer: string, seen: readonly Block[]) =>
    seen.flat().filter((mined) => mined.payer === payer && mined.nonce !== null).length;
  /** Counts what could be mined now, one after the other, as nodes do. */
  function pendingOf(payer: string): number {
    const waiting = new Set([...pool.values()].filter((one) => one.payer === payer).map(({ terms }) => terms.nonce));
    let next = nonceOf(payer, blocks);
    while (waiting.has(String(next))) next++;
    return next;
  }
  const isMined = (tx: string, seen: readonly Block[]) => seen.some((block) => block.some((one) => one.tx === tx));

  /** Whether a payment of the intent by the wallet has set its lock. */
  function isLocked(payer: string, intentId: string, seen: readonly Block[]): boolean {
    const intent = lane === 'lock' ? signedIntents.get(intentId) : undefined;
    if (!intent || !isPayback(intent)) return false;
    return seen.flat().some((one) => one.paid && one.payer === payer && one.intentId === intentId);
  }

  function fits({ tx, payer, terms, intent }: Pooled, next: readonly Block[]): boolean {
    if (isMined(tx, next)) return false;
    if (isNumbered) return Number(terms.nonce) === nonceOf(payer, next);
    return next.length <= Number(terms.expires) && !(dropsLocked && isLocked(payer, intent.id, next));
  }

  function mine(): void {
    const block: Mined[] = [];
    for (const one of random.shuffled([...pool.values()])) {
      if (!random.chance(chain.weather.mines) || !fits(one, [...blocks, block])) continue;
      const nonce = isNumbered ? Number(one.terms.nonce) : null;
      const paid = !failing.has(one.tx) && !isLocked(one.payer, one.intent.id, [...blocks, block]);
      block.push({ tx: one.tx, intentId: one.intent.id, payer: one.payer, nonce, paid });
    }
    blocks.push(block);
    for (const tx of pool.keys()) if (random.chance(chain.weather.forgets)) pool.delete(tx);
  }

  /** Removes blocks that are not final. Their transactions are mined again, unless they were forgotten. */
  function reorganise(): void {
    const depth = 1 + random.int(Math.min(FINAL_DEPTH - 1, blocks.length));
    blocks = blocks.slice(0, blocks.length - depth);
    for (let n = 0; n < depth; n++) mine();
  }

  /** Returns one node's answer. A liar finds nothing. */
  function askOutcome(intentId: string, attempts: readonly SentAttempt[], lies: boolean): Outcome {
    const seen = final();
    for (const { tx } of lies ? [] : attempts) {
      const number = blocks.findIndex((block) => block.some((one) => one.tx === tx));
      if (number < 0) continue;
      if (number >= seen.length) return { kind: 'waiting', included: { tx, number } };
      const paid = blocks[number]?.find((one) => one.tx === tx)?.paid === true;
      return { kind: paid ? 'succeeded' : 'failed', tx, number, feeUnits: FEE };
    }
    const [first] = attempts;
    if (!first) return { kind: 'waiting', included: null };
    if (isNumbered) {
      if (random.chance(chain.weather.pruned)) throw transient('node_history_pruned', 'the final state is gone');
      const isUsed = nonceOf(first.payer, seen) > Number(first.terms.nonce);
      return isUsed ? { kind: 'foreign', message: 'its number was used' } : { kind: 'waiting', included: null };
    }
    const isOver = attempts.every(({ terms }) => seen.length > Number(terms.expires) + 1);
    if (!isOver) return { kind: 'waiting', included: null };
    if (!lies && isLocked(first.payer, intentId, seen)) {
      throw new UnclearOutcome(`no attempt of ${intentId} is known, but its lock is set`, null);
    }
    return { kind: 'dead' };
  }

  function refuseWhenDown(): void {
    if (random.chance(chain.weather.down)) throw transient('node_unreachable', 'the node does not answer');
  }

  const node: PayoutNode = {
    async balance() {
      refuseWhenDown();
      return { native: 10n ** 18n, tokens: {} };
    },
    async count(key) {
      refuseWhenDown();
      if (!isNumbered) return null;
      const isPruned = random.chance(chain.weather.pruned);
      return { final: isPruned ? null : nonceOf(key, final()), head: nonceOf(key, blocks), pending: pendingOf(key) };
    },
    async quote({ intent, payer }, nonce, outbid) {
      refuseWhenDown();
      if (isLocked(payer, intent.id, blocks)) {
        return { refused: 'would_fail', message: `the lock of ${intent.id} exists already`, missing: null };
      }
      if (random.chance(chain.weather.dear)) price = (price * 3n) / 2n;
      const floor = outbid.map(({ fee }) => (BigInt(fee ?? 0) * 9n) / 8n + 1n);
      const fee = [price, ...floor].sort((a, b) => (a < b ? 1 : -1))[0] ?? price;
      // Blocks have no times here, so the signer's clock may count each of them as expired.
      const own: Terms = isNumbered
        ? { nonce: String(nonce) }
        : { expires: String(blocks.length + LIFE_BLOCKS), expiration_ms: '0' };
      salt++;
      return { terms: { ...own, fee: fee.toString(), salt: String(salt) }, feeUnits: FEE, feeUnitsMax: fee };
    },
    async broadcast(bytes) {
      onWire(bytes);
      refuseWhenDown();
      const spend = decodeSpend(bytes);
      const { lost, timeoutAfterAccepting, refused, fails } = chain.weather;
      if (random.chance(refused)) return { kind: 'rejected', code: 'pool_full', message: 'try again' };
      if (random.chance(lost)) return { kind: 'accepted' };
      if (dropsLocked && isLocked(spend.payer, spend.intent.id, blocks)) {
        return { kind: 'rejected', code: 'would_fail', message: 'its lock exists already' };
      }
      const isKnown = pool.has(spend.tx);
      if (!isKnown && random.chance(fails)) failing.add(spend.tx);
      pool.set(spend.tx, spend);
      if (random.chance(timeoutAfterAccepting)) throw transient('node_timeout', 'the node has not answered in time');
      return { kind: isKnown ? 'known' : 'accepted' };
    },
    async paidBy({ intent }, tx) {
      refuseWhenDown();
      const mined = final()
        .flat()
        .find((one) => one.tx === tx && one.paid && one.intentId === intent.id);
      return mined ? { feeUnits: FEE, nonce: mined.nonce } : null;
    },
    async outcome({ intent, payer }, attempts) {
      refuseWhenDown();
      if (attempts.length === 0 && isLocked(payer, intent.id, final()))
        throw new UnclearOutcome(`nobody knows who set the lock of ${intent.id}`, null);
      const ask = (lies: boolean) => askOutcome(intent.id, attempts, lies);
      const answers = [ask(random.chance(chain.weather.lies)), ask(false)];
      const [one, witness] = answers.map((outcome) =>
        JSON.stringify(outcome, (_, v) => (typeof v === 'bigint' ? String(v) : v)),
      );
      if (one === witness) return answers[0] as Outcome;
      if (answers.every(({ kind }) => kind !== 'waiting')) throw transient('payout_nodes_disagree', 'one node lies');
      return { kind: 'waiting', included: null };
    },
    async close() {},
  };

  const chain = {
    lane,
    weather: calm,
    /** Mines one block, sometimes after a reorg. */
    step() {
      if (blocks.length > 0 && random.chance(chain.weather.reorgs)) reorganise();
      mine();
    },
    /**
     * Forgets what waits behind a number that no node has. Nodes show nothing of it, so one that comes back from an
     * older state cannot wait for it (docs/money.md, "After a gap").
     */
    forgetHidden() {
      if (!isNumbered) return;
      for (const [tx, { payer, terms }] of pool) if (Number(terms.nonce) >= pendingOf(payer)) pool.delete(tx);
    },
    /** Spends the wallet's next number, as somebody else with its key does. */
    usurp(payer: string) {
      const nonce = nonceOf(payer, blocks);
      blocks.push([{ tx: `foreign ${blocks.length}`, intentId: 'foreign', payer, nonce, paid: true }]);
    },
    blocks: (): readonly Block[] => blocks,
    /** Returns the blocks that can never be removed. */
    final: (): readonly Block[] => final(),
    nonceOf,
    node: () => node,
  };
  return chain;
}

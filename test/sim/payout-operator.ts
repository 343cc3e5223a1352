/**
 * Operators of a simulated history: they do what messages and docs/money.md tell them to, and what the commands
 * allow.
 */

import { type ExitParts, retry, settleNever, settlePaid } from '../../indexers/payouts/exits.ts';
import { adoptPayouts, isBehindSigner } from '../../indexers/payouts/journal.ts';
import { isEmpty, type ReconcileParts, reconcile, settledBy, survey } from '../../indexers/payouts/reconcile.ts';
import { createPayoutWallets } from '../../indexers/payouts/wallets.ts';
import { chains } from '../../src/chains/index.ts';
import { Fault } from '../../src/core/fault.ts';
import type { BlockGap } from '../../src/core/gap.ts';
import { isPayback } from '../../src/core/intent.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { Mined } from './payout-chain.ts';
import { actOf } from './payout-machine.ts';
import { familyOf, tokens } from './payout-signer.ts';
import type { Stage } from './payout-stage.ts';

/** Does what the fault's message says. */
export async function operate(stage: Stage, { code }: Fault): Promise<void> {
  if (code === 'payouts_not_adopted' || code === 'signer_refused_nonce') await adopt(stage);
  if (!stage.operator?.chance(0.3)) return;
  if (code === 'payouts_frozen') {
    await closeGaps(stage);
    await reconcileNetwork(stage);
  }
  // A lock shows that something has paid.
  if (code === 'payout_outcome_unclear') await settleIn(stage, { from: 1, to: stage.chain.final().length });
}

async function adopt(stage: Stage): Promise<void> {
  const { network, lane, signer, bench, clock, count, note } = stage;
  const rules = chains[familyOf[lane]].spendRules;
  const { database } = bench.main;
  const { added } = await adoptPayouts({
    network,
    rules,
    signer,
    payouts: database.payouts,
    nowMs: clock.nowMs(),
    page: 2,
  });
  note(`  adopted ${added}`);
  count('adopted');
  // An engine that runs goes on: it only takes the next turn.
  if (added > 0) stage.restart();
}

/**
 * Every command that ends a payout first adopts what is known to the signer alone.
 * @returns false if the signer does not answer
 */
const isUpToDate = (stage: Stage): Promise<boolean> =>
  attempted(async () => {
    const { network, bench, signer } = stage;
    if (await isBehindSigner(network, bench.main.database, signer)) await adopt(stage);
  });

function exitParts({ bench, network, lane, chain, signer, clock }: Stage): ExitParts & Omit<ReconcileParts, 'network'> {
  const { spendRules: rules } = chains[familyOf[lane]];
  const wallets = createPayoutWallets({ network, tokens, rules, signer });
  const act = actOf('payout resolve', clock.nowMs());
  return { node: chain.node(), wallets, rules, database: bench.main.database, act, isDryRun: false };
}

/**
 * Resumes halted wallets, and ends or renews payouts whose number was used by others or whose attempts failed: only if
 * the nodes show that nothing has paid them.
 * @returns whether there was one
 */
export async function revive(stage: Stage): Promise<boolean> {
  const { bench, network, random } = stage;
  const { database } = bench.main;
  let found = await reconcileNetwork(stage);
  const stuck = () => database.payouts.list({ network, state: 'stuck', limit: 100 });
  const isForeign = ({ wait }: Payout): boolean => wait?.code === 'payout_nonce_foreign';
  // An attempt that is unknown here may have paid it already.
  if ((await stuck()).some(isForeign)) await adopt(stage);
  for (const payout of await stuck()) {
    const isRenewed = isForeign(payout);
    if (!isRenewed && random.chance(0.5)) continue;
    if (!(await endUnpaid(stage, payout, isRenewed))) continue;
    stage.count(isRenewed ? 'resumed to be signed again' : 'ended after its attempts failed');
    found ||= isRenewed;
  }
  return found;
}

/**
 * Reconciles the network, as an explorer shows what has paid. One who is lazy answers rarely. One who is wrong names
 * other transactions half of the time: the nodes show what they are.
 * @returns whether it was frozen
 */
async function reconcileNetwork(stage: Stage): Promise<boolean> {
  const { network, chain, operator, count, note } = stage;
  const wasFrozen = await isFrozen(stage);
  if (!wasFrozen || (stage.temper === 'lazy' && !operator?.chance(0.2))) return wasFrozen;
  await attempted(async () => {
    await adopt(stage);
    const isWrong = stage.temper === 'wrong' && operator?.chance(0.5) && (await stage.machine?.gaps())?.length === 0;
    const all = chain.final().flat();
    const wrong = operator?.shuffled(all).slice(0, 2) ?? [];
    const named = (isWrong ? wrong : await unknownPayments(stage, all)).map(({ tx }) => tx);
    const parts = { ...exitParts(stage), network };
    const seen = await survey(parts, named);
    if (isEmpty(seen)) return;
    const left = await reconcile(parts, seen);
    note(`  reconciled: ${settledBy(seen).map(({ id }) => id)} settled, ${left.length} freezes left`);
    count(`reconciled by one who is ${stage.temper}`);
  });
  return wasFrozen;
}

const isFrozen = async ({ bench, network }: Stage): Promise<boolean> =>
  (await bench.main.database.holds.find(network)) !== null;

/** Returns final transactions that paid what is open here, and of which nothing here is an attempt. */
async function unknownPayments({ bench }: Stage, all: readonly Mined[]): Promise<readonly Mined[]> {
  const { database } = bench.main;
  const unknown: Mined[] = [];
  for (const one of all) {
    const payout = one.paid ? await database.payouts.find(one.intentId) : null;
    if (!payout || payout.state === 'succeeded' || (await database.payouts.ownerOf(one.tx)) !== null) continue;
    unknown.push(one);
  }
  return unknown;
}

/** Why a command is refused that an operator runs again later. */
const passing: readonly string[] = ['payout_moved', 'payouts_reading', 'payouts_settling'];

/** @returns false if it cannot be told yet */
async function endUnpaid(stage: Stage, payout: Payout, isRenewed: boolean): Promise<boolean> {
  const parts = exitParts(stage);
  try {
    await (isRenewed ? retry : settleNever)(parts, payout, []);
    if (!isRenewed) stage.endedUnpaid.add(payout.id);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const [, tx] = /--paid ([0-9a-f]+)/.exec(error.message) ?? [];
    if (error.code === 'payout_was_paid' && tx !== undefined) await settlePaid(parts, payout, tx, false);
    // For some minutes after a start, and while the network is frozen, what is not known here may have paid it.
    else if (error.kind === 'permanent' && !passing.includes(error.code) && !(await isFrozen(stage))) throw error;
    return false;
  }
}

/** @returns whether a command was carried out */
async function attempted(command: () => Promise<unknown>): Promise<boolean> {
  try {
    await command();
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

// ── What nobody asks for ─────────────────────────────────────────────────────────────────────────────────────────────

/** Rejects a refund or ends a payout as never paid, sometimes, and passes over blocks or reads such again. */
export async function meddle(stage: Stage): Promise<void> {
  const { operator, machine, note, count } = stage;
  if (!operator || !machine) return;
  if (operator.chance(0.1) && (await machine.skip(1 + operator.int(3)))) {
    note('blocks are skipped');
    count('blocks skipped');
  }
  if (operator.chance(0.2)) await closeGaps(stage);
  await endAny(stage, 0.4);
}

/** Tries to end an open refund, sometimes, whatever it waits for: the commands refuse what could be paid twice. */
export async function endAny(stage: Stage, probability: number): Promise<void> {
  const { bench, planned, clock, operator, machine, engine, note, count, endedUnpaid } = stage;
  const { database } = bench.main;
  // From its first look on, an engine that has just started says what is not certain yet.
  if (!operator || !machine || !engine.own.hasLooked || !operator.chance(probability)) return;
  const [id] = operator.shuffled([...planned.keys()]);
  const payout = id === undefined ? null : await database.payouts.find(id);
  if (!payout || !isPayback(payout.intent) || payout.settledAtMs !== null) return;
  if (operator.chance(0.5)) {
    if (!(await database.payouts.cancel(payout.id, clock.nowMs()))) return;
    endedUnpaid.add(payout.id);
    note(`${payout.id} is rejected`);
    return count('rejected');
  }
  if (!(await isUpToDate(stage))) return;
  const isRenewed = operator.chance(0.5);
  const current = (await database.payouts.find(payout.id)) ?? payout;
  if (!(await attempted(() => (isRenewed ? retry : settleNever)(exitParts(stage), current, [])))) return;
  if (!isRenewed) endedUnpaid.add(payout.id);
  note(`${payout.id} was never paid, says an operator, and is ${isRenewed ? 'paid again' : 'ended'}`);
  count(isRenewed ? 'ordered again' : 'ended as never paid');
}

/** Reads the blocks of each gap, or settles what was paid in them and thaws the network, if no node ever has them. */
async function closeGaps(stage: Stage): Promise<void> {
  const { machine, operator, note, count } = stage;
  for (const gap of (await machine?.gaps()) ?? []) {
    if (operator?.chance(0.5)) {
      if (!(await machine?.reread(gap))) continue;
      note(`blocks ${gap.from} to ${gap.to} are read again`);
      count('blocks read again');
    } else if (gap.holdsPayouts && (await settleIn(stage, gap)) && (await reconciled(stage))) {
      note(`blocks ${gap.from} to ${gap.to} were compared in an explorer, and the network is thawed`);
      count('thawed over blocks');
    }
  }
}

/**
 * Settles what was paid in these blocks by transactions that are unknown here, as an explorer shows them.
 * @returns whether all such refunds are settled
 */
async function settleIn(stage: Stage, { from, to }: Pick<BlockGap, 'from' | 'to'>): Promise<boolean> {
  const { chain, bench } = stage;
  const { database } = bench.main;
  if (!(await isUpToDate(stage))) return false;
  for (const { tx, intentId, paid } of chain
    .final()
    .slice(from - 1, to)
    .flat()) {
    const payout = paid ? await database.payouts.find(intentId) : null;
    if (!payout || payout.state === 'succeeded' || (await database.payouts.ownerOf(tx)) !== null) continue;
    if (!(await attempted(() => settlePaid(exitParts(stage), payout, tx, false)))) return false;
    stage.count('settled from an explorer');
  }
  return true;
}

/** Reconciles the network. @returns whether it is frozen no longer */
async function reconciled(stage: Stage): Promise<boolean> {
  await reconcileNetwork(stage);
  return !(await isFrozen(stage));
}

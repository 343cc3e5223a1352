/**
 * Returns of held money: the operator, or an owner of the store, sends it back to whom it came from. A return is a
 * refund that no merchant asked for: it has an intent of its own, and goes out like any other.
 */

import { createHash } from 'node:crypto';
import { type HeldPart, heldParts, openPar } from '../../core/held-money.ts';
import { refundEntry } from '../../core/ledger.ts';
import { confirmedParts } from '../../core/received.ts';
import { exceedsAutomatic, isCovered } from '../../core/refund.ts';
import type { RecordAct } from '../audit-log.ts';
import { writeOrTry } from '../engine/dry-run.ts';
import type { Db } from '../engine/open.ts';
import type { ReturnHeldMoney, ReturnHeldOutcome } from '../held-money.ts';
import type { Ledger } from '../ledger.ts';
import type { PayoutSteps } from '../payouts/payouts.ts';
import { lifeOf, type SessionRow, termsOf } from '../session.ts';
import type { CountingSums, HeldRecords, HeldRow, SessionTransitions } from '../session-transitions.ts';
import type { FindSessionRow } from '../sessions.ts';
import type { StoreRows } from '../stores.ts';
import type { Transfers } from '../transfers.ts';
import type { RefundDestinations } from './destinations.ts';
import type { DestinationCheck } from './refund.ts';
import { isOperators, newRefund, type RefundRow, type RefundRows } from './rows.ts';

type Parts = Readonly<{
  rows: RefundRows;
  stores: StoreRows;
  destinations: RefundDestinations;
  payouts: PayoutSteps;
  ledger: Ledger;
  held: HeldRecords;
  countingSums: CountingSums;
  transitions: SessionTransitions;
  transfers: Transfers;
  findSession: FindSessionRow;
  recordAct: RecordAct;
}>;

/** Derives a return's id from what it returns, and from how many such returns there were. */
function returnIdOf(row: HeldRow, { network, currency }: HeldPart, count: number): string {
  const name = JSON.stringify(['held return', row.sessionId, row.kind, network, currency, count]);
  return `rt_${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}

export function heldReturnCommands(db: Db, parts: Parts) {
  const { rows, destinations, payouts, ledger, held, countingSums, transitions, findSession, recordAct } = parts;

  /** Returns whom a return goes to: the address that was named or, for null, the only sender of that money. */
  async function payeeOf(session: SessionRow, part: HeldPart, to: string | null, check: DestinationCheck) {
    if (to !== null) {
      const key = await destinations.read(part.network, session.mode, to, check);
      return typeof key === 'object' ? ({ kind: 'bad_destination', why: key.why } as const) : key;
    }
    const [sender, ...others] = await parts.transfers.senders(session.id, part.network, part.currency);
    return sender === undefined || others.length > 0 ? ({ kind: 'senders_differ' } as const) : sender;
  }

  /** Returns an id that neither this database nor the adopted journal of the signer has. */
  async function freeId(of: HeldRow, part: HeldPart): Promise<string> {
    for (let count = 0; ; count++) {
      const id = returnIdOf(of, part, count);
      if (!(await rows.find(id)) && !(await payouts.find(id))) return id;
    }
  }

  async function rowOf(
    session: SessionRow,
    of: HeldRow,
    part: HeldPart,
    { act: { atMs: nowMs }, requestedBy }: ReturnHeldMoney,
  ): Promise<Omit<RefundRow, 'destination'>> {
    const { id: sessionId, storeId, mode } = session;
    const id = await freeId(of, part);
    // The signer's caps ask for an approval where they want one: whoever ordered it has decided already.
    const decided = { approvedAtMs: nowMs, createdAtMs: nowMs, requestedBy, heldKind: of.kind };
    return { ...newRefund, ...part, ...decided, id, sessionId, storeId, mode, refundId: id, bodyHash: '' };
  }

  /** Returns why a store may not send this out itself, or null. The operator may. */
  async function refusalOf(row: RefundRow, nowMs: number): Promise<ReturnHeldOutcome | null> {
    const { storeId, mode, amountMinor } = row;
    if (isOperators(row)) return null;
    const { policy, isSuspended } = await parts.stores.of(storeId);
    if (isSuspended()) return { kind: 'store_suspended' };
    if (exceedsAutomatic(amountMinor, await rows.recent(row, nowMs), policy)) return { kind: 'above_limit' };
    const isWithinDay = (await rows.todayMinor(storeId, mode, nowMs)) + amountMinor <= BigInt(policy.refundDailyMinor);
    return isWithinDay ? null : { kind: 'daily_limit' };
  }

  async function returnNow(input: ReturnHeldMoney, check: DestinationCheck): Promise<ReturnHeldOutcome> {
    const { id, to, network, currency, act } = input;
    const row = await held.find(id);
    const session = row && (await findSession(row.sessionId));
    if (!row || !session) return { kind: 'not_found' };
    if (row.state !== 'open') return { kind: 'not_open' };
    // The clock's changes of the session come first.
    await transitions.advance(session, act.atMs, null, []);
    const now = (await findSession(session.id)) ?? session;
    const counting = await countingSums(now, now.sums);
    const all = heldParts(termsOf(now), lifeOf(now), counting, row.kind, openPar(row));
    const wanted = all.filter(
      (part) => (network ?? part.network) === part.network && (currency ?? part.currency) === part.currency,
    );
    const [part, ...others] = wanted;
    if (!part || others.length > 0) return { kind: 'choose', parts: all };
    if (!(await payouts.isAdopted(part.network))) return { kind: 'not_adopted' };
    const earlier = await rows.ofSession(session.id);
    if (!isCovered(part.currency, confirmedParts(now.sums), [...earlier, { ...part, status: 'pending' }])) {
      return { kind: 'refunded' };
    }
    const payee = await payeeOf(now, part, to, check);
    if (typeof payee === 'object') return payee;
    const bare = await rowOf(now, row, part, input);
    const by = input.requestedBy === null ? 'operator' : 'merchant';
    const made = { ...bare, ...destinations.columns(bare, payee, to === null ? 'sender' : by) };
    const refused = await refusalOf(made, act.atMs);
    if (refused) return refused;
    await rows.insert(made);
    await ledger.post(refundEntry(made, 'reserved'), act.atMs);
    await transitions.followReturn(now, act.atMs);
    const refund = await rows.view(made);
    await recordAct(act, {
      target: id,
      before: { session: session.id, kind: row.kind, state: row.state },
      after: {
        return: made.id,
        amount: `${refund.amountMinor} cents of ${part.currency}`,
        network: part.network,
        destination: refund.destination?.address ?? null,
      },
    });
    return { kind: 'done', refund };
  }

  return {
    /**
     * Begins to return open held money. From then on it counts for nothing; if the return fails, it is held again. What
     * is returned can be neither accepted nor refunded.
     */
    async giveBack(input: ReturnHeldMoney, check: DestinationCheck): Promise<ReturnHeldOutcome> {
      return writeOrTry(db, input.isDryRun, () => returnNow(input, check));
    },
  };
}

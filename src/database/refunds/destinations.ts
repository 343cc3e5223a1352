/**
 * Destinations of refunds: addresses from payers, merchants and the operator. They are checked, and get a MAC that the
 * signer verifies.
 */

import { invariant } from '../../core/fault.ts';
import type { PaybackIntent } from '../../core/intent.ts';
import { type DestinationFrom, exceedsAutomatic, mayReplace } from '../../core/refund.ts';
import type { Mode, NetworkKey } from '../../core/transfer.ts';
import { toSeconds } from '../../lib/clock.ts';
import { addressRowsOf } from '../addresses.ts';
import { type OperatorAct, recordAct } from '../audit-log.ts';
import { writeOrTry } from '../engine/bodies.ts';
import type { Db } from '../engine/open.ts';
import { findRow, findRows } from '../engine/rows.ts';
import { lookAgainForPayerData } from '../meta.ts';
import { payoutStepsOf } from '../payouts/payouts.ts';
import { replaysOf } from '../replays.ts';
import type { MacedRow, SealedDb } from '../sealing.ts';
import { findSession } from '../session.ts';
import { storeOf } from '../stores.ts';
import { ownWallets, refundAddresses } from '../tables.ts';
import {
  type Bound,
  boundTo,
  type DestinationCheck,
  type DestinationFault,
  isOperators,
  type RedirectRefund,
  type RedirectRefundOutcome,
  type RefundRow,
  refundRowsOf,
  type SetDestinationOutcome,
} from './refund.ts';

/** The fields of a payer's refund address that its MAC covers. */
export const macedRefundAddress = ({
  sessionId,
  network,
  key,
}: Pick<typeof refundAddresses.$inferSelect, 'sessionId' | 'network' | 'key'>): MacedRow => ({
  table: 'refund_addresses',
  key: [sessionId, network],
  fields: [key],
});

// Call these within a transaction.

/** Returns the keys of the addresses that the payer left at checkout, by network. */
async function addressesLeft(db: SealedDb, sessionId: string): Promise<Readonly<Record<NetworkKey, string>>> {
  const intact = (await findRows(db, refundAddresses, { sessionId })).filter((row) => {
    const name = `the refund address of session ${sessionId} on ${row.network}`;
    const remedy = 'have the payer leave it again, or name one by `quayside refund destination`';
    return db.guard.accepts(macedRefundAddress(row), row.mac, name, remedy);
  });
  return Object.fromEntries(intact.map(({ network, key }) => [network, key]));
}

export const addressLeft = async (db: SealedDb, sessionId: string, network: NetworkKey): Promise<string | null> =>
  (await addressesLeft(db, sessionId))[network] ?? null;

/** Saves the payer's address on a network, in place of an earlier one. */
async function saveAddress(db: SealedDb, sessionId: string, network: NetworkKey, key: string): Promise<void> {
  const save = db.client.prepare(
    `INSERT INTO refund_addresses (session_id, network, key, mac) VALUES (:sessionId, :network, :key, :mac)
     ON CONFLICT (session_id, network) DO UPDATE SET key = excluded.key, mac = excluded.mac`,
  );
  const mac = db.guard.seal(macedRefundAddress({ sessionId, network, key }));
  await save.run({ sessionId, network, key, mac });
}

/** Returns whether an address is one of our wallets. A refund to it would look like its income. */
const isWallet = async (db: Db, network: NetworkKey, key: string): Promise<boolean> =>
  (await findRow(db, ownWallets, { network, key })) !== undefined;

/** Returns the key of a typed address, or the fault in it. */
export async function readDestination(
  db: SealedDb,
  network: NetworkKey,
  mode: Mode,
  text: string,
  check: DestinationCheck,
): Promise<string | Readonly<{ why: DestinationFault }>> {
  const verdict = check(network, text);
  if (verdict.kind === 'bad') return { why: verdict.why };
  const isDeposit = (await addressRowsOf(db).find({ family: verdict.family, mode }, verdict.key)) !== null;
  return isDeposit || (await isWallet(db, network, verdict.key)) ? { why: 'own_address' } : verdict.key;
}

/** Returns the columns of a destination, including its MAC. */
export const destinationColumns = ({ macOf }: SealedDb, refund: Bound, key: string, from: DestinationFrom) => ({
  destination: key,
  destinationFrom: from,
  mac: macOf(boundTo(refund, key)),
});

/** Returns the intent of a refund that has a destination. */
export function intentOf(row: RefundRow): PaybackIntent {
  const { destination, mac } = row;
  invariant(destination !== null && mac !== null, `refund ${row.id} has a destination`);
  const { held, ...bound } = boundTo(row, destination);
  if (held !== undefined) return { kind: 'return', ...bound, held, mac };
  return { kind: 'refund', ...bound, mac };
}

/** Most refunds of a session that get an address at once. No session has that many. */
const ASKED_MAX = 1000;

/** Returns a payer's act for the audit log. */
const actOf = (command: string, atMs: number): OperatorAct => ({ atMs, operator: 'payer', command, reason: null });

export function refundAddressCommands(db: SealedDb) {
  const rows = refundRowsOf(db);
  const replays = replaysOf(db);
  const redirect = createRedirect(db);

  /** Returns whether the payer's claim link still accepts an address. */
  const isClaimOpen = ({ claimUntilS }: RefundRow, nowMs: number): boolean =>
    claimUntilS === null || toSeconds(nowMs) <= claimUntilS;

  return {
    /**
     * Sets the payer's address by claim link, until the first attempt is allotted. It replaces only a payer's own one.
     */
    async claim(
      { claimToken: token, address, nowMs }: Readonly<{ claimToken: string; address: string; nowMs: number }>,
      check: DestinationCheck,
    ): Promise<SetDestinationOutcome> {
      return db.write(async () => {
        const row = await rows.claimed(token);
        if (!row) return 'not_found';
        if (!isClaimOpen(row, nowMs)) return 'fixed';
        const key = await readDestination(db, row.network, row.mode, address, check);
        if (typeof key === 'object') return { kind: 'bad', why: key.why };
        return (await redirect(row, key, 'claim_link', actOf('claim link', nowMs))) === 'fixed' ? 'fixed' : 'done';
      });
    },
    /**
     * Saves the address that a payer leaves at checkout for refunds on a network, in place of an earlier one. It also
     * becomes the destination of refunds that wait for one, or have the payer's earlier one, until their first attempt
     * is allotted.
     */
    async leaveAddress(
      input: Readonly<{ sessionId: string; network: NetworkKey; address: string; nowMs: number }>,
      check: DestinationCheck,
    ): Promise<SetDestinationOutcome> {
      const { sessionId, network, address, nowMs } = input;
      return db.write(async () => {
        const session = await findSession(db, sessionId);
        if (!session?.networks.includes(network)) return 'not_found';
        const key = await readDestination(db, network, session.mode, address, check);
        if (typeof key === 'object') return { kind: 'bad', why: key.why };
        const before = await addressLeft(db, sessionId, network);
        if (before === key) return 'done';
        const asked = (await rows.list({ sessionId, limit: ASKED_MAX })).filter(
          (row) => row.network === network && isClaimOpen(row, nowMs),
        );
        // On a refusal the payer still sees the earlier address, and can try again later.
        for (const row of asked) {
          if (mayReplace(row.destinationFrom, 'payer') && (await mayBePaid(db, row, key))) return 'fixed';
        }
        const act = actOf('payment page', nowMs);
        await saveAddress(db, sessionId, network, key);
        await lookAgainForPayerData(db, sessionId);
        await recordAct(db, act, {
          target: sessionId,
          before: before === null ? null : { [network]: before },
          after: { [network]: key },
        });
        // Refunds that wait for an address by claim link get it too, or they would expire unanswered.
        for (const row of asked) await redirect(row, key, 'payer', act);
        return 'done';
      });
    },
    /**
     * Gives a refund another destination, on the order of its merchant or the operator, until its first attempt is
     * allotted. The approval of the earlier destination is withdrawn, and the cancel window begins again.
     */
    async redirect(
      { address, act, ...input }: RedirectRefund,
      check: DestinationCheck,
    ): Promise<RedirectRefundOutcome> {
      const redirectNow = async (): Promise<RedirectRefundOutcome> => {
        const isMerchant = input.by === 'merchant';
        const row = isMerchant ? await rows.own(input.owner) : await rows.find(input.id);
        if (!row) return { kind: isMerchant && (await rows.isForeign(input.owner)) ? 'foreign' : 'not_found' };
        const scope = isMerchant && { ...input.owner, replay: input.replay, nowMs: act.atMs };
        const past = scope && (await replays.recall(scope));
        if (past && past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past && past.kind === 'same_body') return { kind: 'replayed', refund: await rows.view(row) };
        if (isMerchant && (await storeOf(db, row.storeId)).isSuspended()) return { kind: 'store_suspended' };
        const key = await readDestination(db, row.network, row.mode, address, check);
        if (typeof key === 'object') return { kind: 'bad_destination', why: key.why };
        const done = await redirect(row, key, input.by, act);
        if (done === 'fixed') return { kind: 'fixed' };
        if (scope) await replays.remember(scope, row.sessionId);
        const refund = await rows.view(done === 'same' ? row : done);
        return { kind: done === 'same' ? 'replayed' : 'done', refund };
      };
      return writeOrTry(db, input.by === 'operator' && input.isDryRun, redirectNow);
    },
    /** Returns the keys of the payer's addresses, by network. */
    async addresses(sessionId: string): Promise<Readonly<Record<NetworkKey, string>>> {
      return db.read(() => addressesLeft(db, sessionId));
    },
  };
}

/**
 * Returns whether an unknown transaction may have paid a refund without a payout at its present destination. The refund
 * then must neither get the destination `key` nor end, for which `key` is null.
 */
export async function mayBePaid(db: SealedDb, row: RefundRow, key: string | null): Promise<boolean> {
  const { status, destination, network } = row;
  if (status !== 'pending' || destination === null || destination === key) return false;
  const payouts = payoutStepsOf(db);
  if (await payouts.doubtOf({ network })) return true;
  return (await payouts.unexplainedHold({ intent: intentOf(row) })) !== null;
}

/**
 * Returns the step that gives a refund another destination. `fixed`: `from` may not replace the destination, or nobody
 * can any more, or an unknown transaction may have paid it. `same`: it has this destination.
 */
function createRedirect(db: SealedDb) {
  const rows = refundRowsOf(db);

  /**
   * Returns the columns of a new approval. The earlier one named another destination, and the new destination may have
   * received much already.
   */
  async function approvalOf(row: RefundRow, key: string, atMs: number) {
    const withdrawn = { approvedAtMs: null, approval: null, approvedDestination: null };
    if (row.needsApproval || isOperators(row)) return withdrawn;
    const recent = await rows.recent({ ...row, destination: key }, atMs);
    const needsApproval = exceedsAutomatic(row.amountMinor, recent, (await storeOf(db, row.storeId)).policy);
    return { ...withdrawn, needsApproval };
  }

  return async (
    row: RefundRow,
    key: string,
    from: DestinationFrom,
    act: OperatorAct,
  ): Promise<RefundRow | 'fixed' | 'same'> => {
    const { id, status, destination, destinationFrom, storeId } = row;
    if (status !== 'pending' && status !== 'processing') return 'fixed';
    if (!mayReplace(destinationFrom, from)) return 'fixed';
    if (destination === key && destinationFrom === from) return 'same';
    if (await mayBePaid(db, row, key)) return 'fixed';
    const isSame = destination === key;
    const columns = isSame ? { destinationFrom: from } : destinationColumns(db, row, key, from);
    if (status === 'processing' && !isSame) {
      const intent = intentOf({ ...row, ...columns });
      const windowMs = (await storeOf(db, storeId)).policy.refundCancelWindowS * 1000;
      if (!(await payoutStepsOf(db).redirect(intent, act.atMs + windowMs, act.atMs))) return 'fixed';
    }
    const approval = isSame ? {} : await approvalOf(row, key, act.atMs);
    await recordAct(db, act, {
      target: id,
      before: destination === null ? null : { destination, from: destinationFrom },
      after: { destination: key, from },
    });
    return rows.change(row, { ...columns, ...approval });
  };
}

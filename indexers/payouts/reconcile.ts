/**
 * Reconciles a frozen network once an operator agrees. Transactions that no payout explains are listed beside the open
 * refunds that they may have paid. A refund is settled only if every node shows the payment. Other transfers are
 * acknowledged, and a refund that equals one of them is not paid before a person has ruled it out.
 *
 * Before the freeze ends, the network settles in once more. Nothing is signed until every block of this moment is final
 * and read.
 */
import type { PayoutNode } from '../../src/chains/spend.ts';
import { Fault, transient } from '../../src/core/fault.ts';
import { isPaidBy, isPayback } from '../../src/core/intent.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { type Freeze, isAutomatic } from '../../src/database/payouts/holds.ts';
import type { OutgoingRecord } from '../../src/database/payouts/wallets.ts';
import { type ExitParts, settlePaid } from './exits.ts';
import { finalCountLost } from './nodes.ts';
import { settling } from './settling-in.ts';

/** Transfers listed in one run. If there are more, the network stays frozen for the rest. */
const LISTED_MAX = 100;
/** Open refunds of each state that are compared. */
const OPEN_MAX = 1_000;

export type ReconcileParts = Omit<ExitParts, 'node' | 'isDryRun'> &
  Readonly<{
    network: NetworkKey;
    node: ExitParts['node'] & Pick<PayoutNode, 'count'>;
  }>;

/** A transaction that an operator found in an explorer. */
export type NamedTransaction = Readonly<{ tx: string; settles: string | null; refusal: string | null }>;

/** Unexplained transactions of a wallet, by their nonces. `to` is the first free nonce. */
export type UnknownNonces = Readonly<{ payer: string; from: number; to: number; isFinal: boolean }>;

/** Unexplained transactions, each with the open refund that it paid according to every node, or null. */
export type Survey = Readonly<{
  freezes: readonly Freeze[];
  transfers: readonly Readonly<{ transfer: OutgoingRecord; settles: string | null; refusal: string | null }>[];
  named: readonly NamedTransaction[];
  nonces: readonly UnknownNonces[];
}>;

/** Returns whether there is anything to agree to. */
export const isEmpty = ({ freezes, transfers, named, nonces }: Survey): boolean =>
  [freezes, transfers, named, nonces].every(({ length }) => length === 0);

/**
 * Lists transactions that no payout explains, and asks the nodes which refunds they paid. Changes nothing.
 * @param named transactions that the operator names
 * @throws Fault those of node, signer and database
 */
export async function survey(parts: ReconcileParts, named: readonly string[]): Promise<Survey> {
  const { network, database } = parts;
  const freezes = (await database.holds.list()).filter((one) => one.network === network && isAutomatic(one));
  const open = await openRefunds(parts);
  /** One transaction settles one refund. */
  const settled = new Set<string>();
  const find = async (tx: string, refunds: readonly Payout[]) => {
    let refusal: string | null = null;
    for (const refund of refunds.filter(({ id }) => !settled.has(id))) {
      refusal = await refusalOf(parts, refund, tx);
      if (refusal !== null) continue;
      settled.add(refund.id);
      return { settles: refund.id, refusal: null };
    }
    return { settles: null, refusal };
  };
  const transfers = [];
  for (const transfer of await database.wallets.listForeign(network, LISTED_MAX)) {
    const equal = open.filter((refund) => isPaidBy(refund, transfer));
    transfers.push({ transfer, ...(await find(transfer.tx, equal)) });
  }
  const known = new Set(transfers.map(({ transfer }) => transfer.tx));
  const explained: NamedTransaction[] = [];
  for (const tx of new Set(named)) if (!known.has(tx)) explained.push({ tx, ...(await find(tx, open)) });
  return { freezes, transfers, named: explained, nonces: await unknownNonces(parts) };
}

/**
 * Carries out a survey: settles the refunds, acknowledges the transfers, passes the nonces, and ends the freezes that
 * were shown.
 * @returns the freezes that are left, because of later events
 * @throws Fault if something has changed since the survey; settled refunds stay settled, and the network stays frozen
 */
export async function reconcile(parts: ReconcileParts, seen: Survey): Promise<readonly Freeze[]> {
  const { network, database, act } = parts;
  await refuseUnsettled(parts, seen);
  // The engine reads up to the present final block before it signs anything.
  await database.engines.settle(network, act.atMs);
  for (const { id, tx } of settledBy(seen)) {
    const payout = await database.payouts.find(id);
    if (payout && payout.tx !== tx) await settlePaid({ ...parts, isDryRun: false }, payout, tx, false);
  }
  for (const { payer, to } of seen.nonces) await database.payouts.passNonces(network, payer, to);
  const transfers = seen.transfers.map(({ transfer }) => transfer.id);
  await database.holds.thaw({ freezes: seen.freezes, transfers }, act);
  return (await database.holds.list()).filter((one) => one.network === network && isAutomatic(one));
}

/** Returns the refunds that a survey settles, each with its transaction. */
export const settledBy = ({ transfers, named }: Survey): readonly Readonly<{ id: string; tx: string }>[] =>
  [
    ...transfers.map(({ settles, transfer: { tx } }) => ({ id: settles, tx })),
    ...named.map(({ settles, tx }) => ({ id: settles, tx })),
  ].flatMap(({ id, tx }) => (id === null ? [] : [{ id, tx }]));

/** @returns why a transaction does not settle a refund; null if every node shows that it does */
async function refusalOf(parts: ReconcileParts, refund: Payout, tx: string): Promise<string | null> {
  try {
    await settlePaid({ ...parts, isDryRun: true }, refund, tx, false);
    return null;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind === 'transient') throw error;
    return error.message;
  }
}

/** Returns open refunds and returns, the oldest first. */
async function openRefunds({ database, network }: ReconcileParts): Promise<readonly Payout[]> {
  const states = ['waiting', 'sent', 'stuck'] as const;
  const pages = await Promise.all(states.map((state) => database.payouts.list({ network, state, limit: OPEN_MAX })));
  return pages
    .flat()
    .filter(({ intent }) => isPayback(intent))
    .sort((a, b) => a.createdAtMs - b.createdAtMs);
}

/** @throws Fault transient `node_history_pruned` if the node cannot count final nonces */
async function unknownNonces({ database, network, node }: ReconcileParts): Promise<UnknownNonces[]> {
  const unknown = [];
  for (const { payer, nextNonce: from } of await database.payouts.nonces(network)) {
    const { final = from, head = from, pending = from } = (await node.count(payer)) ?? {};
    const counted = Math.max(final ?? 0, head, pending);
    if (counted <= from) continue;
    if (final === null) throw finalCountLost(network, payer);
    const to = Math.max(from, final);
    unknown.push({ payer, from, to, isFinal: counted <= to });
  }
  return unknown;
}

/** Refuses while unexplained transactions may still become final. @throws Fault transient `payouts_settling` */
export async function refuseUnsettled(
  { database, network }: Pick<ReconcileParts, 'database' | 'network'>,
  { nonces }: Pick<Survey, 'nonces'>,
): Promise<void> {
  const open = nonces.find(({ isFinal }) => !isFinal);
  if (open)
    throw transient(
      'payouts_settling',
      `transactions of wallet ${open.payer} are not final yet. Reconcile the network when they are`,
    );
  const untilMs = (await database.engines.list()).find((one) => one.network === network)?.settlingUntilMs ?? null;
  if (untilMs !== null) throw settling(network, untilMs);
}

/** A payment: its session, and the transfers to its addresses. */

import { heldAdvice, meanings, parText } from '../../src/acts/held.ts';
import { paymentSession } from '../../src/api/session-view.ts';
import { chains } from '../../src/chains/index.ts';
import { lacks, needsSecondNode, usualDepth, waitsForFinality } from '../../src/core/credit-policy.ts';
import { openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, toPar } from '../../src/core/money.ts';
import { deadline } from '../../src/core/session.ts';
import { policyFor } from '../../src/core/store-credit.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import type { Session } from '../../src/database/session.ts';
import type { TracedAddress, TracedTransfer } from '../../src/database/transfers.ts';
import { parseSessionId } from '../../src/lib/id.ts';
import { createAddressFormat } from '../../src/payments/destination.ts';
import { type Finding, failure, finding, note, ok, waiting } from '../nodes/finding.ts';
import { refundsOf } from './show-money-out.ts';
import { gapFindings, networkFinding } from './show-network.ts';
import { at, type Finder, type Scene } from './show-scene.ts';
import { eventsOf } from './show-webhook.ts';

const HELD_MAX = 10;
/** Sessions that one transaction pays and that are shown. */
const SESSIONS_SHOWN_MAX = 10;
/** A transaction that a reorg took out is usually in another block within this time. */
const MINED_AGAIN_MS = 3_600_000;

/** Returns the ids of transactions that a text may be, by its form. */
export const transactionsNamed = (text: string): readonly string[] => [
  ...new Set(Object.values(chains).flatMap(({ transactionId }) => transactionId(text) ?? [])),
];

/** Returns the deposit addresses of this installation that a text is. */
export async function addressesNamed({ database }: Scene, text: string): Promise<readonly TracedAddress[]> {
  const found = await mapInOrder(Object.values(chains), async ({ family, address }) => {
    const key = address.parse(text);
    return key === null ? [] : database.traces.findAddresses(family, key);
  });
  return found.flat();
}

/** Finds sessions: by their id, order, address or transaction, or by an event, a delivery or held money of theirs. */
export const findSessions: Finder = async (scene, text) => {
  const { traces, deliveries, events, held, payouts, sessions: own } = scene.database;
  const [delivery] = await deliveries.list({ id: text, limit: 1 });
  const part = delivery ?? (await events.find(text)) ?? (await held.find(text));
  const paying = await mapInOrder(transactionsNamed(text), async (tx) => {
    const payout = await payouts.ownerOf(tx);
    const transfers = await traces.ofTransaction(tx);
    return [...transfers.map(({ address }) => address), ...(payout === null ? [] : [await payouts.find(payout)])];
  });
  const parts = [part, ...paying.flat(), ...(await addressesNamed(scene, text))].map((one) => one?.sessionId);
  const ids = new Set([parseSessionId(text), ...parts, ...(await traces.sessionsOfOrder(text))]);
  const named = [...ids].flatMap((id) => id ?? []).slice(0, SESSIONS_SHOWN_MAX);
  const sessions = (await mapInOrder(named, (id) => own.find(id))).flatMap((one) => one ?? []);
  return mapInOrder(sessions, async (session) => ({
    kind: 'session',
    json: await paymentSession(session, scene, { scopes: ['sessions:read'] }),
    findings: await sessionFindings(scene, session),
  }));
};

/** Returns a session with all that depends on it. */
async function sessionFindings(scene: Scene, session: Session): Promise<Finding[]> {
  const { id, request, storeId, mode, life, createdAtS } = session;
  const { database } = scene;
  const traced = await database.traces.ofSession(id);
  const held = await database.held.list({ sessionId: id, limit: HELD_MAX });
  return [
    ok(
      'session',
      `${id}, order ${request.orderId}, store ${storeId} (${mode}), created ${at(createdAtS * 1000)}: ${life.status}`,
    ),
    ...networkFindings(scene, session),
    ...(await mapInOrder(traced, (transfer) => transferFindings(scene, transfer, session))).flat(),
    creditOf(session, traced.length > 0),
    ...held.flatMap(heldFinding),
    ...(await eventsOf(scene, session)),
    ...(await refundsOf(scene, id)),
  ];
}

/** Networks matter while money may still be found on them: until each was read past the session's time. */
function networkFindings({ places, nowMs }: Scene, session: Session): Finding[] {
  const { life, options, terms } = session;
  if (life.status === 'paid') return [];
  return [...new Set(options.map(({ networkKey }) => networkKey))].flatMap((key) => {
    const place = places.get(key);
    if (!place) return [];
    const isRead = (place.report?.readThroughS ?? 0) > terms.expiresAtS + terms.topUpGraceS;
    return [
      ...(life.status === 'pending' || !isRead ? [networkFinding(place, nowMs)] : []),
      ...gapFindings(place, terms.beforeNumbers[key] ?? -1),
    ];
  });
}

/** Returns what the money adds up to, and what the session's status follows from. */
function creditOf(session: Session, isAnyKnown: boolean): Finding {
  const { life, terms, standing } = session;
  const coming = standing.seenPar > 0n ? `, and ${parText(standing.seenPar)} is seen` : '';
  const sum = `${parText(standing.confirmedPar)} of ${parText(terms.duePar)} is confirmed${coming}`;
  const endedAt = at((life.endedAtS ?? 0) * 1000);
  switch (life.status) {
    case 'paid':
      return ok('credit', `paid at ${at((life.paidAtS ?? 0) * 1000)}${life.paidLate ? ', late' : ''}: ${sum}`);
    case 'canceled':
      return ok('credit', `canceled at ${at((life.canceledAtS ?? 0) * 1000)}`);
    case 'expired':
      return ok('credit', `expired at ${endedAt}: nothing came in time`, ASK_FOR_TRANSACTION);
    case 'failed':
      return failure('credit', `failed at ${endedAt} with too little: ${sum}`, 'decide what becomes of what is held');
    default: {
      const untilS = deadline(terms, life, standing);
      const until = untilS === null ? '' : `, until ${at(untilS * 1000)}`;
      if (isAnyKnown) return waiting('credit', `${sum}${until}`);
      return waiting('credit', `nothing was seen yet${until}`, ASK_FOR_TRANSACTION);
    }
  }
}

const ASK_FOR_TRANSACTION = 'a payer who has paid can paste the transaction on the payment page';

function heldFinding(held: HeldMoney): Finding[] {
  if (held.state !== 'open') return [];
  const { id, kind, currency } = held;
  const text = `${parText(openPar(held))} ${currency} is held (${kind}: ${meanings[kind]})`;
  return [finding(kind === 'surplus' ? 'waiting' : 'error', 'credit', text, heldAdvice(id))];
}

/** Returns what became of a transfer. @param session whose address it is; null if nobody's */
export async function transferFindings(
  scene: Scene,
  transfer: TracedTransfer,
  session: Session | null,
): Promise<Finding[]> {
  const { network, currency, units, decimals, tx, block, address } = transfer;
  const to = createAddressFormat(scene.config)(network, address.key);
  const where = `block ${block.number} of ${network} (${at(block.timeS * 1000)})`;
  const amount = `${formatUnits(units, decimals, MINOR_DECIMALS)} ${currency}`;
  return [
    ok('transfer', `${amount} to ${to} in ${where}, transaction ${tx}`),
    await creditedBy(scene, transfer, session, where),
  ];
}

async function creditedBy(scene: Scene, transfer: TracedTransfer, session: Session | null, where: string) {
  const { tx, block, address, dust: isDust } = transfer;
  if (!block.canonical) {
    const isRecent = scene.nowMs - block.timeS * 1000 < MINED_AGAIN_MS;
    const lost = `${where} left the chain in a reorg; the transfer counts again if a later block contains it`;
    const advice = `look in an explorer whether the chain still has ${tx}`;
    return finding(isRecent ? 'waiting' : 'error', 'block', lost, advice);
  }
  if (isDust) {
    const dust = 'below the dust floor: recorded, and counts for nothing';
    if (session === null || session.life.status === 'paid') return note('credit', dust);
    return failure('credit', dust, 'ask the payer to send the amount that is due');
  }
  if (!session || transfer.phase === null) {
    const owner = address.sessionId ? 'it came before the session that has the address' : 'no session has this address';
    const nobodys = `${owner} (${stateOf(address)}), so it pays no order; the ledger has it as unclaimed`;
    return failure(
      'credit',
      nobodys,
      'find out who sent it; it can be swept with the rest: `quayside sweep <network>`',
    );
  }
  return confirmationOf(scene, transfer, session);
}

/** By the newest transfers to the session on the network the policy is chosen. */
async function confirmationOf(scene: Scene, transfer: TracedTransfer, session: Session): Promise<Finding> {
  const { network, block, confirmed, firstConfirmedAtMs, phase } = transfer;
  const late = phase === 'in_time' ? '' : `, ${phase?.replace('_', ' ')}`;
  if (confirmed) return ok('confirmations', `confirmed at ${at(firstConfirmedAtMs ?? 0)}${late}`);
  const place = scene.places.get(network);
  if (!place) {
    const advice = `add ${network} to the settings again; it is credited once the network is followed`;
    return failure('confirmations', `${network} is no longer configured`, advice);
  }
  const store = await scene.database.stores.find(session.storeId);
  const policy = policyFor(place.network, store?.settings.credit ?? '');
  const par = session.payments
    .filter(({ networkKey, state }) => networkKey === network && state !== 'orphaned')
    .reduce((sum, { units, decimals }) => sum + toPar(units, decimals), 0n);
  const tip = place.report?.cursor?.number ?? block.number;
  const floor = place.report?.floor ?? null;
  const missing = lacks(policy, par, block.number, { tip, safe: null, final: floor });
  const isUnfinal = waitsForFinality(policy, par) && (missing.has('finalized') || missing.has('safe'));
  const witness = needsSecondNode(policy, par) ? 'the second node (witness_url)' : 'the node';
  const text = [
    `${Math.max(0, tip - block.number + 1)} of ${usualDepth(policy, par)}${late}`,
    ...(isUnfinal ? [`the network has to make block ${block.number} final, and is final up to ${floor}`] : []),
    ...(missing.size === 0 ? [`${witness} has to confirm it`] : []),
  ].join('; ');
  return waiting('confirmations', text);
}

/** Returns what an address without a session is. */
export const stateOf = ({ isRetired, state }: TracedAddress) => (isRetired ? 'retired' : state);

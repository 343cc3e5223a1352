/** Payments: sessions with the transfers to their addresses; transactions and addresses that no session has. */

import { heldAdvice, heldJson, meanings, parText } from '../../src/acts/held.ts';
import { transactionsNamed } from '../../src/acts/networks.ts';
import { paymentSession } from '../../src/api/session-view.ts';
import { chains } from '../../src/chains/index.ts';
import { openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS } from '../../src/core/money.ts';
import { deadline } from '../../src/core/session.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import type { Session } from '../../src/database/session.ts';
import type { TracedAddress, TracedTransfer } from '../../src/database/transfers.ts';
import { parseSessionId } from '../../src/lib/id.ts';
import { createAddressFormat } from '../../src/payments/destination.ts';
import { type Finding, failure, finding, note, waiting } from '../nodes/finding.ts';
import { moment, notFound } from './command.ts';
import { payoutShown, refundsOf } from './show-money-out.ts';
import { at, type Finder, followedFindings, type Scene, type Shown } from './show-network.ts';
import { deliveriesOf } from './show-webhook.ts';

const HELD_MAX = 10;
/** Sessions that one transaction pays and that are shown. */
const SESSIONS_SHOWN_MAX = 10;
/** A transaction that a reorg took out is usually in another block within this time. */
const MINED_AGAIN_MS = 3_600_000;

/** Returns the deposit addresses of this installation that a text is. */
async function addressesNamed({ database }: Scene, text: string): Promise<readonly TracedAddress[]> {
  const found = await mapInOrder(Object.values(chains), async ({ family, address }) => {
    const key = address.parse(text);
    return key === null ? [] : database.addresses.findKey(family, key);
  });
  return found.flat();
}

/** Finds sessions: by their id, order, address or transaction, or by an event, a delivery or held money of theirs. */
export const findSessions: Finder = async (scene, text) => {
  const { addresses, deliveries, events, held, payouts, sessions: own } = scene.database;
  const [delivery] = await deliveries.list({ id: text, limit: 1 });
  const part = delivery ?? (await events.find(text)) ?? (await held.find(text));
  const paying = await mapInOrder(transactionsNamed(text), async (tx) => {
    const payout = await payouts.ownerOf(tx);
    const transfers = await addresses.transfersIn(tx);
    return [...transfers.map(({ address }) => address), ...(payout === null ? [] : [await payouts.find(payout)])];
  });
  const parts = [part, ...paying.flat(), ...(await addressesNamed(scene, text))].map((one) => one?.sessionId);
  const ids = new Set([parseSessionId(text), ...parts, ...(await own.idsOfOrder(text))]);
  const named = [...ids].flatMap((id) => id ?? []).slice(0, SESSIONS_SHOWN_MAX);
  const sessions = (await mapInOrder(named, (id) => own.find(id))).flatMap((one) => one ?? []);
  return mapInOrder(sessions, (session) => sessionShown(scene, session));
};

/** Returns a session with all that depends on it. */
async function sessionShown(scene: Scene, session: Session): Promise<Shown> {
  const { id, request, storeId: store, mode, life, standing, terms, createdAtS } = session;
  const { database } = scene;
  const traced = await database.addresses.transfersTo({ sessionId: id });
  const open = await database.held.list({ sessionId: id, limit: HELD_MAX });
  const { deliveries, findings: undelivered } = await deliveriesOf(scene, session);
  const refunds = await refundsOf(scene, id);
  const facts = await paymentSession(session, scene, { scopes: ['sessions:read'] });
  const parts = { held: open.map(heldJson), deliveries, refunds: refunds.map(({ json }) => json) };
  return {
    kind: 'session',
    json: { ...facts, ...parts },
    about: {
      id,
      order: request.orderId,
      store,
      mode,
      status: life.status,
      created_at: moment(createdAtS * 1000),
      due: parText(terms.duePar),
      confirmed: parText(standing.confirmedPar),
      seen: parText(standing.seenPar),
      payments: facts.payments,
      ...parts,
    },
    findings: [
      ...unreadNetworks(scene, session),
      ...traced.flatMap((transfer) => transferFindings(scene, transfer, session)),
      ...creditFindings(session, traced.length > 0),
      ...open.flatMap(heldFindings),
      ...undelivered,
      ...refunds.flatMap(({ findings }) => findings),
    ],
  };
}

/** Networks matter while money may still be found on them: until each was read past the session's time. */
function unreadNetworks({ places, nowMs }: Scene, session: Session): Finding[] {
  const { life, options, terms } = session;
  if (life.status === 'paid') return [];
  return [...new Set(options.map(({ networkKey }) => networkKey))].flatMap((key) => {
    const place = places.get(key);
    if (!place) return [];
    const isRead = (place.report?.readThroughS ?? 0) > terms.expiresAtS + terms.topUpGraceS;
    return followedFindings(place, nowMs, terms.beforeNumbers[key] ?? -1, life.status === 'pending' || !isRead);
  });
}

/** Returns what a session waits for, or why it is not paid. */
function creditFindings({ life, terms, standing }: Session, isAnyKnown: boolean): Finding[] {
  const sum = `${parText(standing.confirmedPar)} of ${parText(terms.duePar)} is confirmed`;
  const ask = 'ask a payer who has paid for the transaction, and show that: `quayside show TRANSACTION`';
  if (life.status === 'expired') return [note('credit', 'nothing came in time', ask)];
  if (life.status === 'failed')
    return [failure('credit', `it failed with too little: ${sum}`, 'decide what becomes of what is held')];
  if (life.status !== 'pending') return [];
  const untilS = deadline(terms, life, standing);
  const until = untilS === null ? '' : `, until ${at(untilS * 1000)}`;
  return [isAnyKnown ? waiting('credit', `${sum}${until}`) : waiting('credit', `nothing was seen yet${until}`, ask)];
}

function heldFindings(held: HeldMoney): Finding[] {
  const { id, kind, currency, state } = held;
  if (state !== 'open') return [];
  const text = `${parText(openPar(held))} ${currency} is held (${kind}: ${meanings[kind]})`;
  return [finding(kind === 'surplus' ? 'waiting' : 'error', 'held', text, heldAdvice(id))];
}

/** Returns why a transfer counts for nothing, or not yet. @param session whose address it is; null if nobody's */
function transferFindings(scene: Scene, transfer: TracedTransfer, session: Session | null): Finding[] {
  const { network, currency, units, decimals, tx, block, address, confirmed, phase } = transfer;
  const to = createAddressFormat(scene.config)(network, address.key);
  const amount = `${formatUnits(units, decimals, MINOR_DECIMALS)} ${currency}`;
  const name = `${amount} to ${to} in block ${block.number} of ${network} (${at(block.timeS * 1000)}, transaction ${tx})`;
  if (!block.canonical) {
    const isRecent = scene.nowMs - block.timeS * 1000 < MINED_AGAIN_MS;
    const lost = `${name}: the block left the chain in a reorg; the transfer counts again if a later block contains it`;
    const advice = `look in an explorer whether the chain still has ${tx}`;
    return [finding(isRecent ? 'waiting' : 'error', 'transfer', lost, advice)];
  }
  if (transfer.dust) {
    const dust = `${name} is below the dust floor: recorded, and counts for nothing`;
    if (session === null || session.life.status === 'paid') return [note('transfer', dust)];
    return [failure('transfer', dust, 'ask the payer to send the amount that is due')];
  }
  if (!session || phase === null) {
    const owner = address.sessionId ? 'it came before the session that has the address' : 'no session has this address';
    const nobodys = `${name} pays no order: ${owner} (${stateOf(address)}); the ledger has it as unclaimed`;
    const advice = 'find out who sent it; it can be swept with the rest: `quayside sweep <network>`';
    return [failure('transfer', nobodys, advice)];
  }
  if (confirmed) return [];
  const place = scene.places.get(network);
  if (!place) {
    const advice = `add ${network} to the settings again; it is credited once the network is followed`;
    return [failure('transfer', `${name}: ${network} is no longer configured`, advice)];
  }
  const confirmations = session.payments.find((one) => one.tx === tx && one.state === 'seen')?.confirmations ?? 1;
  const required = session.options.find(
    (one) => one.networkKey === network && one.currency === currency,
  )?.confirmationsRequired;
  const isDeep = confirmations >= (required ?? 0);
  const asks = `the network is final up to block ${place.report?.floor ?? '-'}, and a second node (witness_url) may have to confirm it`;
  return [
    waiting('transfer', `${name} has ${confirmations} of ${required ?? '?'} confirmations${isDeep ? `; ${asks}` : ''}`),
  ];
}

const LOOK = 'Look in an explorer which address it pays, and show that: `quayside show ADDRESS`';

/** Finds a transaction that no session has to do with. @throws Fault permanent `not_found` by its form alone */
export const findTransaction: Finder = async (scene, text) => {
  const names = transactionsNamed(text);
  const found = (await mapInOrder(names, (tx) => transactionShown(scene, tx))).flat();
  if (found.length > 0 || names.length === 0) return found;
  throw notFound(`${text}: no payment to our addresses is known in it. ${LOOK}`);
};

async function transactionShown(scene: Scene, tx: string): Promise<Shown[]> {
  const { addresses, payouts } = scene.database;
  const payoutId = await payouts.ownerOf(tx);
  const payout = payoutId === null ? null : await payouts.find(payoutId);
  if (payout) return [await payoutShown(scene, payout)];
  const findings = (await addresses.transfersIn(tx)).flatMap((one) => transferFindings(scene, one, null));
  return findings.length === 0 ? [] : [{ kind: 'transaction', json: { transaction_hash: tx }, findings }];
}

/** Returns what an address without a session is. */
const stateOf = ({ isRetired, state }: TracedAddress) => (isRetired ? 'retired' : state);

const meaningOf = {
  free: 'no session has it yet; it is watched',
  retired: 'retired: it is watched, and never given to a session',
  spoiled: 'it received money before any session took it; it is watched, and never given out',
  taken: 'taken',
} as const;

/** Finds an address that no session has. @throws Fault permanent `not_found` by its form alone */
export const findAddress: Finder = async (scene, text) => {
  const own = await addressesNamed(scene, text);
  const isAddress = Object.values(chains).some(({ address }) => address.parse(text) !== null);
  if (isAddress && own.length === 0)
    throw notFound(`${text} is none of our deposit addresses. Compare it with the address on the payment page`);
  return mapInOrder([...own], async (one) => {
    const { family, mode, derivationIndex: index } = one;
    const traced = await scene.database.addresses.transfersTo({ id: one.id });
    const findings = traced.flatMap((transfer) => transferFindings(scene, transfer, null));
    return { kind: 'address', json: { address: text, family, mode, index, state: meaningOf[stateOf(one)] }, findings };
  });
};

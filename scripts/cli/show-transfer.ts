/**
 * A transfer to one of our addresses: its block, whose address it is, its confirmations, and what it counts for.
 */
import {
  type CreditPolicy,
  lacks,
  needsSecondNode,
  usualDepth,
  waitsForFinality,
} from '../../src/core/credit-policy.ts';
import { toPar } from '../../src/core/money.ts';
import { policyFor } from '../../src/core/store-credit.ts';
import type { Session } from '../../src/database/session.ts';
import type { TracedTransfer } from '../../src/database/traces.ts';
import { type Link, link } from './show-link.ts';
import { networkLink } from './show-network.ts';
import { addressText, at, parText, type Scene, unitsText } from './show-scene.ts';

/** A transaction that a reorg took out is usually in another block within this time. */
const MINED_AGAIN_MS = 3_600_000;

/** Returns what became of a transfer. @param session whose address it is; null if nobody's */
export async function transferLink(scene: Scene, transfer: TracedTransfer, session: Session | null): Promise<Link> {
  const { network, currency, units, decimals, tx, block } = transfer;
  const text = `${unitsText(units, decimals, currency)} on ${network}, transaction ${tx}`;
  const blockText = `block ${block.number} ${block.hash}, ${at(block.timeS * 1000)}`;
  if (!block.isCanonical) return link('transfer', 'ok', text, null, [lostBlock(scene, transfer, blockText)]);
  const rest = session
    ? [await confirmationLink(scene, transfer, session), creditLink(scene, transfer, session)]
    : [nobodys(transfer)];
  return link('transfer', 'ok', text, null, [link('block', 'ok', blockText), matchLink(scene, transfer), ...rest]);
}

function lostBlock({ nowMs }: Scene, { tx, block }: TracedTransfer, text: string): Link {
  const isRecent = nowMs - block.timeS * 1000 < MINED_AGAIN_MS;
  return link(
    'block',
    isRecent ? 'waiting' : 'broken',
    `${text} left the chain in a reorg; the transfer counts again if a later block contains it`,
    `ask whether the chain still has it: \`quayside show ${tx} --ask-node\``,
  );
}

const matchLink = (scene: Scene, { network, address }: TracedTransfer): Link =>
  link(
    'match',
    'ok',
    `to ${addressText(scene, network, address.key)}, ` +
      (address.sessionId === null ? `our address number ${address.index}` : `the address of ${address.sessionId}`),
  );

const nobodys = ({ isDust, address: { state, isRetired } }: TracedTransfer): Link =>
  isDust
    ? link('credit', 'note', 'below the dust floor: recorded, and counts for nothing')
    : link(
        'credit',
        'broken',
        `no session has this address (it is ${isRetired ? 'retired' : state}), so the money pays no order; the ledger has it as unclaimed`,
        'find out who sent it; it can be swept with the rest: `quayside sweep`',
      );

async function policyOf(
  { database, places }: Scene,
  { network }: TracedTransfer,
  session: Session,
): Promise<CreditPolicy> {
  const place = places.get(network);
  const store = await database.stores.find(session.storeId);
  return place ? policyFor(place.network, store?.settings.credit ?? '') : [];
}

/** What came to the session on the network, by which the policy is chosen; the newest transfers are enough. */
const receivedPar = ({ payments }: Session, { network }: TracedTransfer): bigint =>
  payments
    .filter(({ networkKey, state }) => networkKey === network && state !== 'orphaned')
    .reduce((sum, { units, decimals }) => sum + toPar(units, decimals), 0n);

async function confirmationLink(scene: Scene, transfer: TracedTransfer, session: Session): Promise<Link> {
  const { network, block, isConfirmed, isDust, firstConfirmedAtMs } = transfer;
  const place = scene.places.get(network);
  const tip = place?.report?.cursor?.number ?? block.number;
  const depth = Math.max(0, tip - block.number + 1);
  if (isConfirmed) return link('confirmations', 'ok', `${depth}; confirmed at ${at(firstConfirmedAtMs ?? 0)}`);
  if (isDust) return link('confirmations', 'note', `${depth}; a transfer below the dust floor is never credited`);
  if (!place) {
    const advice = `add ${network} to the settings again; it is credited once the network is followed`;
    return link('confirmations', 'broken', `${network} is no longer configured`, advice);
  }
  const policy = await policyOf(scene, transfer, session);
  const par = receivedPar(session, transfer);
  const floor = place.report?.floor ?? null;
  const missing = lacks(policy, par, block.number, { tip, safe: null, final: floor });
  const parts = [
    `${depth} of ${usualDepth(policy, par)}`,
    ...(waitsForFinality(policy, par) && (missing.has('finalized') || missing.has('safe'))
      ? [`the network has to make block ${block.number} final, and is final up to ${floor}`]
      : []),
    ...(missing.size === 0 && needsSecondNode(policy, par) ? ['the second node (witness_url) has to confirm it'] : []),
    ...(missing.size === 0 && !needsSecondNode(policy, par) ? ['the node has to confirm it once more'] : []),
  ];
  const following = networkLink(place, scene.nowMs);
  if (following.mark === 'broken') {
    return link('confirmations', 'broken', `${parts.join('; ')}. ${following.text}`, following.next);
  }
  return link('confirmations', 'waiting', parts.join('; '));
}

function creditLink({ places }: Scene, transfer: TracedTransfer, { id, terms, life }: Session): Link {
  const { network, currency, isDust, phase, isConfirmed } = transfer;
  const isPaid = life.status === 'paid';
  const held = `\`quayside held list --session ${id}\` shows it; you decide`;
  if (isDust) {
    const floor = places.get(network)?.network.dustFloorPar;
    const text = `below the dust floor${floor === undefined ? '' : ` of ${parText(floor)}`}: recorded, and counts for nothing`;
    return link(
      'credit',
      isPaid ? 'note' : 'broken',
      text,
      isPaid ? null : 'ask the payer to send the amount that is due',
    );
  }
  if (phase === null) {
    const text = 'it came before the session was created, so it pays another order that had this address';
    return link(
      'credit',
      'broken',
      text,
      'look in an older backup for the order; `quayside ledger verify` shows it as unclaimed',
    );
  }
  if (!terms.accepts.includes(currency) && !life.takesAnyToken) {
    const text = `the wrong token: the session takes ${terms.accepts.join(' or ')}, not ${currency}`;
    return link(
      'credit',
      isConfirmed ? 'broken' : 'waiting',
      text,
      isConfirmed ? held : 'it is held once it is confirmed',
    );
  }
  const isLate = phase === 'late' || phase === 'too_late' || life.canceledAtS !== null;
  if (!isPaid && isLate) {
    const why =
      life.canceledAtS === null
        ? `it came after the deadline (${at(terms.expiresAtS * 1000)})`
        : 'the session was canceled';
    if (life.status === 'pending') return link('credit', 'waiting', `${why}; decided when the session ends`);
    const how = isConfirmed ? 'does not count' : 'does not count, and is held once it is confirmed';
    return link('credit', 'broken', `${why}, so it ${how}`, isConfirmed ? held : null);
  }
  const grace = phase === 'top_up' ? ', within the top-up grace' : isLate ? ', late' : '';
  return isConfirmed
    ? link('credit', 'ok', `counts for the session${grace}`)
    : link('credit', 'waiting', `will count once it is confirmed${grace}`);
}

/** A payment: its session, the transfers to its addresses, and the addresses themselves. */
import { paymentSession } from '../../src/api/session-view.ts';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { lacks, needsSecondNode, usualDepth, waitsForFinality } from '../../src/core/credit-policy.ts';
import { openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, toPar } from '../../src/core/money.ts';
import { deadline } from '../../src/core/session.ts';
import { policyFor } from '../../src/core/store-credit.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import type { Session } from '../../src/database/session.ts';
import type { TracedAddress, TracedTransfer } from '../../src/database/traces.ts';
import { optionAddress } from '../../src/payments/option.ts';
import { heldAdvice, meanings } from './held.ts';
import { type Link, link, type Shown } from './show-link.ts';
import { refundLinks } from './show-money-out.ts';
import { gapLinks, networkLink } from './show-network.ts';
import { addressText, at, parText, type Scene, unitsText } from './show-scene.ts';
import { eventLinks } from './show-webhook.ts';
import { listLines } from './table.ts';

const HELD_MAX = 10;
/** A transaction that a reorg took out is usually in another block within this time. */
const MINED_AGAIN_MS = 3_600_000;

/** Shows a session: how it can be paid, and what became of it. */
export async function sessionShown(scene: Scene, session: Session): Promise<Shown> {
  return {
    kind: 'session',
    json: await paymentSession(session, scene, { scopes: ['sessions:read'] }),
    lines: session.life.status === 'pending' ? optionTable(session) : [],
    links: [await sessionLink(scene, session)],
  };
}

const optionTable = (session: Session): string[] =>
  listLines(
    session.options.map((option) => {
      const amount = formatUnits(option.units, option.decimals, MINOR_DECIMALS);
      return { pay_on: option.network, with: option.currency, amount, to: optionAddress(session, option) };
    }),
  );

/** Returns a session with all that depends on it. */
export async function sessionLink(scene: Scene, session: Session): Promise<Link> {
  const { id, request, storeId, mode, life, createdAtS } = session;
  const { database } = scene;
  const traced = await database.traces.ofSession(id);
  const held = await database.held.list({ sessionId: id, limit: HELD_MAX });
  const text = `${id}, order ${request.orderId}, store ${storeId} (${mode}), created ${at(createdAtS * 1000)}: ${life.status}`;
  return link('session', 'ok', text, null, [
    ...networkLinks(scene, session),
    ...(await Promise.all(traced.map((transfer) => transferLink(scene, transfer, session)))),
    creditLink(session, traced.length > 0),
    ...held.flatMap((one) => heldLink(one)),
    ...(await eventLinks(scene, session)),
    ...(await refundLinks(scene, id)),
  ]);
}

/** Networks matter while money may still be found on them: until each was read past the session's time. */
function networkLinks({ places, nowMs }: Scene, session: Session): Link[] {
  const { life, options, terms } = session;
  if (life.status === 'paid') return [];
  return [...new Set(options.map(({ networkKey }) => networkKey))].flatMap((key) => {
    const place = places.get(key);
    if (!place) return [];
    const isRead = (place.report?.readThroughS ?? 0) > terms.expiresAtS + terms.topUpGraceS;
    return [
      ...(life.status === 'pending' || !isRead ? [networkLink(place, nowMs)] : []),
      ...gapLinks(place, terms.beforeNumbers[key] ?? -1),
    ];
  });
}

/** Returns what the money adds up to, and what the session's status follows from. */
function creditLink(session: Session, isAnyKnown: boolean): Link {
  const { id, life, terms, standing } = session;
  const coming = standing.seenPar > 0n ? `, and ${parText(standing.seenPar)} is seen` : '';
  const sum = `${parText(standing.confirmedPar)} of ${parText(terms.duePar)} is confirmed${coming}`;
  const endedAt = at((life.endedAtS ?? 0) * 1000);
  switch (life.status) {
    case 'paid':
      return link('credit', 'ok', `paid at ${at((life.paidAtS ?? 0) * 1000)}${life.paidLate ? ', late' : ''}: ${sum}`);
    case 'canceled':
      return link('credit', 'ok', `canceled at ${at((life.canceledAtS ?? 0) * 1000)}`);
    case 'expired':
      return link('credit', 'ok', `expired at ${endedAt}: nothing came in time`, ASK_FOR_TRANSACTION);
    case 'failed': {
      const advice = `\`quayside held list --session ${id}\` shows what is held; you decide`;
      return link('credit', 'broken', `failed at ${endedAt} with too little: ${sum}`, advice);
    }
    default: {
      const untilS = deadline(terms, life, standing);
      const until = untilS === null ? '' : `, until ${at(untilS * 1000)}`;
      if (isAnyKnown) return link('credit', 'waiting', `${sum}${until}`);
      return link('credit', 'waiting', `nothing was seen yet${until}`, ASK_FOR_TRANSACTION);
    }
  }
}

/** Advice about a transaction that somebody reports and nothing here knows. */
export const ASK_PAYER =
  'look in an explorer which address it pays, and show that: `quayside show ADDRESS`. The payer can paste the transaction ' +
  'on the payment page, which asks the node';

const ASK_FOR_TRANSACTION = 'a payer who has paid can paste the transaction on the payment page';

function heldLink(held: HeldMoney): Link[] {
  if (held.state !== 'open') return [];
  const { id, kind, currency } = held;
  const text = `${parText(openPar(held))} ${currency} is held (${kind}: ${meanings[kind]})`;
  return [link('credit', kind === 'surplus' ? 'waiting' : 'broken', text, heldAdvice(id))];
}

/** Returns what became of a transfer. @param session whose address it is; null if nobody's */
export async function transferLink(scene: Scene, transfer: TracedTransfer, session: Session | null): Promise<Link> {
  const { network, currency, units, decimals, tx, block, address, isDust } = transfer;
  const to = addressText(scene, network, address.key);
  const where = `block ${block.number} of ${network} (${at(block.timeS * 1000)})`;
  const text = `${unitsText(units, decimals, currency)} to ${to} in ${where}, transaction ${tx}`;
  if (!block.isCanonical) {
    const isRecent = scene.nowMs - block.timeS * 1000 < MINED_AGAIN_MS;
    const lost = `${where} left the chain in a reorg; the transfer counts again if a later block contains it`;
    const advice = `look in an explorer whether the chain still has ${tx}`;
    return link('transfer', 'ok', text, null, [link('block', isRecent ? 'waiting' : 'broken', lost, advice)]);
  }
  if (isDust) {
    const isPaid = session === null || session.life.status === 'paid';
    const dust = 'below the dust floor: recorded, and counts for nothing';
    const advice = isPaid ? null : 'ask the payer to send the amount that is due';
    return link('transfer', 'ok', text, null, [link('credit', isPaid ? 'note' : 'broken', dust, advice)]);
  }
  if (!session || transfer.phase === null) {
    const owner = address.sessionId ? 'it came before the session that has the address' : 'no session has this address';
    const nobodys = `${owner} (${stateOf(address)}), so it pays no order; the ledger has it as unclaimed`;
    const advice = 'find out who sent it; it can be swept with the rest: `quayside sweep`';
    return link('transfer', 'ok', text, null, [link('credit', 'broken', nobodys, advice)]);
  }
  return link('transfer', 'ok', text, null, [await confirmationLink(scene, transfer, session)]);
}

/** By the newest transfers to the session on the network the policy is chosen. */
async function confirmationLink(scene: Scene, transfer: TracedTransfer, session: Session): Promise<Link> {
  const { network, block, isConfirmed, firstConfirmedAtMs, phase } = transfer;
  const late = phase === 'in_time' ? '' : `, ${phase?.replace('_', ' ')}`;
  if (isConfirmed) return link('confirmations', 'ok', `confirmed at ${at(firstConfirmedAtMs ?? 0)}${late}`);
  const place = scene.places.get(network);
  if (!place) {
    const advice = `add ${network} to the settings again; it is credited once the network is followed`;
    return link('confirmations', 'broken', `${network} is no longer configured`, advice);
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
  const following = networkLink(place, scene.nowMs);
  return following.mark === 'broken'
    ? link('confirmations', 'broken', `${text}. ${following.text}`, following.next)
    : link('confirmations', 'waiting', text);
}

// ── Addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An address as a family writes it. */
type Named = Readonly<{ family: Family; key: string; text: string }>;

/** Returns the families that have addresses of this form. */
export const namesOf = (text: string): Named[] =>
  Object.values(chains).flatMap(({ family, address }) => {
    const key = address.parse(text);
    return key === null ? [] : [{ family, key, text: address.format(key) }];
  });

/** Returns what is known of an address. */
export async function addressLinks(
  scene: Scene,
  names: readonly Named[],
): Promise<Readonly<{ links: readonly Link[]; isKnown: boolean }>> {
  const links: Link[] = [];
  for (const name of names) {
    for (const own of await scene.database.traces.findAddresses(name.family, name.key))
      links.push(await ownLink(scene, name, own));
    links.push(...(await walletLinks(scene, name)));
  }
  return links.length > 0 ? { links, isKnown: true } : { links: [foreignLink(names)], isKnown: false };
}

/** Returns the link for an address that is not ours. */
const foreignLink = (names: readonly Named[]): Link =>
  link(
    'address',
    'note',
    `${names[0]?.text ?? ''} is none of our deposit addresses or wallets: money sent there does not reach us`,
    'compare with the address on the payment page',
  );

const meaningOf = {
  free: 'no session has it yet; it is watched',
  retired: 'retired: it is watched, and never given to a session',
  spoiled: 'it received money before any session took it; it is watched, and never given out',
  taken: 'taken',
} as const;
const stateOf = ({ isRetired, state }: TracedAddress) => (isRetired ? 'retired' : state);

async function ownLink(scene: Scene, { text }: Named, own: TracedAddress): Promise<Link> {
  const name = `${text}, our ${own.mode} ${own.family} address number ${own.index}`;
  const { database, places } = scene;
  if (own.sessionId !== null) {
    const session = await database.sessions.find(own.sessionId);
    const links = session ? [await sessionLink(scene, session)] : [];
    return link('address', 'ok', `${name}, taken by ${own.sessionId}`, null, links);
  }
  const traced = await database.traces.ofAddress(own.id);
  const transfers = await Promise.all(traced.map((transfer) => transferLink(scene, transfer, null)));
  const onNetworks = [...places.values()].filter(
    ({ network }) => network.family === own.family && network.mode === own.mode,
  );
  const none = link('credit', 'note', 'nothing that came to it is known');
  const empty = traced.length === 0 ? [...onNetworks.map((place) => networkLink(place, scene.nowMs)), none] : [];
  return link('address', 'ok', `${name}: ${meaningOf[stateOf(own)]}`, null, [...transfers, ...empty]);
}

async function walletLinks({ database, config }: Scene, { family, key, text }: Named): Promise<Link[]> {
  const links: Link[] = [];
  for (const network of config.networks.filter((one) => one.family === family)) {
    const wallet = (await database.wallets.listOwn(network.key)).find((one) => one.key === key);
    if (!wallet) continue;
    const what = `${text} is our ${wallet.role} wallet on ${network.key}: what comes to it pays no order`;
    links.push(link('address', 'ok', what));
  }
  return links;
}

/**
 * A session: its facts, and its way from its networks to its refunds.
 */
import { paymentSession } from '../../src/api/session-view.ts';
import { openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS } from '../../src/core/money.ts';
import { deadline, enoughPar } from '../../src/core/session.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import type { Session } from '../../src/database/session.ts';
import { optionAddress } from '../../src/payments/option.ts';
import { moment } from './command.ts';
import { meanings } from './held.ts';
import { type Link, link, type Shown } from './show-link.ts';
import { gapLinks, networkLink, type Place, rereadCommand, sessionRange } from './show-network.ts';
import { refundLinks } from './show-refund.ts';
import { at, parText, type Scene } from './show-scene.ts';
import { transferLink } from './show-transfer.ts';
import { eventLinks } from './show-webhook.ts';
import { table } from './table.ts';

const HELD_MAX = 10;

/** Shows a session: its status, what is due, what was received, how it can be paid, and what became of it. */
export async function sessionShown(scene: Scene, session: Session): Promise<Shown> {
  const { terms, standing, life, request } = session;
  return {
    kind: 'session',
    json: await paymentSession(session, scene, { scopes: ['sessions:read'] }),
    lines: [
      ...table([
        ['session', session.id],
        ['order', request.orderId],
        ['store', `${session.storeId} (${session.mode})`],
        ['status', `${life.status} (funded ${standing.funded}, ${standing.firm})${life.paidLate ? ', paid late' : ''}`],
        ['due', `${parText(terms.duePar)} in ${terms.accepts.join(' or ')}`],
        ['seen', parText(standing.seenPar)],
        ['confirmed', parText(standing.confirmedPar)],
        ...(standing.late ? [['late', parText(standing.latePar)]] : []),
        ['created', moment(session.createdAtS * 1000)],
        ['expires', moment(terms.expiresAtS * 1000)],
        ...(life.endedAtS === null ? [] : [['ended', moment(life.endedAtS * 1000)]]),
      ]),
      '',
      ...table([
        ['PAY ON', 'WITH', 'AMOUNT', 'TO'],
        ...session.options.map((option) => [
          option.network,
          option.currency,
          formatUnits(option.units, option.decimals, MINOR_DECIMALS),
          optionAddress(session, option),
        ]),
      ]),
    ],
    links: [await sessionLink(scene, session)],
  };
}

/** Returns a session with all that depends on it. */
export async function sessionLink(scene: Scene, session: Session): Promise<Link> {
  const { id, request, storeId, mode, life, terms, createdAtS } = session;
  const { database } = scene;
  const traced = await database.traces.ofSession(id);
  const held = await database.held.list({ sessionId: id, limit: HELD_MAX });
  const text = `${id}, order ${request.orderId}, store ${storeId} (${mode}), created ${at(createdAtS * 1000)}: ${life.status}`;
  const due = `${parText(terms.duePar)} in ${terms.accepts.join(' or ')} until ${at(terms.expiresAtS * 1000)}`;
  const transfers = await Promise.all(traced.map((transfer) => transferLink(scene, transfer, session)));
  return link('session', 'ok', `${text}; due ${due}`, null, [
    ...networkLinks(scene, session),
    ...transfers,
    creditLink(scene, session, traced.length > 0),
    ...missedLinks(scene, session, traced.length > 0),
    ...held.flatMap((one) => heldLink(one)),
    ...(await eventLinks(scene, session)),
    ...(await refundLinks(scene, id)),
  ]);
}

const placesOf = ({ places }: Scene, { options }: Session): Place[] =>
  [...new Set(options.map(({ networkKey }) => networkKey))].flatMap((key) => places.get(key) ?? []);

/** Until when its money counts in time; that of an ended session as well. */
const countsUntilS = ({ terms }: Session): number => terms.expiresAtS + terms.topUpGraceS;

/** Networks matter while money may still be found on them: until each was read past the session's time. */
function networkLinks(scene: Scene, session: Session): Link[] {
  if (session.life.status === 'paid') return [];
  return placesOf(scene, session).flatMap((place) => {
    const isRead = (place.report?.readThroughS ?? 0) > countsUntilS(session);
    const isOpen = session.life.status === 'pending';
    const range = sessionRange(session, place);
    return [
      ...(isOpen || !isRead ? [networkLink(place, scene.nowMs)] : []),
      ...gapLinks(place, isRead ? range : { from: range?.from ?? 0, to: Number.POSITIVE_INFINITY }),
    ];
  });
}

/** Returns what the money adds up to, and what the session's status follows from. */
function creditLink(scene: Scene, session: Session, isAnyKnown: boolean): Link {
  const { life, terms, standing } = session;
  const sum = `${parText(standing.confirmedPar)} of ${parText(terms.duePar)} is confirmed`;
  const coming = standing.seenPar > 0n ? `, and ${parText(standing.seenPar)} is seen` : '';
  switch (life.status) {
    case 'paid': {
      const paid = `paid at ${at((life.paidAtS ?? 0) * 1000)}${life.paidLate ? ', late' : ''}: ${sum}${coming}`;
      if (standing.confirmedPar >= enoughPar(terms)) return link('credit', 'ok', paid);
      const advice = 'its transfers show whether their blocks came back; `quayside alarm list` has `payment_reversed`';
      return link('credit', 'broken', `${paid}: a reorg took money away after it was credited`, advice);
    }
    case 'canceled':
      return link('credit', 'ok', `canceled at ${at((life.canceledAtS ?? 0) * 1000)}`);
    case 'expired':
      return link('credit', 'ok', `expired at ${at((life.endedAtS ?? 0) * 1000)}: nothing came in time`);
    case 'failed':
      return link(
        'credit',
        'broken',
        `failed at ${at((life.endedAtS ?? 0) * 1000)} with too little: ${sum}`,
        `\`quayside held list --session ${session.id}\` shows what is held; you decide`,
      );
    default: {
      const untilS = deadline(terms, life, standing);
      const until = untilS === null ? '' : `, until ${at(untilS * 1000)}`;
      const isOver = untilS !== null && untilS * 1000 < scene.nowMs;
      const rest = isOver ? '; its time is over, and it ends once its networks have been read that far' : until;
      return link('credit', 'waiting', isAnyKnown ? `${sum}${coming}${rest}` : `nothing was seen yet${rest}`);
    }
  }
}

/** Where nothing is known of a payment that somebody says was made. */
function missedLinks(scene: Scene, session: Session, isAnyKnown: boolean): Link[] {
  if (isAnyKnown || session.life.status === 'paid') return [];
  const proofs = placesOf(scene, session).flatMap((place) => {
    const range = sessionRange(session, place);
    return range === null ? [] : [rereadCommand(place, range)];
  });
  const text =
    'no transfer to its addresses is known. If the payer has a transaction hash: `quayside show HASH --ask-node`';
  return [link('credit', 'note', text, proofs.length === 0 ? null : `to compare with the nodes: ${proofs.join(', ')}`)];
}

function heldLink(held: HeldMoney): Link[] {
  if (held.state !== 'open') return [];
  const { id, kind, currency } = held;
  const text = `${parText(openPar(held))} ${currency} is held (${kind}: ${meanings[kind]})`;
  const advice = `\`quayside held accept ${id} --reason …\`, or \`quayside held return ${id} --to ADDRESS --reason …\``;
  return [link('credit', kind === 'surplus' ? 'waiting' : 'broken', text, advice)];
}

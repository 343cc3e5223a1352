/**
 * Shows one session.
 * @module
 */
import { paymentSession } from '../../src/api/session-view.ts';
import { heldKinds, openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS } from '../../src/core/money.ts';
import type { Database, Session } from '../../src/database/database.ts';
import { parseSessionId } from '../../src/lib/session-id.ts';
import { optionAddress } from '../../src/payments/option.ts';
import { type Command, moment, notFound } from './command.ts';
import { table } from './table.ts';

/** A session holds one amount of each kind. */
const HELD_MAX = heldKinds.length;

/** Returns the session with an id. @throws Fault permanent `not_found` */
export async function findSession(database: Pick<Database, 'findSession'>, text: string): Promise<Session> {
  const id = parseSessionId(text);
  const session = id && (await database.findSession(id));
  if (session) return session;
  throw notFound(`there is no session ${text}; check the id (cs_ and 26 characters) and the data directory`);
}

export const sessionShow: Command = {
  name: 'session show',
  args: ['id'],
  summary: 'Show a session: its status, what is due, what was received, and how it can be paid.',
  options: {},
  async run(input, { database, config }) {
    const session = await findSession(database, input.args[0] ?? '');
    const held = await database.listHeldMoney({ sessionId: session.id, state: 'open', limit: HELD_MAX });
    const { terms, standing, life, request } = session;
    const value = (par: bigint) => formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS);
    return {
      json: await paymentSession(session, { config, database }, { scopes: ['sessions:read'] }),
      lines: [
        ...table([
          ['session', session.id],
          ['order', request.orderId],
          ['store', `${session.storeId} (${session.mode})`],
          [
            'status',
            `${life.status} (funded ${standing.funded}, ${standing.firm})${life.paidLate ? ', paid late' : ''}`,
          ],
          ['due', `${value(terms.duePar)} in ${terms.accepts.join(' or ')}`],
          ['seen', value(standing.seenPar)],
          ['confirmed', value(standing.confirmedPar)],
          ...(standing.late ? [['late', value(standing.latePar)]] : []),
          ...held.map((one) => [
            'held',
            `${value(openPar(one))} ${one.currency} (${one.kind}): quayside held show ${one.id}`,
          ]),
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
        ...(session.payments.length === 0 ? [] : ['', ...paymentLines(session)]),
      ],
    };
  },
};

/** Returns the session's transfers as a table. */
export function paymentLines({ payments }: Session): string[] {
  const rows = payments.map((payment) => [
    payment.network,
    payment.currency,
    formatUnits(payment.units, payment.decimals, MINOR_DECIMALS),
    payment.state,
    String(payment.confirmations),
    payment.tx,
  ]);
  return table([['PAID ON', 'WITH', 'AMOUNT', 'STATE', 'CONFIRMATIONS', 'TRANSACTION'], ...rows]);
}

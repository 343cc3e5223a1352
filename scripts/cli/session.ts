/**
 * Finds the session that a command names.
 */
import { formatUnits, MINOR_DECIMALS } from '../../src/core/money.ts';
import type { Sessions } from '../../src/database/database.ts';
import type { Session } from '../../src/database/session.ts';
import { parseSessionId } from '../../src/lib/id.ts';
import { notFound } from './command.ts';
import { listLines } from './table.ts';

/** Returns the session with an id. @throws Fault permanent `not_found` */
export async function findSession(sessions: Sessions, text: string): Promise<Session> {
  const id = parseSessionId(text);
  const session = id && (await sessions.find(id));
  if (session) return session;
  throw notFound(`there is no session ${text}; check the id (cs_ and 26 characters) and the data directory`);
}

/** Returns the session's transfers as a table. */
export const paymentTable = ({ payments }: Session): string[] =>
  listLines(
    payments.map(({ network, currency, units, decimals, state, confirmations, tx }) => {
      const amount = formatUnits(units, decimals, MINOR_DECIMALS);
      return { paid_on: network, with: currency, amount, state, confirmations, transaction: tx };
    }),
  );

/**
 * Verifies the ledger against the facts.
 */

import { coinText } from '../../src/chains/coin-text.ts';
import { booksText, ledgerProblems } from '../../src/database/ledger.ts';
import { type Command, operatorAct } from './command.ts';
import { listLines } from './table.ts';

const SHOWN_MAX = 50;

export const ledgerVerify: Command = {
  name: 'ledger verify',
  args: [],
  summary: 'Add up the ledger and compare it with transfers, refunds and payouts; exit code 1 if they differ.',
  options: {},
  async run(input, { database, config, clock }) {
    const report = await database.ledger.verify();
    const { entries, balances } = report;
    const problems = ledgerProblems(report);
    const after = { found: booksText({ entries, problems }) };
    await database.audit.record(operatorAct(ledgerVerify, input, clock), { target: 'ledger', before: null, after });
    return {
      json: {
        balanced: problems.length === 0,
        entries,
        balances: balances.map(({ units, ...one }) => ({ ...one, units: units.toString() })),
        problems,
      },
      lines: [
        ...listLines(
          balances.map(({ network, asset, account, units }) => {
            return { network, account, balance: coinText(config.networks, network, asset, units) };
          }),
        ),
        '',
        `${entries} entries ${problems.length === 0 ? 'add up and match the facts' : 'DO NOT ADD UP:'}`,
        ...problems.slice(0, SHOWN_MAX).map((problem) => `  ${problem}`),
        ...(problems.length > SHOWN_MAX ? [`  and ${problems.length - SHOWN_MAX} more (shown with --json)`] : []),
      ],
      isBad: problems.length > 0,
    };
  },
};

/** Moves the database to PostgreSQL and back. */
import { moveDatabase } from '../../src/app/database-move.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type OfflineCommand, recordAnswer, textOption } from './command.ts';
import { progressBar } from './output.ts';

const SQLITE = 'sqlite';

export const databaseMove: OfflineCommand = {
  name: 'database move',
  summary: 'Move everything to an empty PostgreSQL database, or back to SQLite, and compare every row.',
  options: {
    to: {
      value: 'URL|sqlite',
      help: 'the target, such as postgres://user:password@host:5432/quayside',
      isRequired: true,
    },
    dryRun: {
      help: 'do it on trial beside everything, while Quayside may run, say what was found, and remove it again',
    },
  },
  notes: [
    'Stop Quayside on every machine first. A move that was interrupted goes on where it was.',
    'The database that was left is not opened any more: it says where its data is. PGPASSWORD may have the password.',
    'Exit code 1: what arrived differs, or its ledger does not add up; then the old database stays in use.',
  ],
  async runOffline(input) {
    const config = loadConfig({ env: input.env, cwd: input.cwd });
    const named = textOption(input, 'to');
    const isRehearsal = input.options.dryRun === true;
    const { from, to, tables, ledgerEntries, seconds, problems } = await moveDatabase({
      config,
      isRehearsal,
      to: named === SQLITE ? null : (named ?? ''),
      onProgress: ({ table, done, total }) => input.progress.show(progressBar(table, done, total)),
    });
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const isBad = problems.length > 0;
    const next = [
      named === SQLITE ? 'Unset QUAYSIDE_DATABASE_URL, and start.' : 'Set QUAYSIDE_DATABASE_URL to it, and start.',
      `${from} is not opened any more, and says how everything comes back.`,
    ];
    return recordAnswer(
      { from, to, dry_run: isRehearsal, rows, seconds, tables, ledger_entries: ledgerEntries, problems },
      [
        isBad ? `NOT AS IT WAS; ${from} stays in use.` : 'Counts and SHA-256 of every table agree.',
        ...(isBad || isRehearsal ? [] : next),
      ],
      isBad,
    );
  },
};

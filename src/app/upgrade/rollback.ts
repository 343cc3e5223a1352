/**
 * Takes an upgrade back: the copy of the database from before it returns, for the program that made it.
 * @module
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { permanent } from '../../core/fault.ts';
import type { OperatorAct } from '../../database/audit-log.ts';
import { takeInstanceLock } from '../../database/sqlite/instance-lock.ts';
import { readSchemaVersion } from '../../database/sqlite/migrate.ts';
import { compareWithCopy, type NewSince, putBack } from '../../database/sqlite/put-back.ts';
import { databaseFile } from '../../lib/secret-key.ts';
import { addressMarksFile, openAddressMarks } from '../address-marks.ts';
import { programText, readUpgradeRecord, type Upgrade, updateUpgradeRecord } from './record.ts';

export type RolledBack = Readonly<{
  upgrade: Upgrade;
  since: NewSince;
  /** Where the database is now that was replaced. */
  aside: string;
}>;

/** What the copy lacks that is money, or was promised to somebody. */
const weighty = ({ operatorActs: _, ...money }: NewSince): number =>
  Object.values(money).reduce((sum, rows) => sum + rows, 0);

/**
 * Puts the copy back that was made before the last upgrade, and freezes money out until it was compared with the chain.
 * Marks every address that was given out since, so that no program gives it out again. The replaced database is kept.
 * @param mayLose whether it may lack what happened since
 * @throws Fault permanent `already_running`, `nothing_to_roll_back`, `rollback_would_lose`
 */
export function rollBack({ dataDir }: Pick<Config, 'dataDir'>, act: OperatorAct, mayLose: boolean): RolledBack {
  const release = takeInstanceLock(dataDir);
  try {
    const { upgrade } = readUpgradeRecord(dataDir);
    const file = databaseFile(dataDir);
    // An upgrade that failed before its first migration has changed nothing.
    if (!upgrade || readSchemaVersion(file) === upgrade.schema) throw nothingToRollBack(dataDir, null);
    if (!existsSync(upgrade.copy)) throw nothingToRollBack(dataDir, upgrade);
    const { since, given } = compareWithCopy(file, upgrade.copy);
    if (!mayLose && weighty(since) > 0) throw wouldLose(since);
    const marks = openAddressMarks(addressMarksFile(dataDir));
    marks.cover(given.flatMap(({ through, ...pool }) => (through === 0 ? [] : [{ ...pool, index: through - 1 }])));
    marks.close();
    const aside = join(
      dataDir,
      'backups',
      `quayside-rolled-back-${new Date(act.atMs).toISOString().replace(/[-:.]/g, '')}.db`,
    );
    const copied = new Date(upgrade.at_ms).toISOString();
    const reason = `the database of ${copied} was put back: compare refunds and sweeps since then with the chain first`;
    putBack(file, upgrade.copy, aside, { reason, frozenBy: act.operator, sinceMs: act.atMs });
    updateUpgradeRecord(dataDir, {
      program: upgrade.from,
      upgrade: null,
      proved_build: upgrade.from?.build ?? null,
      rolled_back: { build: upgrade.to.build, at_ms: act.atMs },
    });
    return { upgrade, since, aside };
  } finally {
    release();
  }
}

/** Returns what a copy lacks, as people read it. */
export function sinceText(since: NewSince): string {
  const names: Readonly<Record<keyof NewSince, string>> = {
    sessions: 'sessions',
    transfers: 'payments that were seen',
    refunds: 'refunds',
    payouts: 'payouts',
    payoutAttempts: 'signatures for payouts',
    ledgerEntries: 'entries of the ledger',
    operatorActs: 'changes by operators',
  };
  const found = (Object.keys(names) as (keyof NewSince)[]).filter((name) => since[name] > 0);
  return found.map((name) => `${since[name]} ${names[name]}`).join(', ') || 'nothing';
}

const nothingToRollBack = (dataDir: string, upgrade: Upgrade | null) =>
  permanent(
    'nothing_to_roll_back',
    upgrade
      ? `the copy ${upgrade.copy} is not there any more. Restore a backup: \`quayside restore\``
      : `no upgrade of ${dataDir} changed its database since the last rollback: start the earlier program as it is`,
  );

const wouldLose = (since: NewSince) =>
  permanent(
    'rollback_would_lose',
    `since the upgrade there were ${sinceText(since)}. The copy has none of them: orders would have to be compared with ` +
      'your shop, and payments to addresses that were given since are found again without their order. If that is still ' +
      'better, run it again with --despite-payments; the database that is replaced is kept',
  );

/** Returns what to do next, one step a line. */
export function stepsAfter({ upgrade, since }: RolledBack): string[] {
  const program = upgrade.from
    ? `Start the earlier program: version ${programText(upgrade.from)} (schema ${upgrade.schema}).`
    : `Start the earlier program, whose newest migration is number ${upgrade.schema}.`;
  const money = weighty(since) > 0;
  return [
    program,
    'Wait until `quayside status` shows every network as following: blocks since the upgrade are read again.',
    ...(money ? ['Run `quayside payouts adopt <network>` for each network that pays out.'] : []),
    ...(money
      ? ['Look at `quayside payouts outgoing` and `quayside alarms list`, and at the orders in your shop.']
      : []),
    'quayside payouts thaw',
  ];
}

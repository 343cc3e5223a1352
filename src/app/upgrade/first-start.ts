/**
 * The first start of a new program on existing data: a test payment comes before anything is changed.
 * @module
 */
import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { permanent } from '../../core/fault.ts';
import { currentVersion, readSchemaVersion } from '../../database/sqlite/migrate.ts';
import { databaseFile } from '../../lib/secret-key.ts';
import { type Program, programText, readUpgradeRecord, thisProgram, updateUpgradeRecord } from './record.ts';
import { runTestPayment } from './test-payment.ts';

type Parts = Readonly<{ env: NodeJS.ProcessEnv; say(lines: readonly string[]): void; signal: AbortSignal }>;

/**
 * Runs a test payment if another program ran here before. Changes none of the installation's data.
 * @throws Fault permanent `upgrade_unproved`, `version_rolled_back`
 */
export async function proveNewProgram(config: Config, { env, say, signal }: Parts): Promise<void> {
  const { dataDir, upgrade, sandbox } = config;
  const file = databaseFile(dataDir);
  if (!existsSync(file)) return;
  const record = readUpgradeRecord(dataDir);
  const now = thisProgram();
  if (now.build !== null && record.rolled_back?.build === now.build && record.proved_build !== now.build) {
    throw rolledBackVersion(now, record.program, record.rolled_back.at_ms);
  }
  const isOther = record.program ? record.program.build !== now.build : readSchemaVersion(file) < currentVersion();
  // A sandbox is itself what would be tried, and developers change their sources all day.
  if (!isOther || sandbox || now.build === null || record.proved_build === now.build || !upgrade.testPayment) return;
  say(['This version starts here for the first time. First, a test payment in a sandbox of its own …']);
  const { why, ms } = await runTestPayment(dataDir, env, { signal });
  if (signal.aborted) return;
  if (why !== null) throw unproved(why, record.program);
  say([`The test payment arrived and its webhook was verified (${(ms / 1000).toFixed(1)} s).`]);
  updateUpgradeRecord(dataDir, { proved_build: now.build });
}

const unproved = (why: string, earlier: Program | null) =>
  permanent(
    'upgrade_unproved',
    `the test payment of this version failed: ${why}\nNothing was changed: the data is as the earlier version left it. ` +
      `Start that again${earlier ? ` (${programText(earlier)})` : ''}, and report this; \`quayside upgrade --check\` tries it ` +
      'again beside it. If the reason is this machine’s and not the program’s, set `upgrade.test_payment` to false',
  );

const rolledBackVersion = (now: Program, earlier: Program | null, atMs: number) =>
  permanent(
    'version_rolled_back',
    `version ${programText(now)} was rolled back on ${new Date(atMs).toISOString()}. Start the earlier one` +
      `${earlier ? ` (${programText(earlier)})` : ''}; to try this version once more, run \`quayside upgrade --check\` first`,
  );

/**
 * Looks at what an upgrade to this version would do, and takes one back.
 * @module
 */
import { existsSync } from 'node:fs';
import { readRoom } from '../../src/app/disk-room.ts';
import { programText, readUpgradeRecord, thisProgram, updateUpgradeRecord } from '../../src/app/upgrade/record.ts';
import { rollBack, sinceText, stepsAfter } from '../../src/app/upgrade/rollback.ts';
import { runTestPayment } from '../../src/app/upgrade/test-payment.ts';
import { tryMigrations } from '../../src/app/upgrade/trial.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { Fault } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { exitCodeOf, type Finding, failure, findingLines, ok, warning, worstOf } from '../nodes/finding.ts';
import { type Answer, becauseOption, type Input, type OfflineCommand, operatorAct, usage } from './command.ts';
import { nodeFindings } from './doctor-node.ts';
import { readPlaces } from './explain-places.ts';
import { mebibytes, openProgressLine } from './progress.ts';

/** Of the database: the copy that stays, and the room that a migration may need. */
const ROOM_FACTOR = 2;

export const upgrade: OfflineCommand = {
  name: 'upgrade',
  args: [],
  summary: 'Try an upgrade to this version on a copy, or take the last one back.',
  options: {
    check: { help: 'try everything on a copy and in a sandbox, while the earlier version goes on; changes nothing' },
    'without-nodes': { help: 'with --check: do not ask the nodes' },
    rollback: { help: 'put the database of before the last upgrade back, for the earlier version' },
    'despite-payments': { help: 'with --rollback: even if sessions, payments or payouts since are lost with it' },
    because: becauseOption,
  },
  notes: [
    'Run --check with the new version and the installation’s QUAYSIDE_CONFIG. Exit codes: 0 ready, 1 warnings, 2 not ready.',
    'Run --rollback with the newer version, once nothing runs. The database that it replaces is kept in `backups`.',
  ],
  async runOffline(input) {
    const { check, rollback } = input.options;
    if (check === rollback) throw usage('name one of --check and --rollback');
    return rollback === true ? takeBack(input) : checkAll(input);
  },
};

function takeBack(input: Input): Answer {
  const config = loadConfig({ env: input.env, cwd: input.cwd, beforeSandbox: true });
  const done = rollBack(config, operatorAct(upgrade, input, systemClock), input.options['despite-payments'] === true);
  const { upgrade: last, since, aside } = done;
  const steps = stepsAfter(done);
  return {
    json: { put_back: last.copy, schema: last.schema, lost: since, kept: aside, payouts_frozen: true, next: steps },
    lines: [
      `put back ${last.copy} (schema ${last.schema}), as it was at ${new Date(last.at_ms).toISOString()}`,
      `since then: ${sinceText(since)}`,
      `the database that it replaced is ${aside}`,
      'Addresses that were given out since stay watched, and nobody gets them again. Money out is frozen. Now:',
      ...steps.map((step, at) => `  ${at + 1}. ${step}`),
    ],
  };
}

async function checkAll(input: Input): Promise<Answer> {
  const progress = openProgressLine(process.stderr);
  try {
    const findings = await examine(input, (text) => progress.show(text));
    progress.end();
    return {
      json: { ready: worstOf(findings) !== 'error', findings },
      lines: findingLines(findings),
      code: exitCodeOf(findings),
    };
  } finally {
    progress.end();
  }
}

async function examine(input: Input, say: (text: string) => void): Promise<Finding[]> {
  const { env, cwd } = input;
  let config: Config;
  try {
    config = loadConfig({ env, cwd });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [failure('settings', error.message, 'correct them: config/README.md of this version, and CHANGELOG.md')];
  }
  if (!existsSync(databaseFile(config.dataDir)))
    return [failure('database', `there is none in ${config.dataDir}`, 'name the installation by QUAYSIDE_CONFIG')];
  const { program } = readUpgradeRecord(config.dataDir);
  const now = thisProgram();
  const from = program ? `from ${programText(program)} ` : '';
  const isSame = program !== null && program.build === now.build && now.build !== null;
  const room = await roomFindings(config);
  const isRoomy = worstOf(room) !== 'error';
  const findings = [
    ok('version', isSame ? `${programText(now)} already runs on these data` : `${from}to ${programText(now)}`),
    ok('settings', `${config.networks.length} networks, data in ${config.dataDir}`),
    ...room,
    ...(isRoomy ? await migrationFindings(config, input, say) : []),
    ...(isRoomy ? await paymentFindings(config, input, say) : []),
  ];
  if (worstOf(findings) !== 'error') updateUpgradeRecord(config.dataDir, { proved_build: now.build });
  return findings;
}

async function roomFindings({ dataDir }: Config): Promise<Finding[]> {
  const { freeBytes, usedBytes } = await readRoom(dataDir);
  const needed = usedBytes * ROOM_FACTOR;
  const text = `${mebibytes(freeBytes)} free in ${dataDir}, an upgrade may need ${mebibytes(needed)}`;
  return freeBytes >= needed ? [ok('disk', text)] : [failure('disk', text, 'make room, or move `data_dir`')];
}

async function migrationFindings(
  config: Config,
  { env, options }: Input,
  say: (text: string) => void,
): Promise<Finding[]> {
  const nodes: Finding[] = [];
  say('trying the migrations on a copy …');
  try {
    const trial = await tryMigrations(config, env, systemClock.nowMs(), async (database) => {
      if (options['without-nodes'] === true) return;
      say('asking the nodes …');
      const places = await readPlaces(database, config.networks);
      const found = await Promise.all([...places.values()].map((place) => nodeFindings(place, systemClock)));
      // A node that fails now fails without an upgrade, too.
      nodes.push(
        ...found.flat().map((one): Finding => (one.severity === 'error' ? { ...one, severity: 'warning' } : one)),
      );
    });
    const { applied, ms, bytes, bytesAfter, problems, from, to } = trial;
    const what =
      applied.length === 0
        ? `schema ${from} is current: nothing to migrate`
        : `${applied.length} (schema ${from} to ${to}) on a copy of ${mebibytes(bytes)}: ${(ms / 1000).toFixed(1)} s, ${mebibytes(bytesAfter)} afterwards`;
    const report = 'do not upgrade, and report this';
    return [
      ok('migrations', what),
      ...(problems.length === 0
        ? [ok('data', 'every table has its rows, and the ledger adds up')]
        : problems.map((problem) => failure('data', problem, report))),
      ...nodes,
    ];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [failure('migrations', error.message, 'nothing was changed; keep the version that runs')];
  }
}

async function paymentFindings(config: Config, { env }: Input, say: (text: string) => void): Promise<Finding[]> {
  if (thisProgram().build === null)
    return [warning('test payment', 'not made: this version is not built', 'run `npm run build`, then this again')];
  say('making a test payment in a sandbox …');
  const { why, ms } = await runTestPayment(config.dataDir, env);
  return why === null
    ? [ok('test payment', `arrived, and its webhook was verified, after ${(ms / 1000).toFixed(1)} s`)]
    : [failure('test payment', why, 'do not upgrade, and report this; nothing was changed')];
}

/**
 * Checks a whole installation: whether it can start, every watch of the running program once, and each node. It says
 * which command or setting helps, and changes nothing.
 */
import { existsSync } from 'node:fs';
import { readPassphrase } from '../../src/app/backup/archive.ts';
import { readBackupReport } from '../../src/app/backup/report.ts';
import { openDatabase } from '../../src/app/open-database.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { checkStandby } from '../../src/app/standby.ts';
import { watchesOf } from '../../src/app/watches/run.ts';
import { watchRules } from '../../src/app/watches/watchdog.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault } from '../../src/core/fault.ts';
import { severityOf } from '../../src/core/notice.ts';
import { checkIntegrity } from '../../src/database/engine/inspection.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { readShipped } from '../../src/lib/installation.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { countOf, exitCodeOf, type Finding, failure, findingLines, ok, warning } from '../nodes/finding.ts';
import type { Input, Installation, OfflineCommand } from './command.ts';
import { checkOnce } from './nodes.ts';
import { readPlaces } from './show-network.ts';
import { withSigner } from './signer-freeze.ts';
import { readRates } from './status.ts';

/** Faults of the ledger that are shown. */
const LEDGER_FAULTS_MAX = 50;
/** Findings about a sound node that are shown; `network check` shows all. */
const named = ['identity', 'version', 'head'];

export const doctor: OfflineCommand = {
  name: 'doctor',
  summary: 'Check the whole installation: what is wrong, and the command for it. Changes nothing.',
  options: { withoutNodes: { help: 'do not ask the nodes' } },
  notes: [
    'Checks version, configuration and database, everything that raises an alarm (`quayside alarm list` has those that ' +
      'are open), backups, the signer and the nodes, compares the whole ledger with transfers, refunds and payouts, and ' +
      'restores the standby’s copy on trial. Exit codes: 0 nothing is wrong, 1 warnings, 2 errors.',
  ],
  async runOffline(input) {
    const findings = await examine(input);
    return {
      json: { findings, errors: countOf(findings, 'error'), warnings: countOf(findings, 'warning') },
      lines: findingLines(findings),
      code: exitCodeOf(findings),
    };
  },
};

/** Checks everything that can be checked: without settings or a database, only what needs neither. */
async function examine(input: Input): Promise<Finding[]> {
  let config: Config | undefined;
  try {
    config = loadConfig(input);
    const { networks, dataDir } = config;
    const keys = networks.map(({ key }) => key).join(', ') || 'no network';
    const found = [versionFinding(), ok('configuration', `${keys}, data in ${dataDir}`), ...databaseFindings(config)];
    if (found.some(({ severity, area }) => severity === 'error' && area === 'database')) return found;
    const database = openDatabase(config, input.env);
    try {
      const installation = { config, database, clock: systemClock };
      // The watch of the standby reads what this finds.
      const { standby: command } = config.backup;
      if (command !== null) await checkStandby({ config, command, env: input.env, clock: systemClock });
      const nodes = input.options.withoutNodes === true ? [] : await nodeFindings(installation);
      input.progress.show('adding up the ledger');
      return [
        ...found,
        ...(await ledgerFindings(installation)),
        ...(await watchFindings(installation)),
        ...backupFindings(config),
        ...(await signerFindings(config)),
        ...nodes,
      ];
    } finally {
      database.close();
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [versionFinding(), failure(config ? 'database' : 'configuration', error.message)];
  }
}

function versionFinding(): Finding {
  const { version } = readShipped<{ version: string }>('package.json');
  return ok('version', `Quayside ${version} on Node ${process.versions.node}`);
}

/** Checks the database as a file. */
function databaseFindings({ dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>): Finding[] {
  // Opening it checks the server.
  if (databaseUrl !== null) return [ok('database', 'on a PostgreSQL server, whose own tools check its files')];
  const file = databaseFile(dataDir);
  if (!existsSync(file))
    return [
      failure(
        'database',
        `${file} does not exist yet`,
        'start Quayside: `systemctl start quayside`, or `npm start` in a clone',
      ),
    ];
  const restore = 'stop Quayside, keep a copy of the file, and restore a backup (docs/operate.md#backups)';
  try {
    const { pages, foreignKeys, version } = checkIntegrity(file);
    const damage = [...pages, ...foreignKeys].map((text) => failure('database', text, restore));
    return damage.length > 0 ? damage : [ok('database', `whole, at version ${version} of the schema`)];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const retry = 'nothing in it is lost: make room if the disk is full, then run `quayside doctor` again';
    return [failure('database', error.message, error.kind === 'transient' ? retry : restore)];
  }
}

/** Adds up the whole ledger and compares it with the facts. */
async function ledgerFindings({ database }: Installation): Promise<Finding[]> {
  const { entries, problems } = await database.ledger.verify();
  if (problems.length === 0) return [ok('ledger', `${entries} entries add up and match the facts`)];
  const stop = 'stop money out with `quayside payout freeze --reason …`, and find out who changed the database';
  return problems.slice(0, LEDGER_FAULTS_MAX).map((text) => failure('ledger', `does not add up: ${text}`, stop));
}

/** Lets every watch look once. A finding that must last before it raises an alarm is shown at once. */
async function watchFindings({ config, database, clock }: Installation): Promise<Finding[]> {
  const running = readServerFile(config.dataDir);
  const sources = (running && (await readRates(running.metrics_url))) ?? [];
  const rates = { status: () => sources, pegs: () => [] };
  const server = running
    ? ok('server', `${running.base_url} (pid ${running.pid})`)
    : failure(
        'server',
        'the server is not running, so there are no sessions and no rates',
        'start it: `systemctl start quayside`, or `npm start` in a clone',
      );
  const looked = watchesOf({ database, config, rates }).map(async ({ what, look }) => {
    const found = await look(clock.nowMs());
    return found.length === 0
      ? [ok(what, 'nothing is wrong')]
      : found.map(({ rule, code = rule, message }) =>
          (severityOf(code) === 'page' ? failure : warning)(what, `${code}: ${message}`, watchRules[rule].advice),
        );
  });
  return [server, ...(await Promise.all(looked)).flat()];
}

/** Checks whether a backup is made tonight. The watch of backups finds the one that failed. */
function backupFindings({ backup: { nightly, scheduled }, databaseUrl, dataDir, networks }: Config): Finding[] {
  if (databaseUrl !== null) return [];
  if (nightly === null || scheduled === null) {
    const next = 'set `backup.nightly`, `backup.folder` and `backup.passphrase_path` (docs/operate.md#backups)';
    return networks.some(({ mode }) => mode === 'live') ? [warning('backups', 'none is made by itself', next)] : [];
  }
  try {
    readPassphrase(scheduled.passphraseFile).fill(0);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [failure('backups', error.message)];
  }
  const { newest, failure: failed } = readBackupReport(dataDir);
  return newest === null && failed === null
    ? [warning('backups', 'none was made and proved yet', '`quayside backup` makes one at once')]
    : [ok('backups', `each night at ${nightly} UTC into ${scheduled.folder}`)];
}

/** Asks the signer itself, which answers only when it is unlocked, and alone knows whether it is frozen. */
async function signerFindings({ signer }: Config): Promise<Finding[]> {
  if (!signer) return [ok('signer', 'none is configured: this installation only receives money')];
  try {
    const { freeze } = await withSigner(signer.dir, (one) => one.freezeState());
    const thaw = '`quayside-signer thaw --help` shows how an approver ends that';
    return [
      freeze ? failure('signer', `frozen by ${freeze.frozenBy}: ${freeze.reason}`, thaw) : ok('signer', 'unlocked'),
    ];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [failure('signer', error.message, 'look for `signer` in the log')];
  }
}

/** Checks the node of each network, its second node and its fallback. */
async function nodeFindings({ config, database }: Installation): Promise<Finding[]> {
  const places = [...(await readPlaces(database, config.networks)).values()];
  const checked = places.flatMap(({ network: own, report }) => {
    const { finalityUrl: _, rpcUrl: __, ...rest } = own;
    const others = [own.witnessUrl, own.fallbackUrl].flatMap((url) => (url ? { ...rest, url } : []));
    return [own, ...others].map(async (network: NetworkConfig) => {
      // As far back as the indexer has yet to read, or a reorg may reach.
      const oldestOf = ({ number }: Readonly<{ number: number }>) =>
        Math.max(0, Math.min(number, report?.tipNumber ?? number) - network.reorgDepthMax);
      const found = await checkOnce(network, 0, oldestOf);
      const name = `${network.key}: ${new URL(network.url).host}`;
      const wrong = found.filter(({ severity }) => severity !== 'ok');
      if (wrong.length > 0) return wrong.map((one) => ({ ...one, area: 'node', text: `${name}: ${one.text}` }));
      const known = found.flatMap(({ area, text }) => (named.includes(area) ? [text] : []));
      return [ok('node', `${name} is ${known.join(', ')}`)];
    });
  });
  return (await Promise.all(checked)).flat();
}

/**
 * Checks a whole installation, and says in words what is wrong and which command or setting helps. It changes nothing.
 */
import { openDatabase } from '../../src/app/open-database.ts';
import { type Config, loadConfig } from '../../src/config/config.ts';
import { readLayers } from '../../src/config/layers.ts';
import { Fault } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { checkSignerDir, signerFiles } from '../../src/signer/files.ts';
import { countOf, exitCodeOf, type Finding, failure, findingLines, ok } from '../nodes/finding.ts';
import type { Input, OfflineCommand } from './command.ts';
import { installationFindings } from './doctor-installation.ts';
import { databaseFindings, diskFindings, permissionFindings, versionFindings } from './doctor-machine.ts';
import { readPlaces } from './show-network.ts';

export const doctor: OfflineCommand = {
  name: 'doctor',
  args: [],
  summary: 'Check the whole installation: what is wrong, and the command for it. Changes nothing.',
  options: {
    full: { help: 'compare the whole ledger with the facts, which takes minutes with many payments' },
    'without-nodes': { help: 'do not ask the nodes' },
  },
  notes: [
    'Checks configuration, permissions, disk, database, ledger, address pools, signer, nodes, rates, webhooks, payouts,',
    'alarms, compared blocks and version. Exit codes: 0 nothing is wrong, 1 warnings, 2 errors.',
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
export async function examine(input: Pick<Input, 'env' | 'cwd' | 'options'>): Promise<Finding[]> {
  const config = readConfig(input);
  if (config instanceof Fault)
    return [...versionFindings(), failure('configuration', config.message, 'correct it: config/README.md')];
  const files = databaseFindings(config);
  const isUsable = !files.some(({ area, severity }) => area === 'database' && severity === 'error');
  return [
    ...versionFindings(),
    ok('configuration', `${networksText(config.networks)}, data in ${config.dataDir}`),
    ...variableFindings(input),
    ...permissionFindings(config, input.env),
    ...signerFolderFindings(config),
    ...(await diskFindings(config, systemClock.nowMs())),
    ...files,
    ...(isUsable ? await openedFindings(input, config) : []),
  ];
}

/** Returns the names of networks. */
const networksText = (networks: Config['networks']): string =>
  networks.length === 0 ? 'no network' : networks.map(({ key }) => key).join(', ');

/** Before its first start, a sandbox has no nodes yet. */
function readConfig({ env, cwd }: Pick<Input, 'env' | 'cwd'>): Config | Fault {
  try {
    return loadConfig({ env, cwd });
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** What variables set is in no file, and explains why a change of the file has no effect. */
function variableFindings({ env, cwd }: Pick<Input, 'env' | 'cwd'>): Finding[] {
  const set = [...readLayers(env, cwd).origins].map(([path, variable]) => `${path} by ${variable}`);
  return set.length === 0 ? [] : [ok('configuration', `set by variables: ${set.sort().join(', ')}`)];
}

function signerFolderFindings({ signer }: Config): Finding[] {
  if (!signer) return [];
  try {
    checkSignerDir(signer.dir);
    return [ok('permissions', `${signerFiles(signer.dir).dir} is closed to other users`)];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [failure('permissions', error.message)];
  }
}

async function openedFindings({ env, options }: Pick<Input, 'env' | 'options'>, config: Config): Promise<Finding[]> {
  try {
    const database = openDatabase(config, env);
    try {
      const installation = { config, database, clock: systemClock };
      const places = [...(await readPlaces(database, config.networks)).values()];
      // Loads the clients of nodes, which no other command needs.
      const { nodeFindings } = await import('./doctor-node.ts');
      const nodes = options['without-nodes'] ? [] : places.map((place) => nodeFindings(place, systemClock));
      const own = await installationFindings(installation, options.full === true);
      return [...own, ...(await Promise.all(nodes)).flat()];
    } finally {
      database.close();
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [failure('database', error.message)];
  }
}

/**
 * Writes a node's address into the settings, after the node has proved what an indexer needs.
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { isFields } from '../../src/core/fields.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { exitCodeOf, type Finding, findingLines } from '../nodes/finding.ts';
import {
  dryRunOption,
  type Input,
  type OfflineCommand,
  operatorAct,
  reasonOption,
  textOption,
  usage,
} from './command.ts';
import { check, nodeUrl, outageOption } from './node-check.ts';

export const nodeConnect: OfflineCommand = {
  name: 'network connect',
  args: ['network', 'url'],
  summary: 'Check a node, then write its address into the settings.',
  options: {
    fallback: { value: 'URL', help: 'a second node for blocks that the first no longer has (fallback_url)' },
    xpub: { value: 'XPUB', help: 'the xpub of the network, if the settings have none' },
    outage: outageOption,
    'despite-errors': { help: 'write it even if the check finds errors' },
    'dry-run': dryRunOption,
    reason: reasonOption,
  },
  notes: [
    'Changes url and fallback_url of the network in the file that QUAYSIDE_CONFIG names, shows what changes, and keeps a',
    'copy of the old file beside it. Restart Quayside afterwards. Exit codes: 0 written, or nothing to change; 1 refused,',
    'because the check found errors; 2 wrong usage, or settings that would be wrong.',
  ],
  async runOffline(input) {
    const plan = await planChange(input);
    const findings = await checkBoth(input, plan);
    const isRefused = exitCodeOf(findings) === 2 && !input.options['despite-errors'];
    const { changes } = plan;
    const mayWrite = !isRefused && changes.length > 0 && !input.options['dry-run'];
    const backup = mayWrite ? write(plan) : null;
    if (backup !== null) await recordChange(input, plan);
    const outcome = isRefused ? 'refused' : backup ? 'written' : changes.length > 0 ? 'not written' : 'unchanged';
    return {
      json: { network: plan.network.key, outcome, file: plan.file, backup, changes, checks: findings },
      lines: [
        ...findingLines(findings),
        '',
        ...changes.map(changeLine),
        '',
        ...outcomeLines(outcome, plan.file, backup),
      ],
      code: isRefused ? 1 : 0,
    };
  },
};

/** A setting of the network; `before` is null if it was not set. */
type Change = Readonly<{ setting: string; before: unknown; after: string }>;

const changeLine = ({ setting, before, after }: Change): string => `${setting}: ${before ?? 'not set'} → ${after}`;

/** `network` and `old` are its settings after and before; `old` is null if there were none that work. */
type Plan = Readonly<{
  file: string;
  /** The text to write. */
  after: string;
  changes: readonly Change[];
  network: NetworkConfig;
  old: NetworkConfig | null;
}>;

/** @throws Fault permanent `usage`, `config_invalid` */
async function planChange(input: Input): Promise<Plan> {
  const { readNetwork, settingsName } = await import('../nodes/network.ts');
  const { env, cwd } = input;
  const [wanted = '', address = ''] = input.args;
  if (!env.QUAYSIDE_CONFIG) {
    throw usage('there are no settings to change: name your file in QUAYSIDE_CONFIG (docs/networks.md has an example)');
  }
  const file = realpathSync(resolve(cwd, env.QUAYSIDE_CONFIG));
  const name = settingsName(input, wanted);
  const fallback = textOption(input, 'fallback');
  const xpub = textOption(input, 'xpub');
  const url = nodeUrl(address);
  const { text: after, changes } = setInNetwork(readFileSync(file, 'utf8'), name, {
    url,
    ...(fallback !== undefined && { fallback_url: nodeUrl(fallback) }),
    ...(xpub !== undefined && { xpub }),
  });
  const old = withoutFault(() => readNetwork(input, wanted, undefined));
  const network = readChanged(file, after, (draft) => {
    const changed = { env: { ...env, QUAYSIDE_CONFIG: draft }, cwd };
    loadConfig(changed);
    return readNetwork(changed, wanted, undefined);
  });
  if (network.url !== url) throw usage('a QUAYSIDE_NETWORKS__… variable sets the url of this network: change it there');
  return { file, after, changes, network, old };
}

/** Sets values of a network in a settings file, which keeps its indentation. */
function setInNetwork(text: string, name: string, values: Readonly<Record<string, string>>) {
  const settings: unknown = JSON.parse(text);
  const root = isFields(settings) ? settings : {};
  const networks = isFields(root.networks) ? root.networks : {};
  const network = isFields(networks[name]) ? networks[name] : {};
  const changes = Object.entries(values).flatMap(([key, after]): Change[] => {
    const before = network[key] ?? null;
    return before === after ? [] : [{ setting: `networks.${name}.${key}`, before, after }];
  });
  const [, indent = '  '] = /^([ \t]+)"/m.exec(text) ?? [];
  const changed = { ...root, networks: { ...networks, [name]: { ...network, ...values } } };
  return { text: `${JSON.stringify(changed, null, indent)}\n`, changes };
}

function withoutFault<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/** Reads changed settings from a draft beside the file, so that relative paths in it mean the same. */
function readChanged<T>(file: string, text: string, read: (draft: string) => T): T {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, text, { mode: 0o600 });
    return read(draft);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw permanent(
      'config_invalid',
      `nothing was changed: with the node, ${error.message.replaceAll(draft, file)}`,
      error,
    );
  } finally {
    rmSync(draft, { force: true });
  }
}

const draftOf = (file: string): string => `${file}.${process.pid}.draft`;

/** Checks the node, and the fallback alone, at one address. */
async function checkBoth(input: Input, { network }: Plan): Promise<Finding[]> {
  const { finalityUrl: _, rpcUrl: __, fallbackUrl, ...rest } = network;
  const [own, fallback] = await Promise.all([
    check(input, network),
    fallbackUrl === undefined ? [] : check(input, { ...rest, url: fallbackUrl }),
  ]);
  return [...own, ...fallback.map((one) => ({ ...one, area: `fallback ${one.area}` }))];
}

/** Replaces the file, with its owner and mode. @returns the copy of the old one */
function write({ file, after }: Plan): string {
  const { mode, uid, gid } = statSync(file);
  const stamp = new Date(systemClock.nowMs()).toISOString().replaceAll(':', '-').replace(/\..*/, '');
  const backup = `${file}.${stamp}.bak`;
  copyFileSync(file, backup);
  const draft = draftOf(file);
  writeFileSync(draft, after, { mode: 0o600, flush: true });
  chmodSync(draft, mode & 0o777);
  if (process.getuid?.() === 0) {
    for (const path of [draft, backup]) chownSync(path, uid, gid);
  }
  renameSync(draft, file);
  return backup;
}

/** The audit log names hosts only: URLs may hold credentials. Before the first start there is no database yet. */
async function recordChange(input: Input, { network, old }: Plan): Promise<void> {
  const config = loadConfig(input);
  if (!existsSync(databaseFile(config.dataDir))) return;
  const hostOf = (url: string | undefined) => (url === undefined ? null : new URL(url).host);
  const hosts = (one: NetworkConfig) => ({ url: hostOf(one.url), fallbackUrl: hostOf(one.fallbackUrl) });
  const database = openDatabase(config, input.env);
  try {
    const change = { target: network.key, before: old && hosts(old), after: hosts(network) };
    await database.audit.record(operatorAct(nodeConnect, input, systemClock), change);
  } finally {
    database.close();
  }
}

function outcomeLines(outcome: string, file: string, backup: string | null): string[] {
  if (outcome === 'refused') {
    return [`refused: correct what is marked ✗, or add --despite-errors. ${file} stays as it was`];
  }
  if (outcome === 'unchanged') return [`${file} says so already`];
  return outcome === 'written'
    ? [`written to ${file}; the old one is ${backup}. Restart Quayside to use the node`]
    : [`${file} stays as it was (--dry-run)`];
}

/** Changes a network's node in the settings file: the change is planned and tried, and the old file is kept. */
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
import type { OperatorAct } from '../../src/database/audit-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { type Input, usage } from './command.ts';

/** `before` is null if the setting was not set. */
type Change = Readonly<{ setting: string; before: unknown; after: string }>;

/** `text` is to be written; `network` and `old` are its settings after and before, `old` null if none work. */
type Plan = Readonly<{
  file: string;
  text: string;
  change: Change | null;
  network: NetworkConfig;
  old: NetworkConfig | null;
}>;

/** Plans to set the url of the network that is named first. @throws Fault permanent `usage`, `config_invalid` */
export async function planSave(input: Input, url: string): Promise<Plan> {
  const { readNetwork, settingsName } = await import('../nodes/network.ts');
  const { env, cwd } = input;
  const [wanted = ''] = input.args;
  if (!env.QUAYSIDE_CONFIG) {
    throw usage('there are no settings to change: name your file in QUAYSIDE_CONFIG (docs/networks.md has an example)');
  }
  const file = realpathSync(resolve(cwd, env.QUAYSIDE_CONFIG));
  const { text, change } = setUrl(readFileSync(file, 'utf8'), settingsName(input, wanted), url);
  const readOld = (): NetworkConfig | null => {
    try {
      return readNetwork(input, wanted, undefined);
    } catch (error) {
      if (error instanceof Fault) return null;
      throw error;
    }
  };
  const network = readChanged(file, text, (draft) => {
    const changed = { env: { ...env, QUAYSIDE_CONFIG: draft }, cwd };
    loadConfig(changed);
    return readNetwork(changed, wanted, undefined);
  });
  if (network.url !== url) throw usage('a QUAYSIDE_NETWORKS__… variable sets the url of this network: change it there');
  return { file, text, change, network, old: readOld() };
}

/** Sets the url of a network in a settings file, which keeps its indentation. */
function setUrl(text: string, name: string, url: string): Pick<Plan, 'text' | 'change'> {
  const settings: unknown = JSON.parse(text);
  const root = isFields(settings) ? settings : {};
  const networks = isFields(root.networks) ? root.networks : {};
  const network = isFields(networks[name]) ? networks[name] : {};
  const before = network.url ?? null;
  const [, indent = '  '] = /^([ \t]+)"/m.exec(text) ?? [];
  const changed = { ...root, networks: { ...networks, [name]: { ...network, url } } };
  return {
    text: `${JSON.stringify(changed, null, indent)}\n`,
    change: before === url ? null : { setting: `networks.${name}.url`, before, after: url },
  };
}

/** Reads changed settings from a draft beside the file, so that relative paths in it mean the same. */
function readChanged<T>(file: string, text: string, read: (draft: string) => T): T {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, text, { mode: 0o600 });
    return read(draft);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const message = `nothing was changed: with the node, ${error.message.replaceAll(draft, file)}`;
    throw permanent('config_invalid', message, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

const draftOf = (file: string): string => `${file}.${process.pid}.draft`;

/** Replaces the file, with its owner and mode. @returns the copy of the old one */
export function save({ file, text }: Plan): string {
  const { mode, uid, gid } = statSync(file);
  const stamp = new Date(systemClock.nowMs()).toISOString().replaceAll(':', '-').replace(/\..*/, '');
  const backup = `${file}.${stamp}.bak`;
  copyFileSync(file, backup);
  const draft = draftOf(file);
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  chmodSync(draft, mode & 0o777);
  if (process.getuid?.() === 0) {
    for (const path of [draft, backup]) chownSync(path, uid, gid);
  }
  renameSync(draft, file);
  return backup;
}

/** The audit log names hosts only: URLs may hold credentials. Before the first start there is no database yet. */
export async function recordSave(input: Input, { network, old }: Plan, act: OperatorAct): Promise<void> {
  const config = loadConfig(input);
  if (!existsSync(databaseFile(config.dataDir))) return;
  const hosts = ({ url }: NetworkConfig) => ({ url: new URL(url).host });
  const database = openDatabase(config, input.env);
  try {
    await database.audit.record(act, { target: network.key, before: old && hosts(old), after: hosts(network) });
  } finally {
    database.close();
  }
}

/**
 * The unchecked configuration: data files, presets, the operator's file and environment variables, merged.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isFields } from '../core/fields.ts';
import { installationFolder } from '../lib/installation.ts';
import { configInvalid } from './check.ts';
import type { Tree } from './setting.ts';
import { applyVariables } from './variables.ts';

export type Layers = Readonly<{
  tree: Tree;
  /** The environment variable that set the value at a path (such as `networks.bsc.url`), for error messages. */
  origins: ReadonlyMap<string, string>;
  presets: readonly string[];
  /** The settings of a preset; empty for a name that is none. */
  preset(name: string): Tree;
}>;

const shipped = join(installationFolder, 'config');

/**
 * Merges the layers, lowest first: `config/default.json`, the named presets, the operator's file (`QUAYSIDE_CONFIG`;
 * without it `config/sandbox.json`), `QUAYSIDE_*` variables (`variables.ts`). Checks only that files can be read.
 * Relative paths are resolved from the file that holds them, or from `cwd` in a variable.
 * @throws Fault permanent `config_invalid`
 */
export function readLayers(env: NodeJS.ProcessEnv, cwd: string): Layers {
  const problems: string[] = [];
  const read = (file: string): Tree => {
    try {
      const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
      if (!isFields(value)) throw new Error('it does not hold a JSON object');
      return typeof value.data_dir === 'string'
        ? { ...value, data_dir: resolve(dirname(file), value.data_dir) }
        : value;
    } catch (error) {
      problems.push(`${file}: cannot be read as configuration: ${error instanceof Error ? error.message : error}`);
      return {};
    }
  };

  const presets = readdirSync(join(shipped, 'networks')).map((file) => basename(file, '.json'));
  const preset = (name: string): Tree =>
    presets.includes(name) ? read(join(shipped, 'networks', `${name}.json`)) : {};
  const operatorFile = env.QUAYSIDE_CONFIG ? resolve(cwd, env.QUAYSIDE_CONFIG) : join(shipped, 'sandbox.json');
  const tree = merge(read(join(shipped, 'default.json')), read(operatorFile));
  if (isFields(tree.networks)) {
    const networks: Tree = tree.networks;
    for (const [name, given] of Object.entries(networks)) networks[name] = merge(preset(name), given);
  }

  const { origins, problems: unset } = applyVariables(tree, env, cwd, { names: presets, read: preset });
  const unusable = [...problems, ...unset].map((text) => ({ path: '', text }));
  if (unusable.length > 0) throw configInvalid(unusable, origins);
  return { tree, origins, presets, preset };
}

/** Merges `above` into `below`. Objects merge. Lists replace lists. */
function merge(below: Tree, above: unknown): Tree {
  if (!isFields(above)) return above as Tree;
  const merged: Tree = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const base = below[key];
    merged[key] = isFields(value) && isFields(base) ? merge(base, value) : value;
  }
  return merged;
}

/**
 * Reads what the sandbox wrote at its last start: its account key and where its nodes listen. Empty before its first
 * start; a file that is not readable is the sandbox's own to report.
 */
export function readSandbox(dataDir: string): Tree {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8'));
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

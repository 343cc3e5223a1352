/**
 * Every setting as people are shown it: its value, where it comes from, and what to write to change it. Secrets are
 * only said to be set.
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import { isFields } from '../core/fields.ts';
import { type Layers, readLayers } from './layers.ts';
import { generalNames, type NamedSetting, networkNames, variableOf } from './setting-names.ts';
import { pathText, type Tree } from './setting-path.ts';
import { type UnusedPreset, unusedPresets } from './unused-presets.ts';
import { fileVariableOf } from './variables.ts';

/** What says what a setting is. `sandbox`: the simulated chains' own file. */
export type SettingOrigin =
  | Readonly<{ kind: 'variable'; name: string }>
  | Readonly<{ kind: 'file' | 'preset' | 'default' | 'sandbox' }>;

export type ShownSetting = Readonly<{
  /** `limits.pool_target` */
  path: string;
  /** `limits`, or `networks.ethereum`; empty for a setting that is in no group. */
  group: string;
  /** As JSON; null if nothing says what it is, and of what may be a secret. */
  value: string | null;
  isSecret: boolean;
  isSet: boolean;
  origin: SettingOrigin;
  /** What it may be, in words; empty where the value itself shows it. */
  expected: string;
  /** What changes it: a member of the JSON object at `into` in the operator's file; empty: of the file's outermost. */
  line: string;
  into: string;
  /** The environment variable that names a file with the value. */
  fileVariable: string;
}>;

/** `isShipped`: the file is the sandbox's, which comes with Quayside: an upgrade replaces it. */
export type ShownSettings = Readonly<{
  file: string;
  isShipped: boolean;
  settings: readonly ShownSetting[];
  /** Networks that could be added. */
  unused: readonly UnusedPreset[];
}>;

/**
 * Returns every setting, as the files and variables are now: the general ones, then those of each network.
 * @param from as for `loadConfig`
 */
export function readShownSettings(from: Readonly<{ env: NodeJS.ProcessEnv; cwd: string }>): ShownSettings {
  const layers = readLayers(from.env, from.cwd);
  const { file } = layers;
  const networks = isFields(layers.tree.networks) ? Object.entries(layers.tree.networks) : [];
  const own = networks.map(([name, entry]) => [name, isFields(entry) ? { name, sandbox: false, ...entry } : entry]);
  const tree: Tree = { ...layers.tree, networks: Object.fromEntries(own) };
  const names = [
    ...generalNames(),
    ...networks.flatMap(([name, entry]) => {
      const family = isFields(entry) ? chains[entry.family as Family] : undefined;
      return networkNames(name, family?.address.checkXpub !== null);
    }),
  ];
  const groups = new Set(names.map(({ path }) => path.slice(0, -1).join('.')));
  const settings = names.flatMap((named) => {
    const { path } = named;
    const value = valueAt(tree, path);
    const isGroup = groups.has(path.join('.'));
    // A group is shown setting by setting, and one that is null or left out by its own name.
    if (isGroup && (isFields(value) || named.fallback !== undefined)) return [];
    if (path.length > 1 && !isInGroup(tree, names, path)) return [];
    return [shown({ ...layers, tree }, named, value)];
  });
  return { file, isShipped: !from.env.QUAYSIDE_CONFIG, settings, unused: unusedPresets(layers) };
}

/** Whether the group that the setting belongs to is there, or has defaults. */
function isInGroup(tree: Tree, names: readonly NamedSetting[], path: readonly string[]): boolean {
  const group = path.slice(0, -1);
  if (isFields(valueAt(tree, group))) return true;
  return names.some((one) => one.path.join('.') === group.join('.') && one.fallback !== undefined);
}

/** Text is written in quotes; anything else is left to be filled in. */
const placeholderOf = (expected: string): string =>
  expected === '' || /^(a whole number|true or false|a list)/.test(expected) ? '…' : '"…"';

/** Returns the line of a setting that says nothing, with what it follows from the others. */
export const lineWith = ({ line }: Pick<ShownSetting, 'line'>, value: string | number): string =>
  line.replace(/"?…"?/, () => JSON.stringify(value));

function shown(layers: Layers, { path, about, fallback }: NamedSetting, given: unknown): ShownSetting {
  const { isSecret, expected } = about;
  const origin = originOf(layers, path, given);
  const value = given ?? fallback;
  const isSet = origin.kind === 'sandbox' || (value !== undefined && value !== null);
  const text = value === undefined || isSecret ? null : JSON.stringify(value);
  const written = text === null || text === 'null' ? placeholderOf(expected) : text;
  const into = deepestGroup(layers.own, path);
  const member = path.slice(into.length).reduceRight(
    (inner, key, at) => {
      const pair = `${JSON.stringify(key)}: ${inner}`;
      return at === 0 ? pair : `{ ${pair} }`;
    },
    isSecret ? '"…"' : written,
  );
  return {
    path: pathText(path),
    group: pathText(path.slice(0, Math.min(path.length - 1, path[0] === 'networks' ? 2 : 1))),
    value: text,
    isSecret,
    isSet,
    origin,
    expected,
    line: member,
    into: pathText(into),
    fileVariable: fileVariableOf(variableOf(path)),
  };
}

function originOf({ origins, own, tree }: Layers, path: readonly string[], value: unknown): SettingOrigin {
  for (let depth = path.length; depth > 0; depth--) {
    const name = origins.get(pathText(path.slice(0, depth)));
    if (name !== undefined) return { kind: 'variable', name };
  }
  // What a variable set inside of a list or a table.
  const inside = [...origins].find(
    ([one]) => one.startsWith(`${pathText(path)}.`) || one.startsWith(`${pathText(path)}[`),
  );
  if (inside) return { kind: 'variable', name: inside[1] };
  if (valueAt(own, path) !== undefined) return { kind: 'file' };
  const network = path[0] === 'networks' ? valueAt(tree, path.slice(0, 2)) : undefined;
  if (value === undefined) {
    const isSimulated = isFields(network) && network.sandbox === true;
    return { kind: isSimulated && ['url', 'xpub'].includes(path[2] ?? '') ? 'sandbox' : 'default' };
  }
  return { kind: network === undefined ? 'default' : 'preset' };
}

function valueAt(tree: Tree, path: readonly string[]): unknown {
  let at: unknown = tree;
  for (const key of path) at = isFields(at) ? at[key] : undefined;
  return at;
}

/** Returns the path of the innermost object of the file that the setting belongs into. */
function deepestGroup(own: Tree, path: readonly string[]): readonly string[] {
  let depth = path.length - 1;
  while (depth > 0 && !isFields(valueAt(own, path.slice(0, depth)))) depth--;
  return path.slice(0, depth);
}

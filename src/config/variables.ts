/**
 * Settings by environment variables. The name is `QUAYSIDE_` and the path of the setting in capitals, with two
 * underscores between its levels: `QUAYSIDE_NETWORKS__BSC__URL` is `networks.bsc.url`.
 */
import { resolve } from 'node:path';
import { isFields } from '../core/fields.ts';
import { pathText, type Tree } from './setting.ts';

/** The beginning of the names of all variables. */
export const PREFIX = 'QUAYSIDE_';
/** Variables that are not settings: paths of the operator's file and the secret key. */
export const otherVariables: readonly string[] = ['QUAYSIDE_CONFIG', 'QUAYSIDE_SECRET_KEY_FILE'];

type Presets = Readonly<{ names: readonly string[]; read(name: string): Tree }>;

/**
 * Sets what the variables say. A longer path is set after a shorter one, whatever their order.
 * @param cwd folder from which a relative `data_dir` is resolved
 * @returns the variable that set the value at each path, and what is wrong with the variables
 */
export function applyVariables(
  tree: Tree,
  env: NodeJS.ProcessEnv,
  cwd: string,
  presets: Presets,
): Readonly<{ origins: ReadonlyMap<string, string>; problems: readonly string[] }> {
  const origins = new Map<string, string>();
  const problems: string[] = [];
  for (const { name, segments, text } of given(env)) {
    const path = setAt(tree, segments, fromText(text), presets);
    const other = origins.get(path);
    if (other) problems.push(`${path} is set by ${other} and by ${name}: keep one of them`);
    origins.set(path, name);
    if (path === 'data_dir') tree.data_dir = resolve(cwd, text);
  }
  return { origins, problems };
}

function given(env: NodeJS.ProcessEnv) {
  return Object.entries(env)
    .flatMap(([name, text]) => {
      if (!name.startsWith(PREFIX) || otherVariables.includes(name) || text === undefined) return [];
      return [{ name, text, segments: name.slice(PREFIX.length).split('__') }];
    })
    .sort((one, other) => one.segments.length - other.segments.length);
}

/** Sets the value at the path that the segments name, creating missing objects. @returns the path */
function setAt(tree: Tree, segments: readonly string[], value: unknown, presets: Presets): string {
  const path: string[] = [];
  let at: Tree = tree;
  for (const [depth, segment] of segments.entries()) {
    const inNetworks = path.length === 1 && path[0] === 'networks';
    const known = inNetworks ? [...Object.keys(at), ...presets.names] : Object.keys(at);
    const key = matchingKey(segment, known, pathText(path) === 'rates.static');
    path.push(key);
    if (depth === segments.length - 1) at[key] = value;
    else {
      if (!isFields(at[key]) && !Array.isArray(at[key])) at[key] = inNetworks ? presets.read(key) : {};
      at = at[key] as Tree;
    }
  }
  return pathText(path);
}

/** Returns the key that a segment names, ignoring case, with underscores for dashes. Currency codes are upper case. */
function matchingKey(segment: string, keys: readonly string[], holdsCodes: boolean): string {
  const plain = (key: string) => key.toLowerCase().replaceAll('-', '_');
  return (
    keys.find((key) => plain(key) === plain(segment)) ?? (holdsCodes ? segment.toUpperCase() : segment.toLowerCase())
  );
}

/** Parses a value. Lists and objects are JSON; any other text stays text, such as digits or a comma-separated list. */
function fromText(text: string): unknown {
  if (!/^(\s*[[{]|(null|true|false)$)/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the setting's own check reports what is wrong with the text.
    return text;
  }
}

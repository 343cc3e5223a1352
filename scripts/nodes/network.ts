/**
 * Finds the network that a command names, which is a configured one or a preset, with a node from the command line.
 */
import { configInvalid, type Problem } from '../../src/config/check.ts';
import { type Layers, readLayers, readSandbox } from '../../src/config/layers.ts';
import { type NetworkConfig, readNetworks } from '../../src/config/network.ts';
import type { Tree } from '../../src/config/setting.ts';
import { permanent } from '../../src/core/fault.ts';
import { isFields } from '../../src/core/fields.ts';

/**
 * Returns the network of a name (`tron-nile`, as in the configuration and in config/networks) or key (`test:tron`).
 * Nothing is opened or created.
 * @param url the node to look at instead of the configured one
 * @returns with a null xpub if the configuration has none
 * @throws Fault permanent `not_found` if there is no such network, `usage` if it has no node, `config_invalid`
 */
export function readNetwork(
  { env, cwd }: Readonly<{ env: NodeJS.ProcessEnv; cwd: string }>,
  wanted: string,
  url: string | undefined,
): NetworkConfig {
  const layers = readLayers(env, cwd);
  const { tree, origins, presets } = layers;
  const problems: Problem[] = [];
  const [name, settings] = findSettings(layers, wanted);
  const sandbox = readSandbox(String(tree.data_dir));
  const entry = withNode(name, settings, url);
  const [network] = readNetworks(problems, { [name]: entry }, presets, sandbox, true);
  if (!network || problems.length > 0) throw configInvalid(problems, origins);
  return network.config;
}

/** Returns the names of the networks in the settings. @throws Fault permanent `config_invalid` */
export function configuredNames({ env, cwd }: Readonly<{ env: NodeJS.ProcessEnv; cwd: string }>): readonly string[] {
  const { tree } = readLayers(env, cwd);
  return isFields(tree.networks) ? Object.keys(tree.networks) : [];
}

/** Returns the settings of a network by its name or key. @throws Fault permanent `not_found` */
export function findSettings(
  { tree, presets, preset }: Pick<Layers, 'tree' | 'presets' | 'preset'>,
  wanted: string,
): readonly [name: string, settings: Tree] {
  const configured = isFields(tree.networks) ? tree.networks : {};
  for (const [name, settings] of Object.entries(configured)) {
    if (!isFields(settings)) continue;
    if (name === wanted || `${settings.mode}:${settings.name ?? name}` === wanted) return [name, settings];
  }
  if (presets.includes(wanted)) return [wanted, preset(wanted)];
  const known = Object.keys(configured).join(', ') || 'none';
  throw permanent(
    'not_found',
    `"${wanted}" is neither a configured network (${known}) nor a preset (${presets.join(', ')})`,
  );
}

/** Other addresses of the configured node are left out with its url: they are another node's. */
function withNode(name: string, settings: Tree, url: string | undefined): Tree {
  const { rpc_url, solid_url, ...rest } = settings;
  if (url !== undefined) return { ...rest, url, sandbox: false };
  if (settings.sandbox === true || settings.url !== undefined) return settings;
  throw permanent('usage', `the configuration has no url for ${name}: name a node with --url`);
}

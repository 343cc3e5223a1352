/**
 * Networks that Quayside knows and the configuration does not name, with the line that adds each.
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import { isFields } from '../core/fields.ts';
import type { Layers } from './layers.ts';

/** `line`: a member of the JSON object at `into` in the operator's file; empty: of the file's outermost. */
export type UnusedPreset = Readonly<{ name: string; title: string; mode: string; line: string; into: string }>;

/** Returns the presets of real networks that the configuration does not name, live ones first. */
export function unusedPresets({ presets, preset, tree, own }: Layers): readonly UnusedPreset[] {
  const named = isFields(tree.networks) ? tree.networks : {};
  const hasNetworks = isFields(own.networks);
  return presets
    .filter((name) => !Object.hasOwn(named, name) && preset(name).sandbox !== true)
    .map((name) => {
      const { title, mode, family } = preset(name);
      const needsXpub = chains[family as Family].address.checkXpub !== null;
      const entry = `${JSON.stringify(name)}: { "url": "…"${needsXpub ? ', "xpub": "…"' : ''} }`;
      return {
        name,
        title: String(title ?? name),
        mode: String(mode),
        ...(hasNetworks ? { line: entry, into: 'networks' } : { line: `"networks": { ${entry} }`, into: '' }),
      };
    })
    .sort((one, other) => one.mode.localeCompare(other.mode) || one.name.localeCompare(other.name));
}

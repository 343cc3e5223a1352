/**
 * Links to block explorers, as the networks' settings name them. Nothing is asked of an explorer: a person follows the
 * link, or does not.
 */
import type { NetworkConfig } from '../config/network.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { Html } from '../lib/html.ts';
import { onChain } from './show.ts';
import type { Words } from './texts.ts';

/** A hash or an address of a network. */
export type Named = Readonly<{ network: NetworkKey; kind: 'tx' | 'address'; text: string }>;

type Networks = readonly Pick<NetworkConfig, 'key' | 'explorer' | 'addressExplorer'>[];

/** Returns an explorer's page of a transaction or an address; null where no explorer is known. */
export function explorerPage(networks: Networks, { network, kind, text }: Named): string | null {
  const known = networks.find(({ key }) => key === network);
  const page = kind === 'tx' ? known?.explorer : known?.addressExplorer;
  return page === undefined ? null : page.replace(`{${kind}}`, () => encodeURIComponent(text));
}

/** Shows a transaction or an address of a network, with its copy button and its link. */
export const shownOnChain = (
  { config, words }: Readonly<{ config: Readonly<{ networks: Networks }>; words: Words }>,
  named: Named,
  how?: Parameters<typeof onChain>[3],
): Html => onChain(words, named.text, explorerPage(config.networks, named), how);

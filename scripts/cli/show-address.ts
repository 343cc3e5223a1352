/**
 * An address: whether it is ours, and what came to it.
 */
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { TracedAddress } from '../../src/database/traces.ts';
import { type Link, link } from './show-link.ts';
import { gapLinks, lastDay, networkLink, rereadCommand } from './show-network.ts';
import type { Scene } from './show-scene.ts';
import { sessionLink } from './show-session.ts';
import { transferLink } from './show-transfer.ts';

/** An address as a family writes it. */
type Named = Readonly<{ family: Family; key: string; text: string }>;

/** Returns the families that have addresses of this form. */
export const namesOf = (text: string): Named[] =>
  Object.values(chains).flatMap(({ family, address }) => {
    const key = address.parse(text);
    return key === null ? [] : [{ family, key, text: address.format(key) }];
  });

/** Returns what is known of an address; null if it is none of ours. */
export async function addressLinks(scene: Scene, names: readonly Named[]): Promise<Link[]> {
  const links: Link[] = [];
  for (const name of names) {
    for (const own of await scene.database.traces.findAddresses(name.family, name.key)) {
      links.push(await ownLink(scene, name, own));
    }
    links.push(...(await walletLinks(scene, name)));
  }
  return links;
}

/** Returns the link for an address that is not ours. */
export function foreignLink({ config }: Scene, names: readonly Named[]): Link {
  const text = names[0]?.text ?? '';
  const families = [...new Set(names.map(({ family }) => family))].join(' or ');
  const contract = config.networks.flatMap(({ key, tokens }) =>
    tokens.filter(({ address }) => address === text).map(({ symbol }) => `the contract of ${symbol} on ${key}`),
  );
  const what = contract.length > 0 ? contract.join(', ') : `an address of family ${families}`;
  return link(
    'address',
    'note',
    `${text} is ${what}, and none of our deposit addresses or wallets: money sent there does not reach us`,
    'compare with the address on the payment page; `quayside show` has it. If the database was restored from a backup, the address may be newer than it',
  );
}

const meanings = {
  free: 'no session has it yet; it is watched',
  retired: 'retired: it is watched, and never given to a session',
  spoiled: 'it received money before any session took it; it is watched, and never given out',
} as const;

async function ownLink(scene: Scene, { text }: Named, own: TracedAddress): Promise<Link> {
  const name = `${text}, our ${own.mode} ${own.family} address number ${own.index}`;
  if (own.sessionId !== null) {
    const session = await scene.database.sessions.find(own.sessionId);
    const of = session ? [await sessionLink(scene, session)] : [];
    return link('address', 'ok', `${name}, taken by ${own.sessionId}`, null, of);
  }
  const state = own.isRetired ? 'retired' : own.state === 'spoiled' ? 'spoiled' : 'free';
  const traced = await scene.database.traces.ofAddress(own.id);
  const transfers = await Promise.all(traced.map((transfer) => transferLink(scene, transfer, null)));
  return link('address', 'ok', `${name}: ${meanings[state]}`, null, [
    ...transfers,
    ...(traced.length === 0 ? emptyLinks(scene, own) : []),
  ]);
}

/** Nothing is known to have come: the state of its networks, and how to compare with their nodes. */
function emptyLinks({ places, nowMs }: Scene, { family, mode }: TracedAddress): Link[] {
  return [...places.values()]
    .filter(({ network }) => network.family === family && network.mode === mode)
    .flatMap((place) => {
      const range = lastDay(place);
      const proof = range && `to compare the last day with the node: ${rereadCommand(place, range)}`;
      const none = link('credit', 'note', `${place.network.key}: nothing that came to it is known`, proof);
      return [networkLink(place, nowMs), ...gapLinks(place, range), none];
    });
}

async function walletLinks({ database, config }: Scene, { family, key, text }: Named): Promise<Link[]> {
  const links: Link[] = [];
  for (const network of config.networks.filter((one) => one.family === family)) {
    const wallet = (await database.listOwnWallets(network.key)).find((one) => one.key === key);
    if (!wallet) continue;
    const what = `${text} is our ${wallet.role} wallet on ${network.key}, and no deposit address: what comes to it pays no order`;
    links.push(link('address', 'ok', what));
  }
  return links;
}

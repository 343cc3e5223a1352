/** Whether others can reach a node's ports, which only this machine should. */
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { type Finding, failure, ok, warning } from './finding.ts';
import type { NetworkRecipe } from './recipe.ts';

const CONNECT_MS_MAX = 1_000;

/** Returns this machine's addresses besides those that only it has. */
export const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).flatMap(({ address, internal, scopeid }) => (internal || scopeid ? [] : [address])),
  );

/** Whether a URL names the machine itself. */
export function isLocal(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}

/** The port that a URL leads to. */
export const portOf = (url: string): number => {
  const { port, protocol } = new URL(url);
  return port === '' ? (/^(wss|https):$/.test(protocol) ? 443 : 80) : Number(port);
};

const isPublic = (address: string): boolean => ipaddr.process(address).range() === 'unicast';

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.setTimeout(CONNECT_MS_MAX, () => end(false));
  });
}

/**
 * Connects to the ports of a node on this machine from its other addresses. Firewalls on the way to others are not seen
 * from here: what is refused even here is closed for sure.
 * @param addresses this machine's, besides loopback
 */
export async function portFindings(
  url: string,
  recipe: Pick<NetworkRecipe, 'private_ports'> | null,
  addresses: readonly string[],
): Promise<Finding[]> {
  const { host } = new URL(url);
  if (!isLocal(url)) {
    return [
      ok('ports', `${host} is another machine: who reaches its ports is seen only there, by the same check on it`),
    ];
  }
  const ports = [...new Set([portOf(url), ...(recipe?.private_ports ?? [])])];
  const places = addresses.flatMap((address) => ports.map((port) => ({ address, port })));
  const looked = await Promise.all(
    places.map(async (place) => ((await isOpen(place.address, place.port)) ? [place] : [])),
  );
  const open = looked.flat();
  if (open.length === 0)
    return [ok('ports', `ports closed at the ${addresses.length} other addresses of this machine`)];
  const shown = open.map(({ address, port }) => `${address} port ${port}`).join(', ');
  const finding = open.some(({ address }) => isPublic(address)) ? failure : warning;
  return [
    finding(
      'ports',
      `open beyond this machine itself: ${shown}`,
      'let the node listen on 127.0.0.1 only or, where it cannot (java-tron), close these ports with a firewall or publish its container’s ports on 127.0.0.1',
    ),
  ];
}

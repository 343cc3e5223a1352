/**
 * Recognises an endpoint that is behind this installation's own public address: many routers do not lead back what
 * goes out to it (hairpin NAT).
 */
import { isIP } from 'node:net';
import { isPublicAddress } from '../../src/lib/guard.ts';
import { createResolver, type Lookup } from '../../src/lib/resolver.ts';

/**
 * Returns what is wrong in words, or null if the endpoint is elsewhere.
 * @param ownUrls the addresses that people reach this installation by
 */
export async function hairpinVerdict(
  url: string,
  ownUrls: readonly string[],
  lookup: Lookup = createResolver(),
): Promise<string | null> {
  const addressesOf = async (target: string): Promise<string[]> => {
    const host = new URL(target).hostname.replace(/^\[|\]$/g, '');
    if (isIP(host)) return [host];
    // A name that cannot be resolved is its own verdict.
    const found = await lookup(host).catch(() => []);
    return found.map(({ address }) => address);
  };
  const own = new Set((await Promise.all(ownUrls.map(addressesOf))).flat());
  const shared = (await addressesOf(url)).find((address) => own.has(address) && isPublicAddress(address));
  if (shared === undefined) return null;
  const { hostname } = new URL(url);
  return (
    `${hostname} has this installation’s own public address ${shared}, and the router between does not lead back what ` +
    `goes out to it: name the shop’s private address for ${hostname} in the hosts file of this machine, and add that ` +
    'address to webhooks.allow_cidrs'
  );
}

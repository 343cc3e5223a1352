/**
 * Token buckets in memory: each name has a steady rate and a burst.
 */
import ipaddr from 'ipaddr.js';
import { plainAddress } from './address-range.ts';
import type { Clock } from './clock.ts';

export type Limiter = Readonly<{
  /** Takes one token. @returns 0 when there was one, else the whole seconds until the next */
  take(name: string): number;
}>;

/**
 * @param options `burst`: tokens in a full bucket, by default one second's worth; `namesMax`: buckets that are kept.
 * The least recently used one is dropped first, and so is full again.
 */
export function createLimiter(
  options: Readonly<{ perSecond: number; burst?: number; namesMax: number; clock: Pick<Clock, 'nowMs'> }>,
): Limiter {
  const { perSecond, burst = perSecond, namesMax, clock } = options;
  // A Map keeps insertion order: with delete and set at each use, the first bucket is the least recently used.
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  return {
    take(name) {
      const nowMs = clock.nowMs();
      const bucket = buckets.get(name) ?? { tokens: burst, atMs: nowMs };
      buckets.delete(name);
      const oldest = buckets.size >= namesMax ? buckets.keys().next() : undefined;
      if (oldest && !oldest.done) buckets.delete(oldest.value);

      // A clock that was set back must not drain the bucket.
      const elapsedS = Math.max(0, nowMs - bucket.atMs) / 1000;
      const tokens = Math.min(burst, bucket.tokens + elapsedS * perSecond);
      const taken = tokens >= 1;
      buckets.set(name, { tokens: taken ? tokens - 1 : tokens, atMs: nowMs });
      return taken ? 0 : Math.ceil((1 - tokens) / perSecond);
    },
  };
}

/** How many times the rate of one subscriber a whole IPv6 /48 has: 65,536 subscribers share it. */
const SITE_FACTOR = 16;

/**
 * Limits by IP address: each subscriber, and all of an IPv6 /48 together, because one customer may hold a whole /48.
 * There is no bucket for everybody, because one client could empty it for all others.
 * @param options as for `createLimiter`, for one subscriber
 */
export function createAddressLimiter(options: Parameters<typeof createLimiter>[0]): Limiter {
  const { perSecond, burst = perSecond } = options;
  const subscribers = createLimiter(options);
  const sites = createLimiter({ ...options, perSecond: perSecond * SITE_FACTOR, burst: burst * SITE_FACTOR });
  return {
    take(ip) {
      const waitS = subscribers.take(subscriberOf(ip));
      const site = ipv6Prefix(ip, 3);
      // A subscriber that is refused takes nothing from its neighbours.
      return waitS > 0 || site === null ? waitS : sites.take(site);
    },
  };
}

/** Returns so many first groups of an IPv6 address; null for any other address. */
function ipv6Prefix(ip: string, groups: number): string | null {
  if (!ipaddr.isValid(ip)) return null;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, groups).join(':') : null;
}

/** Returns one name for all addresses of a single subscriber: the IPv4 address, or the /64 of an IPv6 address. */
export const subscriberOf = (ip: string): string => ipv6Prefix(ip, 4) ?? plainAddress(ip);

/**
 * Names to addresses: the hosts file first, then DNS by c-ares. The system's own lookup (getaddrinfo) blocks one of a
 * few threads until name servers answer, so that a few dead ones would hold up every other name.
 *
 * Names are taken as they are: search domains of `resolv.conf` are not tried.
 */
import type { RecordWithTtl } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { systemClock } from './clock.ts';

/** Resolves a name to all its addresses. */
export type Lookup = (host: string) => Promise<readonly Readonly<{ address: string; family: number }>[]>;
type Found = Awaited<ReturnType<Lookup>>;

/** How long the first question to a name server waits for its answer. c-ares doubles it with each further try. */
const TIMEOUT_MS = 1_000;
const TRIES = 3;
/** Once one family's addresses are known, those of the other are waited for at most this long. */
const OTHER_FAMILY_MS = 250;
/** Bounds of how long an answer is kept, whatever its time to live. */
const KEPT_MS_MIN = 5_000;
const KEPT_MS_MAX = 60_000;
/** How long a name that cannot be resolved is not asked for again. */
const FAILURE_KEPT_MS = 10_000;
/** Names that are kept, at most; the one that was resolved first goes first. */
const KEPT_MAX = 4_096;

export type ResolverOptions = Readonly<{
  /** `address:port` of name servers. Default: those of the system, as they are when a name is asked for. */
  servers?: readonly string[];
  hostsFile?: string;
  timeoutMs?: number;
  nowMs?: () => number;
}>;

type Kept = Readonly<{ untilMs: number; found: Found } | { untilMs: number; error: unknown }>;

/** Creates a lookup that keeps answers, good and bad, for a bounded time. It rejects with Node's DNS errors. */
export function createResolver(options: ResolverOptions = {}): Lookup {
  const { servers, hostsFile = '/etc/hosts', timeoutMs = TIMEOUT_MS, nowMs = systemClock.nowMs } = options;
  const inHosts = hostsReader(hostsFile);
  const kept = new Map<string, Kept>();

  function keep(name: string, one: Kept): void {
    kept.delete(name);
    kept.set(name, one);
    const [oldest] = kept.keys();
    if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
  }

  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const own = inHosts(name);
    if (own.length > 0) return own.map(toFound);
    // RFC 6761, 6.3: never asked for.
    if (/(^|\.)localhost$/.test(name)) return ['127.0.0.1', '::1'].map(toFound);
    const known = kept.get(name);
    if (known && known.untilMs > nowMs()) {
      if ('error' in known) throw known.error;
      return known.found;
    }
    // One for each name: none waits behind another's, and changes of the system's name servers count at once.
    const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
    if (servers) resolver.setServers(servers);
    try {
      const { found, ttlS } = await ask(resolver, name);
      keep(name, { untilMs: nowMs() + Math.min(Math.max(ttlS * 1000, KEPT_MS_MIN), KEPT_MS_MAX), found });
      return found;
    } catch (error) {
      keep(name, { untilMs: nowMs() + FAILURE_KEPT_MS, error });
      throw error;
    } finally {
      resolver.cancel();
    }
  };
}

const toFound = (address: string) => ({ address, family: isIP(address) });

const none: readonly RecordWithTtl[] = [];

/** Asks for the addresses of both families. One family's are enough. @throws the error of IPv4 if there are none */
async function ask(resolver: Resolver, name: string): Promise<Readonly<{ found: Found; ttlS: number }>> {
  const questions = [resolver.resolve4(name, { ttl: true }), resolver.resolve6(name, { ttl: true })];
  const ended = new AbortController();
  // Never rejects: a family without addresses leaves it to the other one.
  const first = Promise.any(questions).then(
    () => systemClock.sleep(OTHER_FAMILY_MS, ended.signal),
    () => {},
  );
  const settled = await Promise.allSettled(
    questions.map((question) => Promise.race([question, first.then((): typeof none => none)])),
  );
  ended.abort();
  const records = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const [ipv4] = settled;
  if (records.length === 0 && ipv4?.status === 'rejected') throw ipv4.reason;
  return { found: records.map(({ address }) => toFound(address)), ttlS: Math.min(...records.map(({ ttl }) => ttl)) };
}

/** Returns a reader of the hosts file, which is read again when it changes. A file that is missing names nothing. */
function hostsReader(file: string): (name: string) => readonly string[] {
  let readAt = '';
  let names: ReadonlyMap<string, readonly string[]> = new Map();
  return (name) => {
    const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0, size: 0 };
    const state = `${mtimeMs} ${size}`;
    if (state !== readAt) names = size === 0 ? new Map() : parseHosts(readFileSync(file, 'utf8'));
    readAt = state;
    return names.get(name) ?? [];
  };
}

/** Parses a hosts file (man 5 hosts): on each line an address and its names; `#` begins a comment. */
function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...own] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!isIP(address)) continue;
    for (const name of own.map((one) => one.toLowerCase())) names.set(name, [...(names.get(name) ?? []), address]);
  }
  return names;
}

/**
 * Names to addresses: the hosts file first, then DNS by c-ares. The system's own lookup (getaddrinfo) blocks one of a
 * few threads until name servers answer, so that a few dead ones would hold up every other name.
 *
 * Names are taken as they are: search domains of `resolv.conf` are not tried.
 */
import { NODATA } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

/** Resolves a name to all its addresses. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** How long the first question to a name server waits for its answer. c-ares doubles it with each further try. */
const TIMEOUT_MS = 1_000;
const TRIES = 3;

export type ResolverOptions = Readonly<{
  /** `address:port` of name servers. Default: those of the system, as they are when a name is asked for. */
  servers?: readonly string[];
  hostsFile?: string;
  timeoutMs?: number;
}>;

/** Creates a lookup, which rejects with Node's DNS errors. */
export function createResolver(options: ResolverOptions = {}): Lookup {
  const { servers, hostsFile = '/etc/hosts', timeoutMs = TIMEOUT_MS } = options;
  const inHosts = hostsReader(hostsFile);

  /** Asks for IPv6 only where there is no IPv4. */
  async function ask(name: string): Promise<readonly string[]> {
    // One for each question: none waits behind another's, and changes of the system's name servers count at once.
    const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
    if (servers) resolver.setServers(servers);
    try {
      return await resolver.resolve4(name);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === NODATA)) throw error;
      return await resolver.resolve6(name);
    }
  }

  return async (host) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    const own = inHosts(name);
    if (own.length > 0) return own;
    // RFC 6761, 6.3: never asked for.
    if (/(^|\.)localhost$/.test(name)) return ['127.0.0.1', '::1'];
    return ask(name);
  };
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

/**
 * Names to addresses: the hosts file first, then DNS by c-ares. The system's own lookup (getaddrinfo) blocks one of a
 * few threads until name servers answer, so that a few dead ones would hold up every other name.
 *
 * Names are taken as they are: search domains of `resolv.conf` are not tried.
 */
import { NODATA } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { existsSync, readFileSync } from 'node:fs';
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
    const own = inHosts(hostsFile, name);
    if (own.length > 0) return own;
    // RFC 6761, 6.3: never asked for.
    if (/(^|\.)localhost$/.test(name)) return ['127.0.0.1', '::1'];
    return ask(name);
  };
}

/**
 * Returns the addresses of a name in a hosts file (man 5 hosts): on each line an address and its names; `#` begins a
 * comment. A file that is missing names nothing.
 */
function inHosts(file: string, name: string): readonly string[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) && names.includes(name) ? [address] : [];
  });
}

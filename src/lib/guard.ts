/**
 * Which URLs this program may call for a merchant. A merchant names the target, so without a guard they could make the
 * server reach into the operator's own network. Every target is checked when it is saved, and again at each connect, on
 * the very addresses that are connected to, so that a name that changed in between (DNS rebinding) gains nothing.
 */
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { Fault, permanent, transient } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import { isInRanges } from './address-range.ts';
import { aborted } from './clock.ts';
import { createResolver, type Lookup } from './resolver.ts';

const URL_CHARACTERS_MAX = 2048;
const LOOKUP_AT_SAVE_MS_MAX = 5_000;
/** Lower ports, except 80 and 443, belong to well-known services that do not speak HTTP. */
const UNPRIVILEGED_PORT_MIN = 1024;

/** IANA assigns no other IPv6 space to the public Internet; `::127.0.0.1`, for example, is outside of it. */
const publicIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Returns whether an address may be called. */
type Admits = (address: string) => boolean;

export type UrlGuard = Readonly<{
  /**
   * Checks a URL before it is saved. A name that cannot be resolved now is accepted with https: it may come, and
   * each delivery checks it again.
   * @returns a sentence that tells the merchant why the URL cannot be used, or null when it can
   */
  check(url: string, mode: Mode): Promise<string | null>;
  /**
   * Returns undici's connector. It verifies TLS, and refuses with a `Fault` of code `blocked_address` or `dns`.
   * @param timeoutMs limit for name lookup, connection and TLS together
   */
  connector(timeoutMs: number): buildConnector.connector;
}>;

const HTTPS_ONLY = 'The URL must start with https://; plain http is only for hosts that the operator allows.';

/** @param allowCidrs ranges that the operator allows although they are not public, such as `10.0.0.0/8` or `::1/128` */
export function createUrlGuard(allowCidrs: readonly string[], lookup: Lookup = createResolver()): UrlGuard {
  const admitsPlain: Admits = (address) => isInRanges(address, allowCidrs);
  const admitsTls: Admits = (address) => isPublic(ipaddr.process(address)) || admitsPlain(address);
  const admitsFor = (protocol: string) => (protocol === 'https:' ? admitsTls : admitsPlain);
  const resolve = faulting(lookup);

  return {
    async check(url, mode) {
      const target = parseTarget(url, mode);
      if (typeof target === 'string') return target;
      const host = bareHost(target.hostname);
      let addresses: readonly string[] = [host];
      if (!isIP(host)) {
        try {
          addresses = await Promise.race([resolve(host), tooLate()]);
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          return target.protocol === 'https:' ? null : HTTPS_ONLY;
        }
      }
      if (addresses.every(admitsFor(target.protocol))) return null;
      // The message does not name the address: merchants must not learn what the operator's DNS answers.
      return addresses.every(admitsTls)
        ? HTTPS_ONLY
        : `The host ${host} is not on the public Internet. Use a public host, or ask the operator to allow its address.`;
    },

    connector(timeoutMs) {
      const base = (admits: Admits) =>
        buildConnector({
          lookup: guardedLookup(resolve, admits),
          timeout: timeoutMs,
          rejectUnauthorized: true,
          minVersion: 'TLSv1.2',
        });
      const tls = base(admitsTls);
      const plain = base(admitsPlain);
      return (options, callback) => {
        // Node does not look up an address literal, so the guarded lookup alone would let every literal through.
        const host = bareHost(options.hostname);
        if (isIP(host) && !admitsFor(options.protocol)(host)) return callback(blocked(host), null);
        return (options.protocol === 'https:' ? tls : plain)(options, callback);
      };
    },
  };
}

/**
 * Checks the rules that need no network: https (http in test mode), no user information, an allowed port, a limited
 * length. The WHATWG parser has turned every notation of an IPv4 address into the dotted one.
 * @returns the parsed URL, or a sentence that says what is wrong
 */
export function parseTarget(url: string, mode: Mode): URL | string {
  if (url.length > URL_CHARACTERS_MAX) return `The URL is longer than ${URL_CHARACTERS_MAX} characters.`;
  if (!URL.canParse(url)) return 'The URL is malformed. It must look like https://shop.example/webhooks.';
  const target = new URL(url);
  if (target.protocol !== 'https:' && !(target.protocol === 'http:' && mode === 'test')) {
    return 'The URL must start with https://.';
  }
  if (target.username !== '' || target.password !== '') return 'The URL must not contain a user name or a password.';
  const port = Number(target.port);
  if (port !== 0 && port !== 80 && port !== 443 && port < UNPRIVILEGED_PORT_MIN) {
    return `Port ${port} is not allowed for webhooks. Use 443, or a port from ${UNPRIVILEGED_PORT_MIN} up.`;
  }
  return target;
}

/** Returns a lookup that fails unless all addresses are admitted: a private one among public ones is a trap. */
function guardedLookup(resolve: Lookup, admits: Admits): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const bad = addresses.find((address) => !admits(address));
        const [first] = addresses;
        if (bad !== undefined || first === undefined) return callback(blocked(bad ?? host), '');
        if (!options.all) return callback(null, first, isIP(first));
        return callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        );
      },
      (error) => callback(error, ''),
    );
  };
}

/** Returns a lookup that fails with a `Fault` of code `dns`, also for a name without an address. */
const faulting =
  (lookup: Lookup): Lookup =>
  async (host) => {
    const addresses = await lookup(host).catch((error: unknown) => {
      throw transient('dns', `the host name ${host} cannot be resolved`, error);
    });
    if (addresses.length === 0) throw transient('dns', `the host name ${host} has no address`);
    return addresses;
  };

async function tooLate(): Promise<never> {
  await aborted(AbortSignal.timeout(LOOKUP_AT_SAVE_MS_MAX));
  throw transient('dns', `no answer within ${LOOKUP_AT_SAVE_MS_MAX} ms`);
}

/** Returns true for public Internet addresses. IPv6 addresses that embed an IPv4 one (NAT64, 6to4, Teredo) are not. */
const isPublic = (ip: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  ip.range() === 'unicast' && (ip instanceof ipaddr.IPv4 || ip.match(publicIpv6));

/** Returns an IPv6 literal without its brackets; any other host unchanged. */
const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

const blocked = (address: string): Fault =>
  permanent('blocked_address', `${address} may not be called; add it to webhooks.allow_cidrs if you want to allow it`);

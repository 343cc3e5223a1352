/**
 * Ranges of IP addresses in CIDR notation (RFC 4632, RFC 4291), and addresses in them.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The library takes the deprecated IPv4-compatible form (RFC 4291, 2.5.5.1) for IPv4. */
const COMPATIBLE = /^::\d+(\.\d+){3}$/;

/** Returns an address, which is IPv4 if it arrived as IPv4-mapped IPv6; null if the text is none. */
const parse = (ip: string) => (isIP(ip) === 0 || COMPATIBLE.test(ip) ? null : ipaddr.process(ip));

/** Returns an address as people write it; an IPv4 address that arrived as IPv6 is written as IPv4. */
export const plainAddress = (ip: string): string => parse(ip)?.toString() ?? ip;

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** Returns whether an address is of this machine alone. */
export const isLoopback = (ip: string): boolean => isInRanges(ip, LOOPBACK);

/** Returns whether an address is in one of the ranges in CIDR notation. Any other text is in none. */
export function isInRanges(ip: string, ranges: readonly string[]): boolean {
  const address = parse(ip);
  if (!address) return false;
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range);
    return network.kind() === address.kind() && address.match(network, bits);
  });
}

/**
 * Keeps web pages from reading what listens on this machine alone: a site that lets its name resolve to the loopback
 * address (DNS rebinding) sends that name as `Host`.
 */
import type { RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from './address-range.ts';

/** Returns whether a `Host` is one that no web site can have: an address, a name without a dot or below `localhost`. */
export function isOwnName(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname;
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || /^[^.]+$|\.localhost$/.test(name);
}

/**
 * Returns a listener that refuses other names with 421 where it listens on a loopback address. Where it listens for
 * others too, any name may be right.
 */
export function forOwnNames(listenHost: string, answer: RequestListener): RequestListener {
  const isLocal = listenHost === 'localhost' || isLoopback(listenHost);
  if (!isLocal) return answer;
  return (request, response) => {
    if (isOwnName(request.headers.host ?? '')) return answer(request, response);
    response.writeHead(421, { 'content-type': 'text/plain' }).end('ask by the address of this machine\n');
  };
}

/** Names of this machine that no web site can have. */
import { isIP } from 'node:net';

/**
 * Whether a `Host` is an address, or a name without a dot, or below `localhost`. A site that lets its own name resolve
 * to the loopback address (DNS rebinding) sends another.
 */
export function isOwnName(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname;
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || /^[^.]+$|\.localhost$/.test(name);
}

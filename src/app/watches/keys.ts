/**
 * Watches API keys that expire: a shop whose key is refused can take no payments. An expired one is reported until it
 * is revoked.
 */
import type { Keys } from '../../database/database.ts';
import type { Watch } from './watchdog.ts';

/** How long before its end a key is reported. */
const WARNED_MS = 14 * 86_400_000;
/** More are not reported at once. */
const REPORTED_MAX = 20;

export const watchKeys = (keys: Keys): Watch => ({
  what: 'API keys',
  scopes: ['key'],
  async look(nowMs) {
    const expiring = (await keys.list(null)).flatMap(({ expiresAtMs: atMs, revokedAtMs, ...key }) =>
      atMs !== null && revokedAtMs === null && atMs < nowMs + WARNED_MS ? [{ ...key, atMs }] : [],
    );
    const first = expiring.sort((a, b) => a.atMs - b.atMs).slice(0, REPORTED_MAX);
    return first.map(({ id, hint, storeId, atMs }) => {
      const isOver = atMs <= nowMs;
      const end = `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
      const message = `API key ${id} (${hint}) of store ${storeId} ${isOver ? 'is refused since' : 'expires at'} ${end}`;
      return { rule: isOver ? 'api_key_expired' : 'api_key_expiring', subject: id, message };
    });
  },
});

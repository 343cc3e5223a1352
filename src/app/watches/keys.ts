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
    const expiring = await keys.expiring(nowMs + WARNED_MS, REPORTED_MAX);
    return expiring.map(({ id, hint, storeId, expiresAtMs }) => {
      const isOver = expiresAtMs !== null && expiresAtMs <= nowMs;
      const end = `${new Date(expiresAtMs ?? nowMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
      const message = `API key ${id} (${hint}) of store ${storeId} ${isOver ? 'is refused since' : 'expires at'} ${end}`;
      return { rule: isOver ? 'api_key_expired' : 'api_key_expiring', subject: id, message };
    });
  },
});

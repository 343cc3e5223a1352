/** Lists API keys. Each belongs to one store and mode, is shown once, and stays revoked once it is. */
import { keyJson } from '../../src/acts/keys.ts';
import type { ApiKey } from '../../src/database/keys.ts';
import { type Command, moment, textOption } from './command.ts';
import { table } from './table.ts';

export const keyList: Command = {
  name: 'key list',
  args: [],
  summary: 'List API keys, including revoked ones.',
  options: { store: { value: 'ID', help: 'only keys of this store' } },
  async run(input, { database }) {
    const keys = await database.keys.list(textOption(input, 'store') ?? null);
    const rows = keys.map((key) => [
      key.isAltered ? `${key.id} ALTERED` : key.id,
      key.storeId,
      key.hint,
      key.scopes.join(','),
      key.sources.join(',') || 'anywhere',
      moment(key.createdAtMs),
      key.createdBy ?? 'unknown',
      lastUse(key),
      key.expiresAtMs === null ? 'never' : moment(key.expiresAtMs),
      moment(key.revokedAtMs),
    ]);
    const head = ['ID', 'STORE', 'KEY', 'SCOPES', 'FROM', 'CREATED', 'BY', 'LAST USED', 'EXPIRES', 'REVOKED'];
    const altered = keys.filter(({ isAltered }) => isAltered);
    return {
      json: keys.map(keyJson),
      lines: [...table([head, ...rows]), ...altered.map(alteredLine)],
      isBad: altered.length > 0,
    };
  },
};

/** Returns when and from where a key was last used. */
export const lastUse = ({ lastUsedAtMs, lastUsedFrom }: ApiKey): string =>
  lastUsedAtMs === null ? 'never' : `${moment(lastUsedAtMs)} from ${lastUsedFrom ?? 'an unknown address'}`;

/** Says what to do about a key whose row was changed from outside. */
export const alteredLine = ({ id }: ApiKey): string =>
  `ALTERED  ${id}: somebody without the secret key has changed its row, so nothing above can be trusted, and the key is refused. Find out who can write to the database; then run \`quayside key revoke ${id}\` and create another`;

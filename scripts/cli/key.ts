/** Lists API keys. Each belongs to one store and mode, is shown once, and stays revoked once it is. */
import { keyJson } from '../../src/acts/keys.ts';
import type { ApiKey } from '../../src/database/keys.ts';
import { type Command, type Installation, moment, textOption } from './command.ts';
import { link, type Shown } from './show-link.ts';
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

/** Shows an API key: who created it, what it may do, from where and until when, and its last use. */
export async function keyShown({ database }: Pick<Installation, 'database'>, id: string): Promise<Shown | null> {
  const key = await database.keys.show(id);
  if (!key) return null;
  return {
    kind: 'key',
    json: keyJson(key),
    lines: [
      `key      ${key.id} (${key.mode}) ${key.hint} of store ${key.storeId}`,
      `created  ${moment(key.createdAtMs)} by ${key.createdBy ?? 'an unknown person (made before this was recorded)'}`,
      `may      ${key.scopes.join(', ')}`,
      `from     ${key.sources.join(', ') || 'anywhere'}`,
      `expires  ${key.expiresAtMs === null ? 'never' : moment(key.expiresAtMs)}`,
      `used     ${lastUse(key)}`,
      ...(key.revokedAtMs === null ? [] : [`revoked  ${moment(key.revokedAtMs)}`]),
    ],
    links: key.isAltered ? [link('key', 'broken', alteredLine(key))] : [],
  };
}

const lastUse = ({ lastUsedAtMs, lastUsedFrom }: ApiKey): string =>
  lastUsedAtMs === null ? 'never' : `${moment(lastUsedAtMs)} from ${lastUsedFrom ?? 'an unknown address'}`;

const alteredLine = ({ id }: ApiKey): string =>
  `ALTERED  ${id}: somebody without the secret key has changed its row, so nothing above can be trusted, and the key is refused. Find out who can write to the database; then run \`quayside key revoke ${id}\` and create another`;

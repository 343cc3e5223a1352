/**
 * API keys: issued per store and mode, shown once, revoked for good.
 * @module
 */

import { issueKey, scopes } from '../../src/app/new-credentials.ts';
import type { Mode } from '../../src/core/transfer.ts';
import type { ApiKey, Scope } from '../../src/database/database.ts';
import {
  type Command,
  choiceOption,
  moment,
  notFound,
  storeOf,
  storeOption,
  table,
  textOption,
  usage,
} from './command.ts';

export const modes: readonly Mode[] = ['live', 'test'];

export const keyCreate: Command = {
  name: 'key create',
  args: [],
  summary: 'Issue an API key and its secret. They are shown once.',
  options: {
    store: storeOption,
    mode: { value: 'test|live', help: 'which networks its sessions use' },
    scopes: { value: 'LIST', help: `with commas, of ${scopes.join(', ')} (all of them)` },
  },
  async run(input, { database, clock }) {
    const mode = choiceOption(input, 'mode', modes);
    const granted = readScopes(textOption(input, 'scopes'));
    const { id: storeId } = await storeOf(input, database);
    const { key, row } = issueKey(storeId, mode, granted, clock.nowMs());
    await database.createKey(row);
    return {
      json: { ...shown(row), api_key: key, api_secret: row.secret },
      lines: [
        `key      ${row.id} (${mode})`,
        `api key  ${key}`,
        `secret   ${row.secret}`,
        'Keep both now: neither is shown again.',
      ],
    };
  },
};

export const keyList: Command = {
  name: 'key list',
  args: [],
  summary: 'List API keys, revoked ones too.',
  options: { store: { value: 'ID', help: 'only this store’s' } },
  async run(input, { database }) {
    const keys = await database.listKeys(textOption(input, 'store') ?? null);
    const rows = keys.map((key) => [
      key.id,
      key.storeId,
      key.hint,
      key.scopes.join(','),
      moment(key.createdAtMs),
      moment(key.revokedAtMs),
    ]);
    return { json: keys.map(shown), lines: table([['ID', 'STORE', 'KEY', 'SCOPES', 'CREATED', 'REVOKED'], ...rows]) };
  },
};

export const keyRevoke: Command = {
  name: 'key revoke',
  args: ['id'],
  summary: 'Revoke an API key: requests with it are refused from now on.',
  options: {},
  async run(input, { database, clock }) {
    const id = input.args[0] ?? '';
    const isKnown = await database.revokeKey(id, clock.nowMs());
    if (!isKnown) throw notFound(`there is no key ${id}; \`quayside key list\` shows them`);
    return { json: { id, revoked: true }, lines: [`${id} is revoked`] };
  },
};

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return scopes;
  return text.split(',').map((name) => {
    const scope = scopes.find((one) => one === name.trim());
    if (!scope) throw usage(`--scopes names "${name}", expected ${scopes.join(', ')}`);
    return scope;
  });
}

const shown = ({ id, storeId, mode, hint, scopes: granted, createdAtMs, revokedAtMs }: ApiKey) => ({
  id,
  store: storeId,
  mode,
  hint,
  scopes: granted,
  created_at: moment(createdAtMs),
  revoked_at: revokedAtMs === null ? null : moment(revokedAtMs),
});

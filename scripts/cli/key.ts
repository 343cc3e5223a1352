/**
 * API keys. Each belongs to one store and mode, is shown once, and stays revoked once it is.
 * @module
 */

import { issueKey, scopes } from '../../src/app/new-credentials.ts';
import type { Mode } from '../../src/core/transfer.ts';
import type { ApiKey, Scope } from '../../src/database/database.ts';
import {
  becauseOption,
  type Command,
  choiceOption,
  moment,
  notFound,
  operatorAct,
  storeOf,
  storeOption,
  table,
  textOption,
  usage,
} from './command.ts';

export const modes: readonly Mode[] = ['live', 'test'];

/** A key that leaks cannot pay out, unless it was made for refunds. */
const usualScopes: readonly Scope[] = ['sessions:read', 'sessions:write'];

export const keyCreate: Command = {
  name: 'key create',
  args: [],
  summary: 'Create an API key and its secret, which are shown once.',
  options: {
    store: storeOption,
    mode: { value: 'test|live', help: 'the mode of the sessions that it creates' },
    scopes: { value: 'LIST', help: `comma-separated: ${scopes.join(', ')} (default: ${usualScopes.join(', ')})` },
  },
  async run(input, { database, clock }) {
    const mode = choiceOption(input, 'mode', modes);
    const granted = readScopes(textOption(input, 'scopes'));
    const { id: storeId } = await storeOf(input, database);
    const { key, row } = issueKey(storeId, mode, granted, clock.nowMs());
    await database.createKey(row);
    const missing = scopes.filter((scope) => !granted.includes(scope));
    return {
      json: { ...shown(row), api_key: key, api_secret: row.secret },
      lines: [
        `key      ${row.id} (${mode})`,
        `api key  ${key}`,
        `secret   ${row.secret}`,
        `may      ${granted.join(', ')}`,
        ...(missing.length > 0 ? [`may not  ${missing.join(', ')}; --scopes gives a key more`] : []),
        'Save both now: they are not shown again.',
      ],
    };
  },
};

export const keyList: Command = {
  name: 'key list',
  args: [],
  summary: 'List API keys, including revoked ones.',
  options: { store: { value: 'ID', help: 'only keys of this store' } },
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
  summary: 'Revoke an API key: requests with it are refused from then on.',
  options: { because: becauseOption },
  async run(input, { database, clock }) {
    const id = input.args[0] ?? '';
    const isKnown = await database.revokeKey(id, operatorAct(keyRevoke, input, clock));
    if (!isKnown) throw notFound(`there is no key ${id}; \`quayside key list\` shows all`);
    return { json: { id, revoked: true }, lines: [`${id} is revoked`] };
  },
};

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return usualScopes;
  return text.split(',').map((name) => {
    const scope = scopes.find((one) => one === name.trim());
    if (!scope) throw usage(`--scopes contains "${name}", expected ${scopes.join(', ')}`);
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

/**
 * API keys. Each belongs to one store and mode, is shown once, and stays revoked once it is.
 * @module
 */

import { issueKey } from '../../src/app/new-credentials.ts';
import type { Mode } from '../../src/core/transfer.ts';
import { type ApiKey, type Scope, scopes } from '../../src/database/keys.ts';
import { readRange } from '../../src/lib/address-range.ts';
import {
  type Command,
  choiceOption,
  moment,
  notFound,
  operatorAct,
  reasonOption,
  storeOf,
  storeOption,
  textOption,
  usage,
} from './command.ts';
import { expiresOption, readExpiry } from './since.ts';
import { table } from './table.ts';

export const modes: readonly Mode[] = ['live', 'test'];

/** Ranges of one key. */
const SOURCES_MAX = 50;

/** Said where a key is made that can move money. */
const REFUNDS_PAY = 'refunds:write makes refunds: anybody who has such a key can send money out';

export const keyCreate: Command = {
  name: 'key create',
  args: [],
  summary: 'Create an API key and its secret, which are shown once.',
  options: {
    store: storeOption,
    mode: { choices: modes, help: 'the mode of the sessions that it creates', required: true },
    scopes: { value: 'LIST', help: `comma-separated: ${scopes.join(', ')}; a test key has all by default` },
    expires: expiresOption,
    from: {
      value: 'RANGES',
      help: 'addresses that may use it, comma-separated: 203.0.113.0/24,2001:db8::7 (default: all)',
    },
    reason: reasonOption,
    'dry-run': { help: 'show what the key would be, and create none' },
  },
  notes: [
    `A live key is made only with --scopes. ${REFUNDS_PAY}.`,
    'A request with an expired key, or from another address, is answered like one with an unknown key. Behind a reverse',
    'proxy, the address is the one that the proxy names: see `trusted_proxies` in the settings.',
  ],
  async run(input, { database, clock }) {
    const mode = choiceOption(input, 'mode', modes);
    const granted = grantedTo(mode, textOption(input, 'scopes'));
    const { id: storeId } = await storeOf(input, database);
    const nowMs = clock.nowMs();
    const life = { expiresAtMs: readExpiry(input, nowMs), sources: readSources(textOption(input, 'from')) };
    const { key, row } = issueKey(storeId, mode, granted, nowMs, life);
    if (input.options['dry-run'] === true) {
      const planned = { store: storeId, mode, scopes: granted, ...lifeJson(life) };
      return {
        json: { ...planned, dry_run: true },
        lines: [`would create a key of store ${storeId} (${mode})`, ...lifeLines(granted, life)],
      };
    }
    const act = operatorAct(keyCreate, input, clock);
    await database.createKey(row, act);
    const missing = scopes.filter((scope) => !granted.includes(scope));
    return {
      json: { ...shown({ ...row, ...life, ...unused, createdBy: act.operator }), api_key: key, api_secret: row.secret },
      lines: [
        `key      ${row.id} (${mode})`,
        `api key  ${key}`,
        `secret   ${row.secret}`,
        ...lifeLines(granted, life),
        ...(missing.length > 0 ? [`may not  ${missing.join(', ')}; --scopes gives a key more`] : []),
        ...(mode === 'live' && granted.includes('refunds:write') ? [`${REFUNDS_PAY}.`] : []),
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
      json: keys.map(shown),
      lines: [...table([head, ...rows]), ...altered.map(alteredLine)],
      isBad: altered.length > 0,
    };
  },
};

export const keyShow: Command = {
  name: 'key show',
  args: ['id'],
  summary: 'Show an API key: who created it, what it may do, from where and until when, and its last use.',
  options: {},
  async run(input, { database }) {
    const id = input.args[0] ?? '';
    const key = await database.showKey(id);
    if (!key) throw unknownKey(id);
    return {
      json: shown(key),
      lines: [
        `key      ${key.id} (${key.mode}) ${key.hint} of store ${key.storeId}`,
        `created  ${moment(key.createdAtMs)} by ${key.createdBy ?? 'an unknown person (made before this was recorded)'}`,
        ...lifeLines(key.scopes, key),
        `used     ${lastUse(key)}`,
        ...(key.revokedAtMs === null ? [] : [`revoked  ${moment(key.revokedAtMs)}`]),
        ...(key.isAltered ? [alteredLine(key)] : []),
      ],
      isBad: key.isAltered === true,
    };
  },
};

export const keyRevoke: Command = {
  name: 'key revoke',
  args: ['id'],
  summary: 'Revoke an API key: requests with it are refused from then on.',
  options: { reason: reasonOption },
  async run(input, { database, clock }) {
    const id = input.args[0] ?? '';
    const isKnown = await database.revokeKey(id, operatorAct(keyRevoke, input, clock));
    if (!isKnown) throw unknownKey(id);
    return { json: { id, revoked: true }, lines: [`${id} is revoked`] };
  },
};

/** @throws Fault permanent `usage` where nobody has said what a live key may do */
function grantedTo(mode: Mode, text: string | undefined): readonly Scope[] {
  if (text !== undefined) return readScopes(text);
  if (mode === 'test') return scopes;
  throw usage(
    `--scopes is missing: say what a live key may do, such as --scopes sessions:read,sessions:write. ${REFUNDS_PAY}`,
  );
}

function readScopes(text: string): readonly Scope[] {
  return text.split(',').map((name) => {
    const scope = scopes.find((one) => one === name.trim());
    if (!scope) throw usage(`--scopes contains "${name}", expected ${scopes.join(', ')}`);
    return scope;
  });
}

function readSources(text: string | undefined): readonly string[] {
  const sources = (text?.split(',') ?? []).map((one) => {
    const range = readRange(one.trim());
    if (range === null) throw usage(`--from contains "${one}", expected an address or a range such as 203.0.113.0/24`);
    return range;
  });
  if (sources.length > SOURCES_MAX)
    throw usage(`--from has ${sources.length} ranges; a key has at most ${SOURCES_MAX}`);
  return sources;
}

const unknownKey = (id: string) => notFound(`there is no key ${id}; \`quayside key list\` shows all`);

const unused = { name: null, lastUsedAtMs: null, lastUsedFrom: null };

const lastUse = ({ lastUsedAtMs, lastUsedFrom }: ApiKey): string =>
  lastUsedAtMs === null ? 'never' : `${moment(lastUsedAtMs)} from ${lastUsedFrom ?? 'an unknown address'}`;

type Life = Pick<ApiKey, 'sources' | 'expiresAtMs'>;

const lifeLines = (granted: readonly Scope[], { sources, expiresAtMs }: Life): string[] => [
  `may      ${granted.join(', ')}`,
  `from     ${sources.join(', ') || 'anywhere; --from limits a new key'}`,
  `expires  ${expiresAtMs === null ? 'never; --expires limits a new key' : moment(expiresAtMs)}`,
];

const orNull = (ms: number | null): string | null => (ms === null ? null : moment(ms));
const lifeJson = ({ sources, expiresAtMs }: Life) => ({ from: sources, expires_at: orNull(expiresAtMs) });

const alteredLine = ({ id }: ApiKey): string =>
  `ALTERED  ${id}: somebody without the secret key has changed its row, so nothing above can be trusted, and the key is refused. Find out who can write to the database; then run \`quayside key revoke ${id}\` and create another`;

const shown = (key: ApiKey) => ({
  id: key.id,
  store: key.storeId,
  mode: key.mode,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  ...lifeJson(key),
  created_at: moment(key.createdAtMs),
  created_by: key.createdBy,
  last_used_at: orNull(key.lastUsedAtMs),
  last_used_from: key.lastUsedFrom,
  revoked_at: orNull(key.revokedAtMs),
  altered: key.isAltered === true,
});

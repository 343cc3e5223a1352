/** API keys: one is created, whose secret is shown once, or revoked for good. */
import type { Mode } from '../core/transfer.ts';
import { type Scope, scopes } from '../database/column-values.ts';
import type { ApiKey } from '../database/keys.ts';
import type { MerchantStore } from '../database/stores.ts';
import {
  defineAct,
  type Fact,
  type Field,
  isRefusal,
  oneOf,
  type Refusal,
  refuse,
  type Sentence,
  say,
  textOf,
} from './act.ts';
import { storeField, storeOf } from './stores.ts';

export const modes: readonly Mode[] = ['live', 'test'];
const KEY_NAME_CHARS_MAX = 64;

export const modeWords: Readonly<Record<Mode, Sentence>> = { test: say('test'), live: say('live') };

export const readMode = oneOf(modes);

/** The mode of what is made. */
export const modeField = (help: string) =>
  ({ label: say('Mode'), help, choices: modes, isRequired: true, read: readMode }) as const satisfies Field;

const readName = (text: string): string | Sentence =>
  text !== '' && text.length <= KEY_NAME_CHARS_MAX
    ? text
    : say('A name has 1 to {count} characters.', { count: KEY_NAME_CHARS_MAX });

const scopeWords: Readonly<Record<Scope, Sentence>> = {
  'sessions:read': say('read payments'),
  'sessions:write': say('create and cancel payments'),
  'refunds:read': say('read refunds'),
  'refunds:write': say('make and cancel refunds: its holder can send money out'),
  'webhooks:write': say('add and remove webhook endpoints: its holder can have every event sent to them'),
};

const noScope = say('Choose at least one thing that the key may do.');

function scopesOf(text: string): readonly Scope[] | Sentence {
  const names = text.split(',').flatMap((name) => name.trim() || []);
  const unknown = names.find((name) => !scopes.some((scope) => scope === name));
  if (unknown !== undefined) {
    return say('"{name}" is no scope, expected {scopes}', { name: unknown, scopes: scopes.join(', ') });
  }
  return names.length === 0 ? noScope : scopes.filter((scope) => names.includes(scope));
}

/** Returns why a store has no keys; null if it may have some. */
export function whyNoKeys({ status, suspension }: MerchantStore): Sentence | null {
  if (suspension) return say('The operator has suspended the store: {reason}', { reason: suspension.because });
  return status === 'approved' ? null : say('Keys can be made once the operator has approved the store.');
}

type NewKeyPlan = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  name: string | null;
  granted: readonly Scope[];
}>;

export const createKey = defineAct({
  name: 'key create',
  summary: 'Create an API key and its secret, which are shown once.',
  needs: 'keys:manage',
  asks: 'second factor',
  fields: {
    store: storeField,
    mode: modeField('the mode of the sessions that it creates'),
    name: {
      label: say('Name'),
      help: 'what people call it',
      value: 'NAME',
      charsMax: KEY_NAME_CHARS_MAX,
      isProse: true,
      read: readName,
    },
    scopes: {
      label: say('Permissions'),
      isList: true,
      offers: scopeWords,
      help: `comma-separated: ${scopes.join(', ')}; a test key has all by default`,
      value: 'LIST',
      read: scopesOf,
    },
  },
  async plan(context, { store: storeId, mode, name, scopes: wanted }): Promise<NewKeyPlan | Refusal> {
    const granted = wanted ?? (mode === 'test' ? scopes : null);
    if (!granted) return { ...refuse('usage', noScope), field: 'scopes' };
    const store = await storeOf(context, storeId);
    if (isRefusal(store)) return store;
    const obstacle = whyNoKeys(store);
    if (obstacle) return refuse('refused', obstacle);
    return { id: `key_${context.newId}`, storeId: store.id, mode, name: name ?? null, granted };
  },
  review: (plan) => ({
    title: say('Create this key?'),
    target: plan.id,
    facts: factsOf(plan),
    notes: warningsOf(plan),
    button: say('Create the key'),
  }),
  async run({ database, act, issue, nowMs }, plan) {
    const { id, storeId, mode, name, granted } = plan;
    if (await database.keys.show(id)) {
      const said = say('This key was made already, and was shown then. If it is lost, revoke it.');
      return { said, json: { id }, isRepeated: true };
    }
    const { key, row } = issue.key(storeId, mode, granted, nowMs);
    await database.keys.create({ ...row, id, ...(name !== null && { name }) }, act);
    const made = { ...row, id, name, lastUsedAtMs: null, lastUsedFrom: null };
    return {
      made: say('Your new key'),
      said: say('Save both now: they are not shown again.'),
      json: { ...keyJson({ ...made, createdBy: act.operator }), api_key: key, api_secret: row.secret },
      facts: [
        [say('API key'), { code: key }],
        [say('Secret'), { code: row.secret }],
        [say('Header'), { code: `X-Merchant-Id: ${storeId}` }],
        ...factsOf(plan),
      ],
    };
  },
});

function factsOf({ mode, name, granted }: NewKeyPlan): readonly Fact[] {
  const missing = scopes.filter((scope) => !granted.includes(scope));
  return [
    ...(name === null ? [] : [[say('Name'), name] as const]),
    [say('Mode'), modeWords[mode]],
    [say('Permissions'), granted.join(', ')],
    [say('Not permitted'), missing.join(', ') || say('nothing is left out')],
  ];
}

const warningsOf = ({ granted }: NewKeyPlan): readonly Sentence[] =>
  granted.includes('refunds:write')
    ? [say('This key and its secret can send refunds, within the store’s limits.')]
    : [];

const unknownKey = (id: string): Refusal =>
  refuse('not_found', say('there is no key {id}; `quayside key list` shows all', { id }));

export const revokeKey = defineAct({
  name: 'key revoke',
  summary: 'Revoke an API key: requests with it are refused from then on.',
  needs: 'keys:manage',
  asks: 'second factor',
  fields: { key: { label: say('Key'), help: 'its id', isArgument: true } },
  async plan({ database, scope }, { key: id }) {
    const key = await database.keys.show(id);
    const isOurs = key && (scope === null || (key.storeId === scope.storeId && key.mode === scope.mode));
    return isOurs ? key : unknownKey(id);
  },
  review: ({ id, hint, name, lastUsedAtMs }) => ({
    title: say('Revoke this key?'),
    target: id,
    notes: [
      say('From now on every request with {key} is refused. A revoked key cannot be used again.', {
        key: name === null ? hint : `${hint} (${name})`,
      }),
      lastUsedAtMs === null
        ? say('It was never used.')
        : say('It was last used at {time}.', { time: { atMs: lastUsedAtMs } }),
    ],
    button: say('Revoke the key'),
    isDangerous: true,
  }),
  async run({ database, act }, { id, hint }) {
    const isKnown = await database.keys.revoke(id, act);
    return isKnown ? { said: say('{key} is revoked.', { key: hint }), json: { revoked: true } } : unknownKey(id);
  },
});

const orNull = (ms: number | null): string | null => (ms === null ? null : textOf({ atMs: ms }));

/** Returns a key for programs. */
export const keyJson = (key: ApiKey) => ({
  id: key.id,
  store: key.storeId,
  mode: key.mode,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  created_at: orNull(key.createdAtMs),
  created_by: key.createdBy,
  last_used_at: orNull(key.lastUsedAtMs),
  last_used_from: key.lastUsedFrom,
  revoked_at: orNull(key.revokedAtMs),
  altered: key.isAltered === true,
});

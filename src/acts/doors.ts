/** Doors for panels and shops: one is added, whose key is shown once. `webhooks.ts` switches it off and removes it. */
import { type DoorDialect, doorDialects } from '../core/door.ts';
import { doorAlgorithms } from '../database/column-values.ts';
import { DOORS_MAX } from '../database/doors.ts';
import { randomBase62 } from '../lib/id.ts';
import { exponentOf } from '../rates/currencies.ts';
import { defineAct, isRefusal, oneOf, refuse, say } from './act.ts';
import { modeField, modeWords } from './keys.ts';
import { storeField, storeOf } from './stores.ts';

const KEY_LENGTH = 32;
/** Panels ask in it unless they say otherwise. */
const CURRENCY_DEFAULT = 'CNY';

const onOff = ['on', 'off'] as const;
const readDialect = oneOf(doorDialects);
const readOnOff = oneOf(onOff);
const readAlgorithm = oneOf(doorAlgorithms);

const readCurrency = (text: string) =>
  exponentOf(text.toUpperCase()) === null
    ? say('"{text}" is no currency, expected one such as CNY or USD', { text })
    : text.toUpperCase();

/** Says where the URL and the key go in a panel. */
const whereTo: Readonly<Record<DoorDialect, string>> = {
  epay: 'Paste the URL, the pid and the key into the panel’s EPay settings. Prefer a panel that asks by mapi.php.',
  epusdt: 'Paste the URL, with the path that the panel names, and the key as its API token.',
  gmpay: 'Paste the URL, the pid and the key as the secret into the panel’s Epusdt settings.',
  bepusdt: 'Paste the URL and the key as the API token into the panel’s BEpusdt settings.',
};

export const addDoor = defineAct({
  name: 'door add',
  summary: 'Let a panel or shop that speaks EPay or Epusdt take payments for a store, and print its key.',
  needs: 'installation:manage',
  asks: 'second factor',
  fields: {
    dialect: {
      label: say('Protocol'),
      help: `${doorDialects.slice(0, -1).join(', ')} or ${doorDialects.at(-1)}`,
      isArgument: true,
      choices: doorDialects,
      read: readDialect,
    },
    store: storeField,
    mode: modeField('the mode of its payments'),
    currency: {
      label: say('Currency'),
      help: `of all its prices (${CURRENCY_DEFAULT})`,
      value: 'CODE',
      read: readCurrency,
    },
    refunds: {
      label: say('Refunds'),
      help: 'whether the key may ask for refunds (off)',
      choices: onOff,
      read: readOnOff,
    },
    algorithm: {
      label: say('Signature'),
      help: 'of gmpay alone: how requests are signed (dual)',
      choices: doorAlgorithms,
      read: readAlgorithm,
    },
  },
  async plan(context, { dialect, store: storeId, mode, currency = CURRENCY_DEFAULT, refunds = 'off', algorithm }) {
    const store = await storeOf(context, storeId);
    if (isRefusal(store)) return store;
    if (algorithm !== undefined && dialect !== 'gmpay') {
      return { ...refuse('usage', say('Only gmpay has several signatures.')), field: 'algorithm' };
    }
    const settings = {
      currency,
      takesRefunds: refunds === 'on',
      algorithm: algorithm ?? (dialect === 'gmpay' ? 'dual' : 'md5'),
    };
    return { id: `we_${context.newId}`, dialect, store, mode, settings };
  },
  review: ({ id, dialect, store, mode, settings: { currency, takesRefunds } }) => ({
    title: say('Open a door for {dialect}?', { dialect }),
    target: id,
    facts: [
      [say('Store'), store.name],
      [say('Mode'), modeWords[mode]],
      [say('Currency'), currency],
      [say('Refunds'), takesRefunds ? say('on') : say('off')],
    ],
    notes: takesRefunds ? [say('A holder of the key can send money of this store out.')] : [],
    button: say('Open it'),
  }),
  async run({ database, act, nowMs, checkoutUrl }, { id, dialect, store, mode, settings }) {
    if (await database.endpoints.find(id)) {
      return { said: say('This door was added already. Its key was shown then.'), json: { id }, isRepeated: true };
    }
    const key = randomBase62(KEY_LENGTH);
    const urlOf = (pid: number) => `${checkoutUrl}/${pid}/`;
    const door = { id, storeId: store.id, mode, dialect, settings, key, createdAtMs: nowMs, urlOf };
    const added = await database.doors.add(door, act);
    if (added.kind === 'too_many') {
      return refuse(
        'refused',
        say('There are {count} doors of this protocol. Remove one first.', { count: DOORS_MAX }),
      );
    }
    const { pid, url } = added;
    return {
      made: say('The door’s key'),
      said: say(`Save the key now: it is not shown again. ${whereTo[dialect]}`),
      facts: [
        [say('URL'), { code: url }],
        [say('Pid'), { code: String(pid) }],
        [say('Key'), { code: key }],
      ],
      json: { store: store.id, mode, dialect, pid, url, key },
      next: 'webhook list',
    };
  },
});

/** A new store: the operator’s is ready at once, and one that a person asks for waits for the operator’s approval. */
import { currencies } from '../core/transfer.ts';
import { WAITING_STORES_MAX } from '../database/stores.ts';
import { storeIdOf } from '../lib/id.ts';
import { defineAct, type Fact, oneOf, refuse, type Sentence, say } from './act.ts';
import { storeJson } from './store-decisions.ts';
import { NAME_CHARS_MAX, readName } from './store-settings.ts';

const readCurrency = oneOf(currencies);
const storeName = (text: string): string | Sentence =>
  readName(text) ?? say('A store has a name of 1 to {count} characters and a coin.', { count: NAME_CHARS_MAX });

export const addStore = defineAct({
  name: 'store add',
  summary: 'Create a store, ready for use, and print its webhook secrets. `store set` changes its settings.',
  needs: 'to be signed in',
  asks: 'second factor',
  fields: {
    name: {
      label: say('Name, as payers see it'),
      help: 'as payers see it',
      isArgument: true,
      charsMax: NAME_CHARS_MAX,
      isProse: true,
      read: storeName,
    },
    settlement: {
      label: say('Stablecoin that other currencies are converted to'),
      choices: currencies,
      read: readCurrency,
    },
  },
  plan: async ({ newId }, { name, settlement = 'USDT' }) => ({ id: storeIdOf(newId), name, settlement }),
  review: ({ id, name, settlement }) => ({
    title: say('Create {name}?', { name }),
    target: id,
    facts: [
      [say('Name'), name],
      [say('Stablecoin that other currencies are converted to'), settlement],
    ],
    button: say('Create the store'),
  }),
  async run({ database, issue, act, nowMs, networks, personId }, { id, name, settlement }) {
    if (await database.stores.find(id)) return { said: say('This store was created already.'), json: { id } };
    const made = { ...issue.store(name, settlement, nowMs), id };
    if (personId !== null) {
      return (await database.stores.request(made, personId, act))
        ? { said: say('The store is created, and waits for approval.'), json: { id } }
        : refuse(
            'refused',
            say('At most {count} of your stores can wait for approval.', { count: WAITING_STORES_MAX }),
          );
    }
    await database.stores.create(made, act);
    // A key of a mode without networks takes no payments.
    const key = networks.some(({ mode }) => mode === 'test')
      ? '--mode test'
      : '--mode live --scopes sessions:read,sessions:write';
    return {
      said: say(
        'The secrets sign for the `webhook_url` of single sessions; `quayside webhook add` gives each endpoint its own.',
      ),
      facts: [
        [say('Merchant id'), { code: id }],
        ...Object.entries(made.webhookSecrets).map(([mode, code]): Fact => [say(`Secret, ${mode}`), { code }]),
      ],
      json: { ...storeJson(made), webhook_secrets: made.webhookSecrets },
      next: `key create --store ${id} ${key}`,
    };
  },
});

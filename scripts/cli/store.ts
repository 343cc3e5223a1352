/** Adds a store: one merchant account with its own keys, endpoints and policy. */
import { stateOf } from '../../src/acts/store-decisions.ts';
import { settingsJson } from '../../src/acts/stores.ts';
import { defaultStoreSettings, issueStore } from '../../src/app/new-credentials.ts';
import { CHANNEL_TYPE, type MerchantStore } from '../../src/database/stores.ts';
import { type Command, moment, operatorAct, reasonOption } from './command.ts';

export const storeAdd: Command = {
  name: 'store add',
  createsInstallation: true,
  args: ['name'],
  summary: 'Create a store, ready for use, and print its webhook secrets. `store set` changes its settings.',
  options: {
    reason: reasonOption,
  },
  async run(input, { config, database, clock }) {
    const name = input.args[0] ?? '';
    const made = issueStore(name, defaultStoreSettings, clock.nowMs());
    await database.stores.create(made, operatorAct(storeAdd, input, clock));
    return {
      json: {
        ...storeJson(made),
        webhook_secret: made.webhookSecrets[config.sandbox ? 'test' : 'live'],
        webhook_secrets: made.webhookSecrets,
      },
      lines: [
        `store ${made.id} "${made.name}"`,
        `webhook secret of live mode ${made.webhookSecrets.live}`,
        `webhook secret of test mode ${made.webhookSecrets.test}`,
        'They sign for the `webhook_url` of single sessions; `quayside webhook add` gives each endpoint its own.',
        `Next, run: quayside key create --store ${made.id} --mode test`,
      ],
    };
  },
};

/** Returns a store for programs. */
export const storeJson = (store: MerchantStore) => ({
  id: store.id,
  name: store.name,
  status: stateOf(store),
  channel_type: CHANNEL_TYPE,
  ...(store.suspension && {
    suspended_at: moment(store.suspension.atMs),
    suspended_because: store.suspension.because,
  }),
  ...(store.refusal && { refused_at: moment(store.refusal.atMs), refused_because: store.refusal.because }),
  ...settingsJson(store.settings),
  created_at: moment(store.createdAtMs),
});

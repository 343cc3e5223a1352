/** Adds a store: one merchant account with its own keys, endpoints and policy. */
import { storeJson } from '../../src/acts/store-decisions.ts';
import { defaultStoreSettings, issueStore } from '../../src/app/new-credentials.ts';
import { type Command, reasonOption, recordAnswer } from './command.ts';

export const storeAdd: Command = {
  name: 'store add',
  createsInstallation: true,
  args: '<name>',
  summary: 'Create a store, ready for use, and print its webhook secrets. `store set` changes its settings.',
  options: {
    reason: reasonOption,
  },
  async run(input, { config, database, clock }) {
    const name = input.args[0] ?? '';
    const made = issueStore(name, defaultStoreSettings, clock.nowMs());
    await database.stores.create(made, input.act);
    // A key of a mode without networks takes no payments.
    const key = config.networks.some(({ mode }) => mode === 'test')
      ? '--mode test'
      : '--mode live --scopes sessions:read,sessions:write';
    const { webhookSecrets } = made;
    const secrets = {
      webhook_secret: webhookSecrets[config.sandbox ? 'test' : 'live'],
      webhook_secrets: webhookSecrets,
    };
    return recordAnswer({ ...storeJson(made), ...secrets }, [
      'The secrets sign for the `webhook_url` of single sessions; `quayside webhook add` gives each endpoint its own.',
      `Next, run: quayside key create --store ${made.id} ${key}`,
    ]);
  },
};

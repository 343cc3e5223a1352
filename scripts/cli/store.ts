/**
 * Creates, changes and lists stores. Each is one merchant account with its own keys, endpoints and policy.
 * @module
 */

import { defaultStoreSettings, issueStore } from '../../src/app/new-credentials.ts';
import type { MerchantStore } from '../../src/database/stores.ts';
import { type Command, dryRunOption, moment, notFound, operatorAct, reasonOption } from './command.ts';
import {
  checkCredit,
  optionsOf,
  readSettings,
  sessionSettings,
  settingsJson,
  storeSettings,
} from './store-settings.ts';
import { table } from './table.ts';

export const storeCreate: Command = {
  name: 'store create',
  createsInstallation: true,
  args: ['name'],
  summary: 'Create a store, ready for use, and print its webhook secrets.',
  options: {
    ...optionsOf(
      sessionSettings.map((one) => ({ ...one, help: `${one.help} (${one.text(defaultStoreSettings[one.key])})` })),
    ),
    reason: reasonOption,
  },
  async run(input, { config, database, clock }) {
    const name = input.args[0] ?? '';
    const settings = { ...defaultStoreSettings, ...readSettings(sessionSettings, input) };
    checkCredit(config.networks, settings.credit);
    const made = issueStore(name, settings, clock.nowMs());
    await database.createStore(made, operatorAct(storeCreate, input, clock));
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
        'They sign for the `webhook_url` of single sessions; `quayside webhooks add` gives each endpoint its own.',
        `Next, run: quayside key create --store ${made.id} --mode test`,
      ],
    };
  },
};

export const storeList: Command = {
  name: 'store list',
  args: [],
  summary: 'List the stores.',
  options: {},
  async run(_input, { database }) {
    const stores = await database.listStores();
    const rows = stores.map((one) => [
      one.id,
      statusOf(one),
      one.settings.settlementCurrency,
      one.settings.latePolicy,
      moment(one.createdAtMs),
      one.name,
    ]);
    const lines = table([['ID', 'STATUS', 'SETTLES IN', 'LATE', 'CREATED', 'NAME'], ...rows]);
    return { json: stores.map(storeJson), lines };
  },
};

export const storeUpdate: Command = {
  name: 'store update',
  args: ['store'],
  summary: 'Change the settings of a store, or show them. Open sessions keep theirs, but for --credit.',
  options: {
    ...optionsOf(storeSettings),
    reason: reasonOption,
    'dry-run': dryRunOption,
  },
  async run(input, { config, database, clock }) {
    const id = input.args[0] ?? '';
    const changes = readSettings(storeSettings, input);
    checkCredit(config.networks, changes.credit);
    const isDryRun = input.options['dry-run'] === true;
    const done = await database.updateStore(id, changes, operatorAct(storeUpdate, input, clock), isDryRun);
    if (!done) throw unknownStore(id);
    const { before, after } = done;
    const changed = storeSettings.filter(({ key }) => before[key] !== after[key]);
    const isShowing = Object.keys(changes).length === 0;
    const rows = (isShowing ? storeSettings : changed).map(({ key, option, text }) =>
      isShowing ? [`--${option}`, text(after[key])] : [`--${option}`, text(before[key]), '→', text(after[key])],
    );
    const title = isShowing
      ? 'settings'
      : changed.length === 0
        ? 'nothing to change'
        : isDryRun
          ? 'would change'
          : 'changed';
    return {
      json: {
        id,
        before: settingsJson(before),
        after: settingsJson(after),
        dry_run: isDryRun,
      },
      lines: [`store ${id}: ${title}`, ...table(rows)],
    };
  },
};

export const unknownStore = (id: string) => notFound(`there is no store ${id}; \`quayside store list\` shows all`);

const statusOf = ({ suspension, refusal, status }: MerchantStore) =>
  suspension ? 'suspended' : refusal ? 'refused' : status;

export const storeJson = (store: MerchantStore) => ({
  id: store.id,
  name: store.name,
  status: statusOf(store),
  channel_type: store.channelType,
  ...(store.suspension && {
    suspended_at: moment(store.suspension.atMs),
    suspended_because: store.suspension.because,
  }),
  ...(store.refusal && { refused_at: moment(store.refusal.atMs), refused_because: store.refusal.because }),
  ...settingsJson(store.settings),
  created_at: moment(store.createdAtMs),
});

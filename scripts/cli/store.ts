/**
 * Creates and lists stores. Each is one merchant account with its own keys, endpoints and policy.
 * @module
 */

import { defaultStoreSettings, issueStore } from '../../src/app/new-credentials.ts';
import { currencies } from '../../src/core/transfer.ts';
import type { MerchantStore, StoreSettings } from '../../src/database/database.ts';
import { type Command, choiceOption, type Input, moment, table, wholeOption } from './command.ts';

export const storeCreate: Command = {
  name: 'store create',
  args: ['name'],
  summary: 'Create a store, ready for use, and print its webhook secret.',
  options: {
    settlement: { value: 'USDT|USDC', help: 'the stablecoin that other currencies are converted to (USDT)' },
    tolerance: { value: 'CENTS', help: 'how many cents less than the price still pay a session in full (0)' },
    grace: { value: 'SECONDS', help: 'how long after expiry a partial payment can be topped up (1800)' },
    monitoring: {
      value: 'SECONDS',
      help: 'how long after its last deadline a session can still accept a late payment (604800)',
    },
    late: { value: 'hold|accept', help: 'accept late full payments, or hold them for your decision (hold)' },
  },
  async run(input, { database, clock }) {
    const name = input.args[0] ?? '';
    const made = issueStore(name, readSettings(input), clock.nowMs());
    await database.createStore(made);
    return {
      json: { ...shown(made), webhook_secret: made.webhookSecret },
      lines: [
        `store ${made.id} "${made.name}"`,
        `webhook secret ${made.webhookSecret}`,
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
      one.status,
      one.settings.settlementCurrency,
      one.settings.latePolicy,
      moment(one.createdAtMs),
      one.name,
    ]);
    const lines = table([['ID', 'STATUS', 'SETTLES IN', 'LATE', 'CREATED', 'NAME'], ...rows]);
    return { json: stores.map(shown), lines };
  },
};

function readSettings(input: Input): StoreSettings {
  const standard = defaultStoreSettings;
  const yearS = 366 * 24 * 3600;
  return {
    settlementCurrency: choiceOption(input, 'settlement', currencies, standard.settlementCurrency),
    toleranceMinor: wholeOption(input, 'tolerance', 0, 1_000_000, standard.toleranceMinor),
    topUpGraceS: wholeOption(input, 'grace', 0, yearS, standard.topUpGraceS),
    monitoringS: wholeOption(input, 'monitoring', 0, yearS, standard.monitoringS),
    latePolicy: choiceOption(input, 'late', ['hold', 'accept'], standard.latePolicy),
  };
}

const shown = ({ id, name, status, settings, createdAtMs }: MerchantStore) => ({
  id,
  name,
  status,
  settlement_currency: settings.settlementCurrency,
  tolerance_minor: settings.toleranceMinor,
  top_up_grace_s: settings.topUpGraceS,
  monitoring_s: settings.monitoringS,
  late_policy: settings.latePolicy,
  created_at: moment(createdAtMs),
});

/**
 * The methods that wallets need of java-tron: sending transactions, balances and allowances, and prices.
 */
import { wireAddress } from '../chains/tron/address.ts';
import type { KeyedToken } from './token-calls.ts';
import { lookalikeKey } from './transaction.ts';
import { keyArgument, type TronQuestion, text } from './tron-arguments.ts';
import { readBroadcast, TronRefusal } from './tron-broadcast.ts';
import { openTronPool } from './tron-pool.ts';
import {
  BYTE_SUN,
  ENERGY_SUN,
  energyLimit,
  FREE_BYTES,
  jsonSun,
  NEW_ACCOUNT_BYTES_SUN,
  NEW_ACCOUNT_SUN,
  TOTAL_ENERGY,
  TOTAL_ENERGY_WEIGHT,
  unlessZero,
} from './tron-resources.ts';
import type { World } from './world.ts';

export type TronChain = Readonly<{ world: World; chainId: string; tokens: readonly KeyedToken[] }>;

export type Method = (question: TronQuestion) => unknown;

const chainParameters: Readonly<Record<string, number>> = {
  getTransactionFee: BYTE_SUN,
  getCreateAccountFee: NEW_ACCOUNT_BYTES_SUN,
  getCreateNewAccountFeeInSystemContract: NEW_ACCOUNT_SUN,
  getEnergyFee: ENERGY_SUN,
  getFreeNetLimit: FREE_BYTES,
  getTotalEnergyCurrentLimit: TOTAL_ENERGY,
};

/** Slots of 3 s in a day, over which allowances regenerate. */
const WINDOW_SLOTS = 28_800;

/** The fields that java-tron's accounts have; `bornMs` is when the chain began. */
function renderAccount(key: string, bornMs: number, own: Readonly<{ type?: string; balance?: bigint }>, lent = 0n) {
  const { type, balance = 0n } = own;
  const address = wireAddress(key);
  const keys = { threshold: 1, keys: [{ address, weight: 1 }] };
  const operations = `7fff1fc0033e01${'0'.repeat(50)}`;
  return {
    ...(type && { type }),
    address,
    ...unlessZero('balance', balance),
    ...(!type && { create_time: bornMs }),
    latest_consume_time: bornMs,
    latest_consume_free_time: bornMs,
    net_window_size: WINDOW_SLOTS,
    account_resource: {
      latest_consume_time_for_energy: bornMs,
      energy_window_size: WINDOW_SLOTS,
      ...unlessZero('acquired_delegated_frozenV2_balance_for_energy', lent),
    },
    ...(!type && {
      owner_permission: { permission_name: 'owner', ...keys },
      active_permission: [{ type: 'Active', id: 2, permission_name: 'active', operations, ...keys }],
    }),
    frozenV2: [{}, { type: 'ENERGY' }, { type: 'TRON_POWER' }],
    ...(type && { asset_optimized: true }),
  };
}

/** Returns the methods by name; each throws `TronError`. */
export function tronWalletMethods({ world, tokens }: TronChain): Readonly<Record<string, Method>> {
  const tokenKeys = tokens.map(({ key }) => key);
  const contracts = [...tokenKeys, ...tokenKeys.map(lookalikeKey)];
  const isContract = (key: string) => contracts.includes(key);
  const pool = openTronPool(world, tokenKeys, contracts);
  const bornMs = world.atOrBelow(0).timeS * 1000;

  /** Accepts a transaction. @returns the refusal, if any */
  function trySend(bytes: string): TronRefusal | null {
    try {
      world.submit(pool.check(bytes));
      return null;
    } catch (error) {
      if (error instanceof TronRefusal) return error;
      throw error;
    }
  }

  return {
    broadcasthex({ body }) {
      const bytes = text(body, 'transaction');
      const { tx: txid } = readBroadcast(bytes);
      const refusal = trySend(bytes);
      const { code = 'SUCCESS', message = '' } = refusal ?? {};
      return { result: refusal === null, code, txid, message };
    },

    getaccount({ body, pool: { accounts } }) {
      const key = keyArgument(body, 'address');
      if (isContract(key)) return renderAccount(key, bornMs, { type: 'Contract' });
      const state = accounts();
      if (!state.isKnown(key)) return {};
      return renderAccount(key, bornMs, { balance: state.native(key) }, state.usable(key) - state.lent(key, key));
    },

    getaccountresource({ body, view, pool: { accounts } }) {
      const key = keyArgument(body, 'address');
      const state = accounts();
      if (!state.isKnown(key) && !isContract(key)) return {};
      const used = state.usedUp(key, view.tip().timeS);
      return {
        ...unlessZero('freeNetUsed', used.bytes),
        freeNetLimit: FREE_BYTES,
        TotalNetLimit: 43_200_000_000,
        TotalNetWeight: 26_000_000_000,
        ...unlessZero('EnergyUsed', used.energy),
        ...unlessZero('EnergyLimit', energyLimit(state, key)),
        TotalEnergyLimit: TOTAL_ENERGY,
        TotalEnergyWeight: TOTAL_ENERGY_WEIGHT,
      };
    },

    getcandelegatedmaxsize({ body, pool: { accounts } }) {
      const key = keyArgument(body, 'owner_address');
      return unlessZero('max_size', jsonSun(accounts().lent(key, key)));
    },

    getdelegatedresourcev2({ body, pool: { accounts } }) {
      const [from, to] = [keyArgument(body, 'fromAddress'), keyArgument(body, 'toAddress')];
      const lent = jsonSun(accounts().lent(from, to));
      if (lent === 0) return {};
      const loan = { from: wireAddress(from), to: wireAddress(to), frozen_balance_for_energy: lent };
      return { delegatedResource: [loan] };
    },

    getchainparameters: () => ({
      chainParameter: Object.entries(chainParameters).map(([key, value]) => ({ key, value })),
    }),
  };
}

/**
 * The methods that wallets need of java-tron: sending transactions, balances and allowances, and prices.
 *
 * @module
 */
import { wireAddress } from '../chains/tron/address.ts';
import { signedTransaction } from '../chains/tron/transaction-bytes.ts';
import type { KeyedToken } from './token-calls.ts';
import { lookalikeKey } from './transaction.ts';
import { keyArgument, type TronQuestion, text } from './tron-arguments.ts';
import { openTronPool, TronRefusal } from './tron-pool.ts';
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

const hexText = (words: string): string => Buffer.from(words).toString('hex');

/** Returns the methods by name; each throws `TronError`. */
export function tronWalletMethods({ world, tokens }: TronChain): Readonly<Record<string, Method>> {
  const tokenKeys = tokens.map(({ key }) => key);
  const pool = openTronPool(world, tokenKeys);
  const isContract = (key: string) => tokenKeys.some((token) => key === token || key === lookalikeKey(token));

  /**
   * Returns the id.
   * @throws TronRefusal
   */
  function send(bytes: string, fault: TronQuestion['fault']): string {
    const transaction = pool.check(bytes);
    if (fault !== 'send_dropped') {
      world.submit(fault === 'send_failed' ? { ...transaction, succeeded: false } : transaction);
    }
    if (fault === 'send_denied') throw new TronRefusal('OTHER_ERROR', 'Other errors.');
    return transaction.id;
  }

  /** Returns the result in the form of one of the two methods of sending. */
  function answerTo(bytes: string, fault: TronQuestion['fault'], isText: boolean) {
    const shown = (words: string) => (isText ? words : hexText(words));
    try {
      const txid = send(bytes, fault);
      return { result: true, ...(isText && { code: 'SUCCESS', message: '' }), txid };
    } catch (error) {
      if (!(error instanceof TronRefusal)) throw error;
      return { ...(isText && { result: false }), code: error.code, message: shown(error.message) };
    }
  }

  return {
    broadcasthex: ({ body, fault }) => answerTo(text(body, 'transaction').toLowerCase(), fault, true),

    broadcasttransaction({ body, fault }) {
      const [signature] = Array.isArray(body.signature) ? body.signature : [];
      const parts = [text(body, 'raw_data_hex'), String(signature ?? '')].map((part) => Buffer.from(part, 'hex'));
      const [raw, signed] = parts as [Buffer, Buffer];
      return answerTo(Buffer.from(signedTransaction(raw, signed)).toString('hex'), fault, false);
    },

    getaccount({ body, view }) {
      const key = keyArgument(body, 'address');
      const accounts = world.accounts(view.tip().number);
      const address = wireAddress(key);
      if (isContract(key)) return { address, type: 'Contract' };
      if (!accounts.isKnown(key)) return {};
      return { address, ...unlessZero('balance', jsonSun(accounts.native(key))) };
    },

    getaccountresource({ body, view }) {
      const key = keyArgument(body, 'address');
      const { number, timeS } = view.tip();
      const accounts = world.accounts(number);
      if (!accounts.isKnown(key) && !isContract(key)) return {};
      const used = accounts.usedUp(key, timeS);
      return {
        ...unlessZero('freeNetUsed', used.bytes),
        freeNetLimit: FREE_BYTES,
        TotalNetLimit: 43_200_000_000,
        TotalNetWeight: 26_000_000_000,
        ...unlessZero('EnergyUsed', used.energy),
        ...unlessZero('EnergyLimit', energyLimit(accounts, key)),
        TotalEnergyLimit: TOTAL_ENERGY,
        TotalEnergyWeight: TOTAL_ENERGY_WEIGHT,
      };
    },

    getcandelegatedmaxsize({ body, view }) {
      const key = keyArgument(body, 'owner_address');
      return unlessZero('max_size', jsonSun(world.accounts(view.tip().number).lent(key, key)));
    },

    getdelegatedresourcev2({ body, view }) {
      const [from, to] = [keyArgument(body, 'fromAddress'), keyArgument(body, 'toAddress')];
      const lent = jsonSun(world.accounts(view.tip().number).lent(from, to));
      if (lent === 0) return {};
      const loan = { from: wireAddress(from), to: wireAddress(to), frozen_balance_for_energy: lent };
      return { delegatedResource: [loan] };
    },

    getchainparameters: () => ({
      chainParameter: Object.entries(chainParameters).map(([key, value]) => ({ key, value })),
    }),
  };
}

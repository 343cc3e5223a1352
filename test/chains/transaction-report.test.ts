/** Odd answers about one transaction. Recorded ones and the conformance suite have the usual. */
import { base58 } from '@scure/base';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as evm from '../../src/chains/evm/transaction-report.ts';
import { TRANSFER_TOPIC } from '../../src/chains/evm/wire.ts';
import { solanaAddress } from '../../src/chains/solana/address.ts';
import * as solana from '../../src/chains/solana/transaction-report.ts';
import * as tron from '../../src/chains/tron/transaction-report.ts';
import { faultOf } from '../conformance/chain.ts';
import { accountKeyOf, solanaTokens, tronTokens } from '../support/simulated-node.ts';

const DIGITS = '5e'.repeat(32);
const word = (hex: string): string => hex.padStart(64, '0');

const evmToken = { symbol: 'USDT', address: `0x${'DA'.repeat(20)}`, decimals: 6 } as const;
const evmLog = {
  address: evmToken.address,
  topics: [TRANSFER_TOPIC, `0x${word('cd'.repeat(20))}`, `0x${word('ab'.repeat(20))}`],
  data: `0x${word('5')}`,
};
const evmSent = { hash: `0x${DIGITS}`, to: `0x${'11'.repeat(20)}`, value: '0x0' };
const evmReceipt = { transactionHash: `0x${DIGITS}`, blockNumber: '0x10', status: '0x1', logs: [] as unknown[] };
const readEvm = (one: unknown, other: unknown) =>
  evm.readTransactionReport(`0x${DIGITS}`, one, other, [evmToken], {
    method: 'eth_getTransactionReceipt',
    host: 'node',
  });

const SIGNATURE = base58.encode(new Uint8Array(64).fill(7));
const nameOf = (name: string): string => solanaAddress.format(accountKeyOf('solana', name));
const solanaAnswer = (meta: object = {}, more: object = {}) => ({
  slot: 16,
  meta: {
    err: null,
    preTokenBalances: [],
    postTokenBalances: [],
    preBalances: [9, 1, 0],
    postBalances: [4, 1, 0],
    ...meta,
  },
  transaction: { signatures: [SIGNATURE], message: { accountKeys: ['payer', 'payee'].map(nameOf) } },
  ...more,
});
const readSolana = (value: unknown) =>
  solana.readTransactionReport(SIGNATURE, value, solanaTokens, { method: 'getTransaction', host: 'node' });

const tronCall = {
  txID: DIGITS,
  ret: [{ contractRet: 'SUCCESS' }],
  raw_data: {
    contract: [{ type: 'TriggerSmartContract', parameter: { value: { contract_address: `41${'11'.repeat(20)}` } } }],
  },
};
const tronInfo = { id: DIGITS, blockNumber: 16, receipt: {} };
const readTron = (one: unknown, other: unknown) =>
  tron.readTransactionReport(DIGITS, one, other, tronTokens, { path: '/wallet/gettransactionbyid', host: 'node' });

test('EVM: nothing moved, or nothing that the answers show', () => {
  const other = `0x${word('1')}`;
  const logs = [
    { ...evmLog, data: `0x${word('0')}` },
    { ...evmLog, topics: [other, ...evmLog.topics.slice(1)] },
    { ...evmLog, topics: [TRANSFER_TOPIC, other, `0x${word('2')}`, `0x${word('3')}`] },
    { ...evmLog, data: '0x' },
    { address: evmToken.address },
    null,
  ];
  const found = readEvm({ ...evmSent, to: null }, { ...evmReceipt, logs });
  assert.equal(found.kind === 'mined' ? found.transfers : found.kind, []);
});

test('Solana: an account from a look-up table may be paid', () => {
  const loaded = { loadedAddresses: { writable: [nameOf('account')], readonly: [] }, postBalances: [4, 1, 5] };
  const found = readSolana(solanaAnswer(loaded));
  assert.equal(found.kind === 'mined' && found.transfers, [{ to: accountKeyOf('solana', 'account'), currency: null }]);
});

const nonsense: Record<
  string,
  readonly [read: (one: unknown, other: unknown) => unknown, ...cases: (readonly unknown[])[]]
> = {
  EVM: [
    readEvm,
    [{ ...evmSent, hash: `0x${word('1')}` }, evmReceipt],
    [evmSent, { ...evmReceipt, transactionHash: `0x${word('1')}` }],
    [evmSent, { ...evmReceipt, blockNumber: null }],
    [evmSent, { ...evmReceipt, logs: undefined }],
    [evmSent, { ...evmReceipt, status: undefined }],
    [{ ...evmSent, value: '1' }, evmReceipt],
    [{ ...evmSent, to: 'me' }, evmReceipt],
    ['text', evmReceipt],
    [evmSent, []],
  ],
  Solana: [
    readSolana,
    [null],
    [solanaAnswer({}, { slot: '16' })],
    [solanaAnswer({}, { meta: null })],
    [solanaAnswer({}, { transaction: { signatures: ['x'] } })],
    [solanaAnswer({}, { transaction: null })],
    [solanaAnswer({ preTokenBalances: null })],
  ],
  TRON: [
    readTron,
    [{ ...tronCall, txID: word('1') }, tronInfo],
    [tronCall, { ...tronInfo, id: word('1') }],
    [tronCall, { ...tronInfo, blockNumber: -1 }],
    [tronCall, { ...tronInfo, log: 'none' }],
    [[], tronInfo],
    [tronCall, 'text'],
  ],
};
for (const [family, [read, ...cases]] of Object.entries(nonsense)) {
  test(`${family}: an answer about another transaction, or without required fields, is nonsense`, async () => {
    for (const [one, other] of cases) {
      const { kind, code } = await faultOf((async () => read(one, other))());
      assert.equal({ kind, code }, { kind: 'transient', code: 'node_nonsense' }, JSON.stringify([one, other]));
    }
  });
}

test.run();

/** Odd answers about one transaction. Recorded ones and the conformance suite have the usual. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readTransactionReport } from '../../../src/chains/tron/transaction-report.ts';
import { faultOf } from '../../conformance/chain.ts';
import { tronTokens } from '../../support/simulated-node.ts';

const TX = '5e'.repeat(32);
const word = (hex: string): string => hex.padStart(64, '0');
const contract = (type: string, value: object) => ({ contract: [{ type, parameter: { value } }] });
const called = {
  txID: TX,
  ret: [{ contractRet: 'SUCCESS' }],
  raw_data: contract('TriggerSmartContract', { contract_address: `41${'11'.repeat(20)}` }),
};
const info = { id: TX, blockNumber: 16, receipt: {} };
const read = (one: unknown, other: unknown) =>
  readTransactionReport(TX, one, other, tronTokens, { path: '/wallet/gettransactionbyid', host: 'node' });
test('a transaction whose result is denied, or not told, has not succeeded', () => {
  for (const [one, other] of [
    [{ ...called, ret: [{ contractRet: 'OUT_OF_ENERGY' }] }, info],
    [called, { ...info, result: 'FAILED' }],
    [{ ...called, ret: undefined }, info],
  ]) {
    const found = read(one, other);
    assert.is(found.kind === 'mined' && found.succeeded, false);
  }
});

test('an answer about another transaction, or without required fields, is nonsense', async () => {
  for (const [one, other] of [
    [{ ...called, txID: word('1') }, info],
    [called, { ...info, id: word('1') }],
    [called, { ...info, blockNumber: -1 }],
    [called, { ...info, log: 'none' }],
    [[], info],
    [called, 'text'],
  ] as const) {
    const fault = await faultOf((async () => read(one, other))());
    assert.equal([fault.kind, fault.code], ['transient', 'node_nonsense'], JSON.stringify([one, other]));
  }
});

test.run();

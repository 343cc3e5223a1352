/** Reading a node's answers about one transaction. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TRANSFER_TOPIC } from '../../../src/chains/erc20.ts';
import { readTransactionReport } from '../../../src/chains/tron/transaction-report.ts';
import { faultOf } from '../../conformance/chain.ts';
import { tronTokenKeys, tronTokens } from '../../support/tron-node.ts';

const TX = '5e'.repeat(32);
const TO = 'ab'.repeat(20);
const word = (hex: string): string => hex.padStart(64, '0');
const contract = (type: string, value: object) => ({ contract: [{ type, parameter: { value } }] });
const called = {
  txID: TX,
  ret: [{ contractRet: 'SUCCESS' }],
  raw_data: contract('TriggerSmartContract', { contract_address: `41${'11'.repeat(20)}` }),
};
const sent = { ...called, raw_data: contract('TransferContract', { amount: 7, to_address: `41${TO}` }) };
const info = { id: TX, blockNumber: 16, receipt: {} };
const log = (address: string, units = '5') => ({
  address,
  topics: [TRANSFER_TOPIC, word('cd'.repeat(20)), word(TO)],
  data: word(units),
});
const read = (one: unknown, other: unknown) =>
  readTransactionReport(TX, one, other, tronTokens, { path: '/wallet/gettransactionbyid', host: 'node' });
const transfers = (one: unknown, other: unknown) => {
  const found = read(one, other);
  return found.kind === 'mined' ? found.transfers : found.kind;
};

test('unknown, waiting, mined, failed', () => {
  assert.equal(read({}, {}), { kind: 'unknown' });
  assert.equal(read(called, {}), { kind: 'waiting' });
  assert.equal(read({}, info), { kind: 'waiting' });
  assert.equal(read(called, info), { kind: 'mined', number: 16, succeeded: true, transfers: [] });
  for (const [one, other] of [
    [{ ...called, ret: [{ contractRet: 'OUT_OF_ENERGY' }] }, info],
    [called, { ...info, result: 'FAILED' }],
    [{ ...called, ret: undefined }, info],
  ]) {
    const found = read(one, other);
    assert.is(found.kind === 'mined' && found.succeeded, false);
  }
});

test('configured tokens by name; other tokens, TRX and TRC-10 as something else', () => {
  const logs = [log(tronTokenKeys[0]), log('ee'.repeat(20)), log(tronTokenKeys[1], '0')];
  assert.equal(transfers(called, { ...info, log: logs }), [
    { to: TO, currency: 'USDT' },
    { to: TO, currency: null },
  ]);
  assert.equal(transfers(sent, info), [{ to: TO, currency: null }]);
  const asset = contract('TransferAssetContract', { amount: 1, to_address: `41${TO}` });
  assert.equal(transfers({ ...sent, raw_data: asset }, info), [{ to: TO, currency: null }]);
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

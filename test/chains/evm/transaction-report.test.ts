/** Odd answers about one transaction. Recorded ones and the conformance suite have the usual. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readTransactionReport } from '../../../src/chains/evm/transaction-report.ts';
import { TRANSFER_TOPIC } from '../../../src/chains/evm/wire.ts';
import { faultOf } from '../../conformance/chain.ts';

const TX = `0x${'5e'.repeat(32)}`;
const TO = 'ab'.repeat(20);
const token = { symbol: 'USDT', address: `0x${'DA'.repeat(20)}`, decimals: 6 } as const;
const word = (hex: string): string => `0x${hex.padStart(64, '0')}`;
const log = (address: string, units = '5', topic = TRANSFER_TOPIC) => ({
  address,
  topics: [topic, word('cd'.repeat(20)), word(TO)],
  data: word(units),
});
const transaction = { hash: TX, to: `0x${'11'.repeat(20)}`, value: '0x0' };
const receipt = { transactionHash: TX, blockNumber: '0x10', status: '0x1', logs: [] as unknown[] };
const read = (one: unknown, other: unknown) =>
  readTransactionReport(TX, one, other, [token], { method: 'eth_getTransactionReceipt', host: 'node' });
const transfers = (one: unknown, other: unknown) => {
  const found = read(one, other);
  return found.kind === 'mined' ? found.transfers : found.kind;
};

test('nothing moved, or nothing that the answers show', () => {
  const odd = [
    log(token.address, '0'),
    log(token.address, '5', word('1')),
    { ...log(token.address), topics: [TRANSFER_TOPIC, word('1'), word('2'), word('3')] },
    { ...log(token.address), data: '0x' },
    { address: token.address },
    null,
  ];
  assert.equal(transfers({ ...transaction, to: null }, { ...receipt, logs: odd }), []);
});

test('an answer about another transaction, or without required fields, is nonsense', async () => {
  const cases: readonly (readonly [unknown, unknown])[] = [
    [{ ...transaction, hash: word('1') }, receipt],
    [transaction, { ...receipt, transactionHash: word('1') }],
    [transaction, { ...receipt, blockNumber: null }],
    [transaction, { ...receipt, logs: undefined }],
    [transaction, { ...receipt, status: undefined }],
    [{ ...transaction, value: '1' }, receipt],
    [{ ...transaction, to: 'me' }, receipt],
    ['text', receipt],
    [transaction, []],
  ];
  for (const [one, other] of cases) {
    const fault = await faultOf((async () => read(one, other))());
    assert.equal([fault.kind, fault.code], ['transient', 'node_nonsense'], JSON.stringify([one, other]));
  }
});

test.run();

/** Odd answers about one transaction. Recorded ones and the conformance suite have the usual. */
import { base58 } from '@scure/base';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { readTransactionReport } from '../../../src/chains/solana/transaction-report.ts';
import { faultOf } from '../../conformance/chain.ts';
import { accountKeyOf, solanaTokens } from '../../support/simulated-node.ts';

const TX = base58.encode(new Uint8Array(64).fill(7));
const [payer, payee, account] = ['payer', 'payee', 'account'].map((name) => accountKeyOf('solana', name)) as [
  string,
  string,
  string,
];
const text = solanaAddress.format;
const answer = (meta: object = {}, more: object = {}) => ({
  slot: 16,
  meta: {
    err: null,
    preTokenBalances: [],
    postTokenBalances: [],
    preBalances: [9, 1, 0],
    postBalances: [4, 1, 0],
    ...meta,
  },
  transaction: { signatures: [TX], message: { accountKeys: [payer, payee].map(text) } },
  ...more,
});
const read = (value: unknown) =>
  readTransactionReport(TX, value, solanaTokens, { method: 'getTransaction', host: 'node' });
test('an account from a look-up table may be paid', () => {
  const loaded = { loadedAddresses: { writable: [text(account)], readonly: [] }, postBalances: [4, 1, 5] };
  const found = read(answer(loaded));
  assert.equal(found.kind === 'mined' && found.transfers, [{ to: account, currency: null }]);
});

test('an answer about another transaction, or without required fields, is nonsense', async () => {
  for (const value of [
    null,
    answer({}, { slot: '16' }),
    answer({}, { meta: null }),
    answer({}, { transaction: { signatures: ['x'] } }),
    answer({}, { transaction: null }),
    answer({ preTokenBalances: null }),
  ]) {
    const fault = await faultOf((async () => read(value))());
    assert.equal([fault.kind, fault.code], ['transient', 'node_nonsense'], JSON.stringify(value));
  }
});

test.run();

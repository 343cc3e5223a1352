/** Reading a node's answer about one transaction. */
import { base58 } from '@scure/base';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { readTransactionReport } from '../../../src/chains/solana/transaction-report.ts';
import { TOKEN_PROGRAM } from '../../../src/chains/solana/wire.ts';
import { faultOf } from '../../conformance/chain.ts';
import { solanaAccountKey, solanaTokens } from '../../support/solana-node.ts';

const TX = base58.encode(new Uint8Array(64).fill(7));
const [payer, payee, account] = ['payer', 'payee', 'account'].map((name) => solanaAccountKey(name)) as [
  string,
  string,
  string,
];
const text = solanaAddress.format;
const MINT = text(solanaAccountKey('another mint'));

const balance = (accountIndex: number, mint: string, amount: string, decimals = 6) => ({
  accountIndex,
  mint,
  owner: text(payee),
  programId: TOKEN_PROGRAM,
  uiTokenAmount: { amount, decimals },
});
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
const transfers = (value: unknown) => {
  const found = read(value);
  return found.kind === 'mined' ? found.transfers : found.kind;
};

test('mined, and failed', () => {
  assert.equal(read(answer()), { kind: 'mined', number: 16, succeeded: true, transfers: [] });
  assert.equal(read(answer({ err: { InstructionError: [0, 'Custom'] }, postBalances: [4, 9, 0] })), {
    kind: 'mined',
    number: 16,
    succeeded: false,
    transfers: [],
  });
});

test('configured mints by name; other mints and SOL as something else', () => {
  const [usdt] = solanaTokens;
  const paid = {
    preTokenBalances: [balance(1, usdt.address, '1')],
    postTokenBalances: [balance(1, usdt.address, '6')],
  };
  assert.equal(transfers(answer(paid)), [{ to: payee, currency: 'USDT' }]);
  const others = {
    preTokenBalances: [balance(2, MINT, '5')],
    postTokenBalances: [balance(1, MINT, '3'), balance(2, MINT, '4')],
  };
  assert.equal(transfers(answer(others)), [{ to: payee, currency: null }]);
  assert.equal(transfers(answer({ postBalances: [3, 6, 0] })), [{ to: payee, currency: null }]);
  const loaded = { loadedAddresses: { writable: [text(account)], readonly: [] }, postBalances: [4, 1, 5] };
  assert.equal(transfers(answer(loaded)), [{ to: account, currency: null }], 'an account from a table');
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

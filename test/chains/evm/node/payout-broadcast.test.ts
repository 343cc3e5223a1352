import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBroadcast } from '../../../../src/chains/evm/node/payout-broadcast.ts';
import { has } from '../../../support/fields.ts';
import { faultIn } from '../../../support/refusal.ts';

const origin = { method: 'eth_sendRawTransaction', host: 'node:8545' };
const said = (message: string, code = -32000) => readBroadcast({ ok: false, id: 1, error: { code, message } }, origin);
const isTransient = (code: string, work: () => unknown) => has(faultIn(work), { kind: 'transient', code });

/** The clients' texts. */
const texts: Readonly<Record<string, readonly string[]>> = {
  known: [
    'already known',
    'known transaction: 12ab',
    'AlreadyKnown',
    'Known transaction',
    'transaction already imported',
    'ALREADY_EXISTS: already known',
    'nonce too low: next nonce 5, tx nonce 4',
    'nonce too low: address 0x12, tx: 4 state: 5',
    'Nonce too low',
    'OldNonce, Current nonce: 5, nonce of rejected tx: 4',
  ],
  replacement_underpriced: [
    'replacement transaction underpriced',
    'replacement transaction underpriced: new tx gas fee cap 10 <= 10 queued',
    'ReplacementNotAllowed',
    'could not replace existing tx',
    'Replacement transaction underpriced',
  ],
  fee_too_low: [
    'transaction underpriced: tip needed 1, tip permitted 0',
    'max fee per gas less than block base fee: address 0x12, maxFeePerGas: 1, baseFee: 7',
    'FeeTooLow, MaxFeePerGas too low',
    'fee cap less than block base fee',
    'Gas price below configured minimum gas price',
  ],
  native_short: [
    'insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1',
    'Insufficient funds for gas * price + value',
    'InsufficientFunds, Balance is zero, cannot pay gas',
    'Upfront cost exceeds account balance: insufficient balance',
  ],
  nonce_gap: ['nonce too high: address 0x12, tx: 9 state: 5', 'NonceGap', 'Nonce too far in the future'],
  gas_limit: ['intrinsic gas too low: gas 1, minimum needed 21000', 'exceeds block gas limit', 'GasLimitExceeded'],
  pool_full: ['txpool is full', 'transaction pool is full', 'account limit exceeded: pool limit reached'],
  node_refused: ['transaction type not supported', 'sender is a blacklisted account', ''],
};

for (const [expected, lines] of Object.entries(texts)) {
  test(`read as ${expected}, whichever client answers`, () => {
    for (const line of lines) {
      const answer = said(line);
      const kind = answer.kind === 'rejected' ? answer.code : answer.kind;
      assert.is(kind, expected, line);
      if (answer.kind === 'rejected') assert.match(answer.message, 'node:8545');
    }
  });
}

test('a hash is an acceptance; anything else is nonsense', () => {
  assert.equal(readBroadcast({ ok: true, id: 1, result: `0x${'AB'.repeat(32)}` }, origin), { kind: 'accepted' });
  for (const result of [null, true, '0x', '0x12', {}]) {
    isTransient('node_nonsense', () => readBroadcast({ ok: true, id: 1, result }, origin));
  }
});

test('a problem of the node is a transient fault, not a rejection', () => {
  for (const [message, code, fault] of [
    ['transaction indexing is in progress', -32000, 'node_indexing'],
    ['limit exceeded', -32005, 'node_rate_limited'],
    ['Too Many Requests', -32000, 'node_rate_limited'],
    ['the method eth_sendRawTransaction does not exist/is not available', -32601, 'node_method_missing'],
  ] as const) {
    isTransient(fault, () => said(message, code));
  }
});

test.run();

/**
 * Readers of the recordings that concern payouts, and of the errors of nodes.
 */
import * as assert from 'uvu/assert';
import type { SpendDraft } from '../../../src/chains/spend.ts';
import type { RefundIntent } from '../../../src/core/intent.ts';
import { tokenFaultOf } from '../../conformance/chain.ts';
import { column } from '../../support/fields.ts';
import { refundIntent } from '../../support/intents.ts';
import type { Json, Recording } from '../../support/recordings.ts';
import { quoted, refused } from '../seed-wallets.ts';
import {
  type Claim,
  calling,
  expectFault,
  following,
  PAYEE,
  PAYER,
  paying,
  type Recorded,
  recordedTokens,
  resultOf,
} from './recorded-claims.ts';

const UNITS = 1_000n;
/** A call like each of the 1001 in a batch that was recorded in words. */
const FIRST = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] };

const intent: RefundIntent = refundIntent({ id: '0'.repeat(26), network: 'test:recorded', to: PAYEE, units: UNITS });

/** A refund in the token, or one of the native coin. */
const draftOf = (isToken: boolean): SpendDraft => ({
  intent,
  payer: PAYER,
  owners: [PAYER],
  to: PAYEE,
  token: isToken ? (recordedTokens[0] ?? null) : null,
});

async function quotes(recording: Recording, recorded: Recorded) {
  const { played, recordings } = recorded;
  const prices = [...recordings.values()].filter(({ name }) =>
    /^eth_(gasPrice|maxPriorityFeePerGas|feeHistory(\.one)?)$/.test(name),
  );
  played.play(recording, ...prices.filter(({ name }) => name !== recording.name));
  const isToken = recording.request.params[0]?.data !== undefined;
  return paying(recorded, (node) => node.quote(draftOf(isToken), null, []));
}

/** A quote at the recorded price: twice the base fee of the next block, and the suggested tip. */
async function readsPrice(recording: Recording, recorded: Recorded): Promise<void> {
  const quote = quoted(await quotes(recording, recorded));
  const history = recording.request.method === 'eth_feeHistory' ? recording : null;
  const one = history ?? recorded.recordings.get('eth_feeHistory.one') ?? recorded.the('eth_feeHistory');
  const tip = BigInt(recorded.the('eth_maxPriorityFeePerGas').response.result);
  const { max_fee_per_gas: maxFee, max_priority_fee_per_gas: offered } = quote.terms;
  assert.equal([maxFee, offered].map(BigInt as (text?: string) => bigint), [
    2n * BigInt(one.response.result.baseFeePerGas.at(-1)) + tip,
    tip,
  ]);
}

async function readsGas(recording: Recording, recorded: Recorded): Promise<void> {
  const quote = quoted(await quotes(recording, recorded));
  const gas = BigInt(recording.response.result);
  assert.ok(BigInt(quote.terms.gas_limit ?? 0) >= gas);
}

/** The node says that the call would fail: that is a refusal, not a problem of the node. */
async function readsRefusal(recording: Recording, recorded: Recorded): Promise<void> {
  const quote = refused(await quotes(recording, recorded));
  assert.is(quote.refused, 'would_fail');
  // BSC appends the whole return data to its text.
  assert.ok(quote.message.length < 300, quote.message);
}

const sends =
  (kind: 'accepted' | 'known' | 'rejected', code?: string, advice = /./) =>
  async (recording: Recording, recorded: Recorded): Promise<void> => {
    recorded.played.play(recording);
    const bytes = Buffer.from(recording.request.params[0].slice(2), 'hex');
    const broadcast = await paying(recorded, (node) => node.broadcast(bytes));
    assert.is(broadcast.kind, kind, recording.name);
    if (broadcast.kind !== 'rejected') return;
    assert.is(broadcast.code, code, broadcast.message);
    assert.match(broadcast.message, advice);
  };

/** A call that fails with a fault of this code, and its advice. */
const means =
  (code: string, advice: RegExp) =>
  async (recording: Recording, recorded: Recorded): Promise<void> => {
    const fault = await expectFault(() => resultOf(recording), code, recording.name);
    assert.match(fault.message, advice);
    const { method, params } = recording.request;
    // Some requests are none that the client can make.
    if (method === undefined) return;
    recorded.played.play(recording);
    await calling(recorded, (rpc) => expectFault(() => rpc.call(method, params), code, recording.name));
  };

/** Refusals of the HTTP server. */
const refuses =
  (code: string, advice: RegExp) =>
  async (recording: Recording, recorded: Recorded): Promise<void> => {
    recorded.played.play(recording);
    const fault = await calling(recorded, (rpc) =>
      expectFault(() => rpc.call('eth_chainId', []), code, recording.name),
    );
    assert.match(fault.message, advice);
  };

/** The identity of the node: its chain and the decimals of its token. */
async function identifies(recording: Recording, recorded: Recorded): Promise<void> {
  recorded.played.play(recording);
  const { chainId, decimals } = await following(recorded, (node) => node.identity());
  assert.is(chainId, recorded.chainId);
  assert.equal([...decimals.values()], [6, 6]);
}

async function findsNoToken(recording: Recording, recorded: Recorded): Promise<void> {
  recorded.played.play(recording, recorded.the('eth_getBlockByNumber.latest'));
  assert.match(String(await following(recorded, tokenFaultOf)), /token/);
}

async function countsTransactions(recording: Recording, recorded: Recorded): Promise<void> {
  recorded.played.play(recording, recorded.the('eth_getBlockByNumber.latest'));
  const count = Number(recording.response.result);
  assert.equal(await paying(recorded, (node) => node.count(PAYER)), { final: count, head: count, pending: count });
}

/** The count at the head is known, though that of the final block is not any more. */
async function countsWithoutFinalState(recording: Recording, recorded: Recorded): Promise<void> {
  const final = recorded.the('eth_getBlockByNumber.earliest');
  const pruned = { ...recording, request: { ...recording.request, params: [`0x${PAYER}`, '0x0'] } };
  const atHead = recorded.the('eth_getTransactionCount');
  const pending = { ...atHead, request: { ...atHead.request, params: [`0x${PAYER}`, 'pending'] } };
  recorded.played.play(pruned, atHead, pending, final);
  assert.equal(await paying(recorded, (node) => node.count(PAYER)), { final: null, head: 14, pending: 14 });
}

/** The calls of a recorded batch, sent as one. The node answers single calls. */
async function batches(recording: Recording, recorded: Recorded) {
  const { played, the } = recorded;
  const single = /eth_chainId/.test(JSON.stringify(recording.request))
    ? the('eth_chainId')
    : the('eth_getBlockByNumber.earliest');
  played.play(recording, single);
  const calls = recording.request.map(({ method, params }: Json) => ({ method, params }));
  return calling(recorded, (rpc) => rpc.batch(calls), recording.name.endsWith('.websocket') ? 'wsUrl' : 'httpUrl');
}

/** A batch that the node refuses, in part or as a whole, is sent again in smaller ones, at last as single calls. */
async function splitsBatch(recording: Recording, recorded: Recorded): Promise<void> {
  const answers = await batches(recording, recorded);
  assert.is(answers.length, recording.request.length);
  assert.ok(answers.every(({ ok }) => ok));
}

export const payoutClaims: readonly Claim[] = [
  [/^eth_(chainId|syncing)$/, identifies],
  [/^(postmerge|restarted)\.eth_syncing$/, identifies],
  [/^eth_call\.decimals$/, identifies],
  [/^eth_call\.no-contract$/, findsNoToken],
  [/^eth_getCode\.none$/, findsNoToken],
  [/^eth_getTransactionCount$/, countsTransactions],
  [/^eth_(feeHistory(\.one)?|gasPrice|maxPriorityFeePerGas|feeHistory\.percentiles)$/, readsPrice],
  [/^eth_call\.no-such-function$/, readsPrice],
  [/^eth_estimateGas\.ok$/, readsGas],
  [/^eth_estimateGas\.(reverted-.*|insufficient-funds|poor-with-fee)$/, readsRefusal],
  [
    /^eth_sendRawTransaction\.(accepted.*|good|fee-below-base|nonce-gap-accepted|replacement-accepted)$/,
    sends('accepted'),
  ],
  [/^eth_sendRawTransaction\.(already-known|mined-already|nonce-too-low)$/, sends('known')],
  [/^eth_sendRawTransaction\.replacement-underpriced$/, sends('rejected', 'replacement_underpriced')],
  [/^eth_sendRawTransaction\.insufficient-funds.*$/, sends('rejected', 'native_short')],
  [/^eth_sendRawTransaction\.(intrinsic-gas|gas-limit-of-.*)$/, sends('rejected', 'gas_limit')],
  [/^eth_sendRawTransaction\.(garbage|wrong-chain)$/, sends('rejected', 'node_refused')],
  [/^eth_sendRawTransaction\.fee-cap-of-node$/, sends('rejected', 'fee_capped', /--rpc\.txfeecap/)],
  [
    /^eth_sendRawTransaction\.tip-of-1-wei$/,
    (file, recorded) => (file.response.error ? sends('rejected', 'fee_too_low') : sends('accepted'))(file, recorded),
  ],
  [/^postmerge\.eth_get(BlockByNumber\.1|BlockReceipts|Logs)$/, means('node_history_pruned', /archive node/)],
  [/^pruned\.eth_(call|getBalance|getTransactionCount)\..*$/, means('node_history_pruned', /wait for finality/)],
  [/^pruned\.eth_getTransactionCount\..*$/, countsWithoutFinalState],
  [/^eth_getBlockByNumber\.safe\.none$/, means('node_block_unknown', /chain is read again/)],
  [/^eth_getTransactionCount\.above-head$/, means('node_block_unknown', /chain is read again/)],
  [/^eth_getLogs\.(range-.*|too-many-addresses)$/, means('node_error', /log/)],
  [/^method-missing$/, means('node_method_missing', /eth namespace/)],
  [/^(params-missing|not-json|batch\.empty)$/, means('node_error', /log/)],
  [
    /^batch\.ok$/,
    async (file, recorded) => {
      const answers = await batches(file, recorded);
      assert.equal(column(answers, 'ok'), [true, false]);
    },
  ],
  [/^batch\.(request-limit|response-too-large).*$/, splitsBatch],
  // Nine calls stand for the 1001: the list has the first one's error and no more.
  [/^batch\.too-large$/, (file, recorded) => splitsBatch({ ...file, request: Array(9).fill(FIRST) }, recorded)],
  [/^http\.body-too-large$/, refuses('node_request_too_large', /413 .*length of a request/)],
  [/^http\.engine-port$/, refuses('node_refused', /401 "missing token.*JSON-RPC port \(8545\)/)],
  [/^http\.wrong-host-header$/, refuses('node_refused', /403 "invalid host.*--http\.vhosts/)],
];

/**
 * Every answer that was recorded from a real java-tron to a call that Quayside makes, read by the code that reads them
 * in production, over HTTP. A recording that nothing here reads fails the last test.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type PayoutNode, type SpendDraft, UnclearOutcome } from '../../../../src/chains/spend.ts';
import { tronAddress } from '../../../../src/chains/tron/address.ts';
import { openNode } from '../../../../src/chains/tron/node/node.ts';
import { readBroadcast } from '../../../../src/chains/tron/node/payout-broadcast.ts';
import {
  isFrozen,
  readHeld,
  readKind,
  readNative,
  tryTransfer,
} from '../../../../src/chains/tron/node/payout-calls.ts';
import { openPayoutNode } from '../../../../src/chains/tron/node/payout-node.ts';
import { chainIdOf, openTronRpc, readHeaderAt } from '../../../../src/chains/tron/node/rpc.ts';
import { readAllowances, readPrices, readStakeShare } from '../../../../src/chains/tron/payout-costs.ts';
import { readHeader, tronWire } from '../../../../src/chains/tron/wire.ts';
import { Fault } from '../../../../src/core/fault.ts';
import type { Intent } from '../../../../src/core/intent.ts';
import { isRefused } from '../../../../src/core/spend.ts';
import type { Token } from '../../../../src/core/transfer.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { tokenFaultOf } from '../../../conformance/chain.ts';
import { column, has } from '../../../support/fields.ts';
import { refundIntent } from '../../../support/intents.ts';
import { type Json, type Recording, startRecordedTron, theRecording } from '../../../support/recordings.ts';
import { faultOf } from '../../../support/refusal.ts';
import { openRecordings } from '../../recorded.ts';

const CHAIN_ID = '1527887694';
const PAYER = 'b0c7cbb6cce48ef9320a5ed494545063f6305d62';
const BLOCK = '/wallet/getblock';
const SOLID = '/walletsolidity/getblock';
const INFOS = '/wallet/gettransactioninfobyblocknum';
const CONSTANT = '/wallet/triggerconstantcontract';
const usdt: Token = { symbol: 'USDT', address: 'TZ1u2fNFhEuUfpZ9tw4zUV84G1TMLMoL1E', decimals: 6 };
const USDT = tronAddress.parse(usdt.address) ?? '';
const limits = { requestTimeoutMs: 10_000, responseBytesMax: 1_000_000, idleMsMax: 10_000, concurrencyMax: 4 };

const { recordings, recording, expectAllRead } = openRecordings('tron/java-tron-4.8.0');
const recordingNames = [...recordings.keys()];
const peek = (name: string): Recording => theRecording(recordings, name);

let recorded: Awaited<ReturnType<typeof startRecordedTron>>;
let node: ReturnType<typeof openNode>;
let rpc: ReturnType<typeof openTronRpc>;
let payouts: PayoutNode;

test.before(async () => {
  recorded = await startRecordedTron(peek('unknown-path'));
  const { httpUrl: url } = recorded;
  node = openNode({ url, tokens: [usdt], ...limits });
  rpc = openTronRpc({ url, ...limits }, systemClock);
  payouts = openPayoutNode({ url, chainId: CHAIN_ID, tokens: [usdt], finalDepth: 19, ...limits });
});
test.after(async () => {
  await Promise.all([node.close(), rpc.transport.close(), payouts.close()]);
  await recorded.close();
});
test.before.each(() => recorded.answers.clear());

/** Lets the node answer requests of a path with a recording, whatever is asked. */
function serve(name: string, path?: string): Recording {
  const one = recording(name);
  recorded.answers.set(path ?? one.path, () => one);
  return one;
}
const named = (prefix: string): string[] => recordingNames.filter((name) => name.startsWith(prefix));
const keyOf = (wire: string): string => wire.slice(2);

/** A block of another number; where its place matters and its content does not. */
function blockAt(number: number): Recording {
  const { text, ...rest } = recording('getblock.by-hash');
  const id = number.toString(16).padStart(16, '0');
  return { ...rest, text: text.replace(/"blockID":".{16}/, `"blockID":"${id}`).replace('145', String(number)) };
}

test('blocks, by number, by hash and at the head, on both ports', async () => {
  const names = recordingNames.filter(
    (name) => /^(solidity\.|odd\.)?get(now)?block(byid|bynum)?\b/.test(name) && peek(name).response?.blockID,
  );
  assert.is(names.length, 18);
  for (const name of [...names, 'empty-body']) {
    const { response } = serve(name, BLOCK);
    const { number = 0, timestamp, parentHash } = response.block_header.raw_data;
    const expected = { hash: response.blockID, parent: parentHash, number, timeS: timestamp / 1000 };
    assert.equal(await node.head(), expected, name);
    assert.equal(await node.header(response.blockID), expected, name);
    assert.equal(await node.range(number, number), [expected], name);
    serve(name, SOLID);
    assert.equal(await node.finalized(), expected, name);
  }
  for (const name of named('getblockby').filter((one) => peek(one).response.block)) {
    for (const block of recording(name).response.block) {
      assert.is(readHeader(block, { path: BLOCK, host: 'recorded' }).ref.hash, block.blockID);
    }
  }
});

test('no block is null, never another block', async () => {
  const names = recordingNames.filter((name) => /^(solidity\.)?getblock/.test(name) && peek(name).text === '{}\n');
  assert.is(names.length, 6);
  for (const name of names) {
    serve(name, BLOCK);
    assert.is(await node.header('ab'.repeat(32)), null, name);
    assert.is((await faultOf(node.range(1, 1))).code, 'node_range_broken', name);
    serve(name, SOLID);
    assert.is(await node.finalized(), null, name);
  }
});

test('the first block names the chain', async () => {
  serve('getblock.genesis.detail-false');
  const first = await readHeaderAt(rpc, BLOCK, 0);
  assert.is(first && chainIdOf(first), CHAIN_ID);
});

test('a block with transactions of every kind, on both ports', async () => {
  for (const [content, infos] of [
    ['getblock.many.detail-true', 'gettransactioninfobyblocknum.many'],
    ['getblock.many.detail-true.visible', 'gettransactioninfobyblocknum.many'],
    ['solidity.getblock.many.detail-true', 'solidity.gettransactioninfobyblocknum.many'],
  ] as const) {
    const { response } = serve(content, BLOCK);
    serve(infos, INFOS);
    const block = await node.head();
    for (const isThorough of [false, true]) {
      const found = tronWire.decode(await node.content(block, isThorough), [usdt], () => true);
      const expected = [10, 4, 12.345678, 10, 10, 3, 10, 10, 1, 2, 7].map((amount) => BigInt(amount * 1e6));
      assert.equal(column(found, 'units'), expected, content);
      assert.equal(
        [...new Set(found.map(({ from }) => from))].length,
        2,
        'the payer, and the contract that pays a batch',
      );
      const ids = response.transactions.map(({ txID }: Json) => txID);
      assert.ok(found.every(({ tx }) => ids.includes(tx)));
      // The token with 18 decimals, which is not configured, and the contract that makes a Transfer up.
      assert.equal(
        found.filter(({ tx }) =>
          ['liar', 'dai'].some((one) => recording(`gettransactionbyid.${one}`).response.txID === tx),
        ),
        [],
      );
    }
  }
});

test('a block without transactions is empty; answers without infos are no empty block', async () => {
  serve('getblock.empty-block.detail-true', BLOCK);
  serve('gettransactioninfobyblocknum.empty-block');
  assert.equal(
    tronWire.decode(await node.content(await node.head(), false), [usdt], () => true),
    [],
  );
  serve('getblock.genesis.detail-true', BLOCK);
  serve('gettransactioninfobyblocknum.zero');
  assert.equal(
    tronWire.decode(await node.content(await node.head(), false), [usdt], () => true),
    [],
  );
  serve('getblock.many.detail-true', BLOCK);
  const block = await node.head();
  for (const [name, code] of [
    ['gettransactioninfobyblocknum.missing', 'node_content_doubtful'],
    ['solidity.gettransactioninfobyblocknum.above-solid', 'node_content_doubtful'],
    ['gettransactioninfobyblocknum.negative', 'node_block_unknown'],
  ] as const) {
    serve(name, INFOS);
    const content = await node.content(block, false);
    const decode = async () => tronWire.decode(content, [usdt], () => true);
    assert.is((await faultOf(decode())).code, code, name);
  }
});

const succeeded = [
  'exact',
  'visible',
  'top1',
  'top2',
  'over',
  'batch',
  'inner',
  'liar',
  'trx',
  'trc10',
  'dai',
  'zero',
  'from',
  'memo',
  'multi1',
  'multi2',
  'multi3',
  'fee',
  'freeze',
  'delegate',
];
const failed = ['outer', 'oog', 'endless-loop', 'invalid-opcode', 'out-of-time-deploy'];
const INFO = '/wallet/gettransactioninfobyid';

test('one transaction of each kind, as it is attested before it is credited', async () => {
  for (const name of [...succeeded, ...failed]) {
    const { response: info } = serve(`gettransactioninfobyid.${name}`, INFO);
    await attests(name, info, succeeded.includes(name) && info.receipt.result === 'SUCCESS');
  }
});

async function attests(name: string, { id, blockNumber: number }: Json, holds: boolean): Promise<void> {
  const header = blockAt(number);
  recorded.answers.set(BLOCK, () => header);
  const { hash } = await node.head();
  assert.is(await node.attest({ hash, number }, [id]), holds ? 'holds' : 'gone', name);
}

test('the infos of transactions that were not recorded themselves', async () => {
  for (const [name, holds] of [
    ['energy-of-stake', true],
    ['energy-of-stake-new-rule', true],
    ['energy-penalty', true],
    ['undelegate', false],
    ['poor-trigger', false],
  ] as const) {
    await attests(name, serve(`gettransactioninfobyid.${name}`).response, holds);
  }
});

/** Reads the outcome of a recorded transaction as that of a payout. */
async function outcomeOf(name: string, intent: Intent, port: '' | 'solidity.' = ''): Promise<string> {
  const { response: transaction } = serve(`${port}gettransactionbyid.${name}`, '/walletsolidity/gettransactionbyid');
  const { response: info } = serve(`${port}gettransactioninfobyid.${name}`, '/walletsolidity/gettransactioninfobyid');
  serve('getblock.genesis.detail-false', BLOCK);
  const solid = blockAt(1000);
  recorded.answers.set(SOLID, () => solid);
  const { owner_address: owner, data = '' } = transaction.raw_data.contract[0].parameter.value;
  const draft: SpendDraft = {
    intent,
    payer: keyOf(owner),
    owners: [keyOf(owner)],
    to: data.slice(32, 72),
    token: intent.kind === 'gas' ? null : usdt,
  };
  const outcome = await payouts.outcome(draft, [{ tx: transaction.txID, terms: {}, payer: draft.payer }]);
  if (outcome.kind !== 'succeeded' && outcome.kind !== 'failed') return outcome.kind;
  has(outcome, { tx: info.id, number: info.blockNumber, feeUnits: BigInt(info.fee) }, name);
  return outcome.kind;
}

test('the outcome of a payout, from the block’s result, the info’s and the receipt’s', async () => {
  const refund = (units: bigint): Intent => refundIntent({ id: 'po_1', network: 'live:tron', to: '', units });
  const gas: Intent = { kind: 'gas', id: 'gas_1', network: 'live:tron', form: 'transfer', index: 0, units: 1n };
  assert.is(await outcomeOf('exact', refund(10_000_000n)), 'succeeded');
  assert.is(await outcomeOf('exact', refund(10_000_000n), 'solidity.'), 'succeeded');
  assert.is(await outcomeOf('memo', refund(10_000_000n)), 'succeeded');
  assert.is(await outcomeOf('fee', refund(10_000_000n)), 'succeeded', 'the token keeps a fee of what left the wallet');
  for (const name of ['outer', 'oog', 'endless-loop', 'invalid-opcode']) {
    assert.is(await outcomeOf(name, refund(10_000_000n)), 'failed', name);
  }
  for (const name of ['trx', 'delegate']) assert.is(await outcomeOf(name, gas), 'succeeded', name);
  for (const name of ['inner', 'zero', 'dai', 'liar']) {
    const fault = await faultOf(outcomeOf(name, refund(10_000_000n)));
    assert.is(fault.code, 'payout_outcome_unclear', `${name}: it succeeded, and did not pay`);
    const { fee } = recording(`gettransactioninfobyid.${name}`).response;
    assert.ok(fault instanceof UnclearOutcome);
    assert.is(fault.feeUnits, BigInt(fee), `${name} had its cost`);
  }
});

test('accounts: only those that exist; balances that no double holds, and one below zero', async () => {
  const accounts: Readonly<Record<string, readonly [Awaited<ReturnType<typeof readKind>>, bigint | null]>> = {
    existing: ['wallet', 249_997_736_068_930n],
    borrower: ['wallet', 5_000_000n],
    contract: ['contract', 0n],
    new: [null, null],
    'out-of-the-pool': ['wallet', 3_000_000n],
    'beyond-2-53': ['wallet', BigInt(Number.MAX_SAFE_INTEGER)],
    'black-hole': ['wallet', 0n],
  };
  for (const [name, expected] of Object.entries(accounts)) {
    const key = keyOf(serve(`getaccount.${name}`).request.address);
    assert.equal([await readKind(rpc, key), await readNative(rpc, key)], expected, name);
  }
  serve('getaccount.existing.visible');
  assert.is((await faultOf(readNative(rpc, PAYER))).code, 'node_nonsense', 'an address in another spelling');
});

test('allowances, stakes, loans and prices', async () => {
  const prices = readPrices(await rpc.ask({ path: serve('getchainparameters').path, body: {} }), {
    path: '/wallet/getchainparameters',
    host: 'recorded',
  });
  assert.equal(prices, { perEnergy: 100n, perByte: 10n, newAccount: 100_000n, freeBytes: 5_000n, energyStep: 0n });
  const origin = { path: '/wallet/getaccountresource', host: 'recorded' };
  const resources: Readonly<Record<string, readonly [energy: bigint, freeBytes: bigint, staked: bigint | null]>> = {
    existing: [0n, 298n, null],
    staked: [50_000_000_000n, 78n, 10_000n],
    borrower: [10_000_000_000n, 5_000n, 10_000n],
    contract: [0n, 5_000n, null],
  };
  for (const [name, [energy, freeBytes, staked]] of Object.entries(resources)) {
    const value = await rpc.ask({ path: serve(`getaccountresource.${name}`).path, body: {} });
    assert.equal(readAllowances(value, true, prices, origin), { energy, stakedBytes: 0n, freeBytes }, name);
    assert.is(readStakeShare(value, origin)?.staked ?? null, staked, name);
  }
  const unknown = await rpc.ask({ path: serve('getaccountresource.new').path, body: {} });
  assert.is(readAllowances(unknown, false, prices, origin).freeBytes, 5_000n);
});

test('what may be lent and what is lent, as a loan is quoted', async () => {
  const quote = async (form: 'delegate' | 'reclaim', name: string, units: bigint): Promise<string> => {
    for (const [one, path] of [
      ['getblock.by-hash', SOLID],
      ['getchainparameters', undefined],
      ['getaccount.existing', undefined],
      ['getaccountresource.staked', undefined],
    ] as const) {
      serve(one, path);
    }
    const [first, head] = [recording('getblock.genesis.detail-false'), recording('getblock.by-hash')];
    recorded.answers.set(BLOCK, ({ id_or_num }) => (id_or_num === '0' ? first : head));
    const [payer, receiver] = [recording('getaccount.existing'), recording('getaccount.borrower')];
    const account = ({ address }: Json) => (keyOf(address) === PAYER ? payer : receiver);
    recorded.answers.set('/wallet/getaccount', account);
    serve(name);
    const intent: Intent = { kind: 'gas', id: 'gas_1', network: 'live:tron', form, index: 0, units };
    const to = keyOf(receiver.request.address);
    const quoted = await payouts.quote({ intent, payer: PAYER, owners: [PAYER], to, token: null }, null, []);
    return isRefused(quoted) ? quoted.refused : 'quoted';
  };
  const TRX = 1_000_000n;
  assert.is(await quote('delegate', 'getcandelegatedmaxsize.staked', 10_000n * TRX), 'quoted');
  assert.is(await quote('delegate', 'getcandelegatedmaxsize.staked', 10_000n * TRX + 1n), 'would_fail');
  assert.is(await quote('delegate', 'getcandelegatedmaxsize.after-a-loan', 8_000n * TRX), 'quoted');
  assert.is(await quote('delegate', 'getcandelegatedmaxsize', 1n), 'would_fail');
  assert.is(await quote('delegate', 'getcandelegatedmaxsize.new', 1n), 'would_fail');
  assert.is(await quote('reclaim', 'getdelegatedresourcev2.one', 2_000n * TRX), 'quoted');
  assert.is(await quote('reclaim', 'getdelegatedresourcev2.one', 2_000n * TRX + 1n), 'would_fail');
  assert.is(await quote('reclaim', 'getdelegatedresourcev2.none', 1n), 'would_fail');
});

test('constant calls: balances, lists, transfers as they would go', async () => {
  const held = async (name: string) => {
    serve(`triggerconstantcontract.${name}`);
    return readHeld(rpc, USDT, PAYER);
  };
  assert.is(await held('many-transfers'), 999_899_998_742_908_643n);
  assert.is(await held('balance-out-of-the-pool'), 7_000_000n, 'from a transfer in no block yet');
  for (const name of ['no-selector', 'no-such-function', 'returns-nothing', 'returns-one-byte']) {
    assert.is((await faultOf(held(name))).code, 'node_nonsense', name);
  }
  for (const name of ['invalid-opcode', 'endless-loop', 'no-contract', 'no-owner']) {
    assert.is((await faultOf(held(name))).code, 'node_error', name);
  }
  serve('triggerconstantcontract.listed-no');
  assert.is(await isFrozen(rpc, USDT, PAYER), false);
  const tried = async (name: string) => {
    serve(`triggerconstantcontract.${name}`);
    return tryTransfer(rpc, USDT, PAYER, PAYER, 1n);
  };
  assert.equal(await tried('transfer'), { value: '', energy: 13_408n, why: '' });
  assert.is((await tried('energy-penalty')).energy, 23_048n, 'the penalty is part of it');
  assert.equal(
    recording('gettransactioninfobyid.energy-penalty').response.receipt.energy_usage_total,
    recording('triggerconstantcontract.energy-penalty').response.energy_used,
  );
  for (const name of ['revert-with-reason', 'revert-without-reason']) {
    has(await tried(name), { value: null, why: 'REVERT opcode executed' }, name);
  }
});

test('a token is checked by its decimals, and what is no token is told from a node that fails', async () => {
  const identity = (name: string) => {
    serve(name, CONSTANT);
    serve('getblock.genesis.detail-false', BLOCK);
    return node.identity();
  };
  for (const name of ['triggerconstantcontract.decimals', 'triggerconstantcontract.decimals.visible']) {
    const { chainId, decimals } = await identity(name);
    assert.equal({ chainId, decimals: decimals.get(usdt.address) }, { chainId: CHAIN_ID, decimals: 6 });
  }
  for (const [name, code] of [
    ['triggerconstantcontract.returns-nothing', 'token_not_a_contract'],
    ['triggerconstantcontract.returns-one-byte', 'token_not_a_contract'],
    ['triggerconstantcontract.no-such-function', 'token_not_a_contract'],
    ['triggerconstantcontract.no-contract', 'node_syncing'],
    ['odd.constant-calls-off', 'node_syncing'],
    ['triggerconstantcontract.invalid-opcode', 'node_error'],
    ['triggerconstantcontract.endless-loop', 'node_error'],
  ] as const) {
    assert.is((await tokenFaultOf({ identity: () => identity(name) })).code, code, name);
  }
});

/** The reading of a broadcast's answer: its kind, the code of a rejection, or that of a fault of the node. */
const broadcasts: Readonly<Record<string, string>> = {
  accepted: 'accepted',
  'accepted-trigger': 'accepted',
  'with-memo': 'accepted',
  'would-revert': 'accepted',
  'fee-limit-zero': 'accepted',
  'poor-trigger': 'accepted',
  'first-of-a-silent-node': 'accepted',
  'again-when-mined': 'known',
  'again-while-pending': 'known',
  'no-signature': 'signature',
  'short-signature': 'signature',
  'signature-of-somebody-else': 'signature',
  'two-signatures': 'signature',
  'zero-signature': 'signature',
  'wrong-reference': 'reference_block',
  'reference-to-a-future-block': 'reference_block',
  expired: 'expired',
  'expires-in-25-hours': 'expired',
  'more-trx-than-there-is': 'native_short',
  'no-bandwidth-left': 'native_short',
  'trx-of-an-unknown-account': 'native_short',
  'trigger-of-an-unknown-account': 'native_short',
  'too-big': 'too_big',
  empty: 'would_fail',
  'no-contract': 'would_fail',
  'no-amount': 'would_fail',
  'trx-to-itself': 'would_fail',
  'trx-to-a-contract': 'would_fail',
  'trigger-of-no-contract': 'would_fail',
  'fee-limit-above-maximum': 'would_fail',
  'server-busy': 'node_busy',
  'no-connection': 'node_isolated',
  'block-unsolidified': 'node_not_final',
  'not-hex': 'node_error',
  'no-protobuf': 'node_error',
};

test('broadcasts: taken, known, refused for the transaction’s sake or the node’s', async () => {
  const codeOf = async (work: () => Promise<Awaited<ReturnType<PayoutNode['broadcast']>>>): Promise<string> => {
    try {
      const answer = await work();
      return answer.kind === 'rejected' ? answer.code : answer.kind;
    } catch (error) {
      if (error instanceof Fault && error.kind === 'transient') return error.code;
      throw error;
    }
  };
  for (const [name, expected] of Object.entries(broadcasts)) {
    serve(`broadcasthex.${name}`);
    assert.is(await codeOf(() => payouts.broadcast(Uint8Array.of(1))), expected, name);
  }
  // A loan of more than is staked was refused before it was signed, in the words that a broadcast would have.
  const [, message = ''] = recording('delegateresource.no-stake').response.Error.split(' : ');
  const noStake = { result: false, code: 'CONTRACT_VALIDATE_ERROR', message };
  const codeOn = (answer: object) => codeOf(async () => readBroadcast(answer, { path: '/', host: 'recorded' }));
  assert.is(await codeOn({ result: false, code: 'NOT_ENOUGH_EFFECTIVE_CONNECTION', message: 'no' }), 'node_isolated');
  assert.is(await codeOn({}), 'node_nonsense');
  assert.is(await codeOn(noStake), 'would_fail');
});

test('errors, whatever path they are answers to', async () => {
  for (const [name, code] of [
    ['a-list', 'node_error'],
    ['malformed-json', 'node_error'],
    ['wrong-type', 'node_error'],
    ['getblock.hash-of-a-height-above-head', 'node_error'],
    ['getblock.negative', 'node_error'],
    ['getblock.not-a-hash', 'node_error'],
    ['getblock.number-not-text', 'node_error'],
    ['getaccount.malformed', 'node_error'],
    ['getaccount.base58-without-visible', 'node_error'],
    ['gettransactioninfobyid.malformed', 'node_error'],
    ['delegateresource.no-stake', 'node_error'],
    ['unknown-path', 'node_error'],
    ['solidity-on-full-port', 'node_error'],
    ['odd.disabled-path', 'node_method_missing'],
  ] as const) {
    const { path } = serve(name);
    const fault = await faultOf(rpc.ask({ path, body: {} }));
    has(fault, { kind: 'transient', code }, `${name}: ${fault.message}`);
  }
});

/** Of calls that nothing here makes. */
const unasked =
  /^(jsonrpc|broadcasttransaction|estimateenergy|getnodeinfo|getcontractinfo|getpendingsize)\b|^gettransactionlistf|^odd/;

expectAllRead(({ name }) => !unasked.test(name));

test.run();

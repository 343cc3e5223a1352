/** The last check before a credit: only what the cluster has confirmed is attested, whatever else a node says. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Attestation, Node } from '../../../../src/chains/chain.ts';
import { openNode } from '../../../../src/chains/solana/node/node.ts';
import type { BlockRef } from '../../../../src/core/block.ts';
import { type Answer, type LyingProxy, type Question, startLyingProxy } from '../../../support/lying-proxy.ts';
import type { Json } from '../../../support/recordings.ts';
import { accountKeyOf, type SimulatedNode, solanaTokens, startSimulatedNode } from '../../../support/simulated-node.ts';

let sandbox: SimulatedNode;
let proxy: LyingProxy;
let node: Node;
let block: BlockRef;
let tx: string;

test.before(async () => {
  sandbox = await startSimulatedNode({ family: 'solana', seed: 'attest' });
  proxy = await startLyingProxy(sandbox);
  const limits = { requestTimeoutMs: 10_000, responseBytesMax: 1_000_000, idleMsMax: 10_000, concurrencyMax: 4 };
  node = openNode({ url: proxy.httpUrl, tokens: solanaTokens, ...limits });
  tx = sandbox.pay(accountKeyOf('solana', 'payee'), 5n);
  sandbox.world.mine();
  block = await node.head();
});
test.after.each(() => {
  delete proxy.lies.answer;
});
test.after(async () => {
  await node.close();
  await proxy.close();
  await sandbox.close();
});

/** From now on, `method` is answered differently. */
function lie(method: string, change: (question: Question, honest: Answer) => Partial<Answer>): void {
  proxy.lies.answer = (question, answer) =>
    question.method === method ? { ...answer, ...change(question, answer) } : answer;
}

test('the block and the status are requested at the commitment that the credit needs', async () => {
  const asked: unknown[] = [];
  lie('getBlock', ({ params }) => {
    asked.push((params[1] as { commitment?: unknown }).commitment);
    return {};
  });
  assert.is(await node.attest(block, [tx]), 'holds');
  assert.equal(asked, ['confirmed']);
});

const status = { slot: 0, confirmations: 0, err: null, status: { Ok: null } };
for (const [about, change, expected] of [
  ['confirmed', { confirmationStatus: 'confirmed' }, 'holds'],
  ['final', { confirmationStatus: 'finalized' }, 'holds'],
  ['only processed by this node', { confirmationStatus: 'processed' }, 'unsure'],
  ['of a status that the node does not name', { confirmationStatus: null }, 'unsure'],
  ['failed', { confirmationStatus: 'confirmed', err: { InstructionError: [0, { Custom: 1 }] } }, 'gone'],
  ['in another slot', { confirmationStatus: 'confirmed', slot: 999 }, 'gone'],
] as readonly (readonly [string, object, Attestation])[]) {
  test(`a transaction that is ${about}: ${expected}`, async () => {
    lie('getSignatureStatuses', () => ({
      result: { context: { slot: 1 }, value: [{ ...status, slot: block.number, ...change }] },
    }));
    assert.is(await node.attest(block, [tx]), expected);
  });
}

const unindexed = (): Partial<Answer> => ({ result: { context: { slot: 1 }, value: [null] } });
/** Whether a question is for the block with its transactions, and not only for its header. */
const isForContent = ({ method, params }: Question): boolean =>
  method === 'getBlock' && (params[1] as { transactionDetails?: unknown }).transactionDetails !== 'none';

for (const [about, edit, expected] of [
  ['in the block', () => {}, 'holds'],
  ['in the block, where it failed', (row) => Object.assign(row.meta, { err: { InstructionError: [0, 'X'] } }), 'gone'],
  ['not in the block', (row) => Object.assign(row.transaction, { signatures: ['another'] }), 'gone'],
] as readonly (readonly [string, (row: Json) => void, Attestation])[]) {
  test(`a transaction that is not in the node’s index yet, but ${about}: ${expected}`, async () => {
    proxy.lies.answer = (question, answer) => {
      if (question.method === 'getSignatureStatuses') return { ...answer, ...unindexed() };
      if (!isForContent(question)) return answer;
      const result = structuredClone(answer.result) as Json;
      edit(result.transactions.find((row: Json) => row.transaction.signatures[0] === tx));
      return { ...answer, result };
    };
    assert.is(await node.attest(block, [tx]), expected);
  });
}

test('a transaction that is not in the node’s index yet, in a block that the node loses meanwhile: unsure', async () => {
  proxy.lies.answer = (question, answer) => {
    if (question.method === 'getSignatureStatuses') return { ...answer, ...unindexed() };
    return isForContent(question) ? { jsonrpc: '2.0', id: answer.id, result: null } : answer;
  };
  assert.is(await node.attest(block, [tx]), 'unsure');
});

for (const [about, code] of [
  ['is not confirmed any more', -32004],
  ['has no results yet', -32014],
  ['is skipped or missing', -32007],
] as const) {
  test(`a block that ${about}: unsure`, async () => {
    lie('getBlock', () => ({ result: undefined, error: { code, message: 'not now' } }));
    assert.is(await node.attest(block, [tx]), 'unsure');
  });
}

test.run();

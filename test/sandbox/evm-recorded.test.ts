/**
 * The simulated EVM node compared with recordings of real ones: in the same situation it answers with the same fields
 * and kinds of values, or with the same error and text.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { FaultKind } from '../simulated/faults.ts';
import { type Json, type Recording, readRecordings } from '../support/recordings.ts';
import { accountKey, startSimulatedNode } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';
import { ETHER, GWEI, openScene, payee, richAddress, type Scene, usdt } from './evm-scene.ts';
import { openRpcClient } from './rpc-client.ts';

// ── Comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Bytes of any length, and numbers as long as a hash. */
const freeData = new Set(['input', 'data', 'extraData']);
const bigNumbers = new Set(['r', 's', 'v', 'yParity']);

/** Returns the kind of a value; two nodes must agree on it. */
function kindOf(field: string, value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'string') return typeof value;
  if (freeData.has(field)) return /^0x([0-9a-f]{2})*$/.test(value) ? 'bytes' : `text ${value}`;
  const isFixed = [18, 42, 66, 514].includes(value.length) && !bigNumbers.has(field);
  if (isFixed && /^0x[0-9a-f]+$/.test(value)) return `${value.length} characters`;
  return /^0x(0|[1-9a-f][0-9a-f]*)$/.test(value) ? 'quantity' : `text ${masked(value)}`;
}

/** A text without what is different on each chain: versions, amounts, addresses, hashes, the reason of a revert. */
const masked = (text: string): string =>
  text
    .replace(/v\d.*$/, 'VERSION')
    .replace(/(execution reverted): [^:]+/, '$1: REASON')
    .replace(/0x[0-9a-f]+/gi, 'HEX')
    .replace(/\b[0-9a-f]{64}\b/g, 'HASH')
    .replace(/\b\d+\b/g, 'N');

/** Returns where `ours` differs from `real`. Of a list, the first items are compared. */
function differences(real: Json, ours: Json, path: string, field = ''): string[] {
  const [there, here] = [kindOf(field, real), kindOf(field, ours)];
  if (there !== here) return [`${path}: ${there} in the recording, ${here} in the simulation`];
  if (Array.isArray(real)) {
    if (real.length === 0 || ours.length === 0) {
      // Which blocks have transactions is chance.
      if (field === 'transactions') return [];
      return real.length === ours.length ? [] : [`${path}: ${real.length} recorded, ${ours.length} simulated`];
    }
    return differences(real[0], ours[0], `${path}[0]`, field);
  }
  if (typeof real !== 'object' || real === null) return [];
  return [...new Set([...Object.keys(real), ...Object.keys(ours)])].flatMap((name) => {
    if (!(name in ours)) return [`${path}.${name} is missing in the simulation`];
    if (!(name in real)) return [`${path}.${name} is in the simulation only`];
    return differences(real[name], ours[name], `${path}.${name}`, name);
  });
}

// ── Situations ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns what the simulated node answers where the real one answered the recording. */
type Situation = (scene: Scene, recording: Recording) => Promise<Json>;

/** Asks the recorded method with other arguments, and with a fault if one is named. */
const asks =
  (paramsOf: (scene: Scene) => unknown[] | Promise<unknown[]>, fault?: FaultKind): Situation =>
  async (scene, { request }) =>
    scene.ask(request.method, await paramsOf(scene), fault);
/** Asks exactly what was recorded. */
const same: Situation = (scene, { request }) => scene.ask(request.method, request.params);
const sends = (rawOf: (scene: Scene) => Promise<string>): Situation => asks(async (scene) => [await rawOf(scene)]);
const again = (nonce: number, changes: Record<string, unknown> = {}) => sends(({ raw }) => raw({ nonce, ...changes }));

/** Posts a message as recorded. */
const posts =
  (bodyOf: (recording: Recording) => string, fault?: FaultKind): Situation =>
  async ({ node }, recording) => {
    if (fault) node.faults.set({ rates: { [fault]: 1 } });
    const headers = { 'content-type': 'application/json' };
    // Some faults have two forms.
    for (let attempt = 0; ; attempt++) {
      const response = await fetch(node.httpUrl, { method: 'POST', headers, body: bodyOf(recording) });
      const text = await response.text();
      if (response.status !== recording.status && attempt < 30) continue;
      node.faults.heal();
      assert.is(response.status, recording.status);
      return response.status === 200 ? JSON.parse(text) : text;
    }
  };
const asRecorded = ({ request }: Recording) => (typeof request === 'string' ? request : JSON.stringify(request));
const chainIdCall = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] };

/** Sends a batch as recorded over a WebSocket. */
const sendsOverSocket =
  (fault: FaultKind): Situation =>
  async ({ node }, { request }) => {
    node.faults.set({ rates: { [fault]: 1 } });
    const client = await openRpcClient(node.wsUrl);
    client.socket.send(JSON.stringify(request));
    await until('the batch is answered', () => client.received.length > 0);
    node.faults.heal();
    await client.close();
    return client.received[0];
  };

/** History of a node that does not keep its oldest blocks. */
async function asksPruned(_: Scene, { request }: Recording): Promise<Json> {
  const node = await startSimulatedNode({ family: 'evm', seed: 'pruned', finalityDistance: 3, windowBlocks: 10 });
  for (let left = 30; left > 0; left--) node.world.mine();
  const answer = await node.ask(request.method, JSON.parse(JSON.stringify(request.params).replace('"0x0"', '"0x1"')));
  await node.close();
  return answer;
}

/** A transaction whose block was lost when the node was killed. */
async function asksLost(_: Scene, { request }: Recording): Promise<Json> {
  const node = await startSimulatedNode({ family: 'evm', seed: 'restarted' });
  node.world.mine();
  const tx = node.pay(accountKey('payee'), 5n);
  node.world.mine();
  node.world.restart({ depth: 1 });
  const answer = await node.ask(request.method, [tx]);
  await node.close();
  return answer;
}

const transferOf = (units: bigint, from = richAddress) => ({
  from,
  to: usdt,
  data: `0xa9059cbb${payee.slice(2).padStart(64, '0')}${units.toString(16).padStart(64, '0')}`,
});
const everything = 10n ** 30n;
const inBlock = ({ block }: Scene) => [{ blockHash: block, address: usdt }];
const inRange = ({ blockNumber }: Scene) => [{ fromBlock: blockNumber, toBlock: blockNumber, address: usdt }];

const situations: readonly (readonly [RegExp, Situation])[] = [
  [/^(eth_(blockNumber|chainId|syncing|gasPrice|maxPriorityFeePerGas)|net_version|web3_clientVersion)$/, same],
  [/^(method-missing|(postmerge|restarted)\.eth_syncing)$/, same],
  [/^eth_feeHistory/, same],
  [/^eth_getBlockByHash\.known$/, asks(({ block }) => [block, false])],
  [/^eth_getBlockByHash\.side$/, asks(({ side }) => [side, false])],
  [/^eth_getBlockByHash\.unknown$/, same],
  [/^eth_getBlockByNumber\.(earliest|latest|finalized|safe|above-head)$/, same],
  [
    /^(postmerge\.)?eth_getBlockByNumber\.(finalized|safe)(\.none)?$/,
    (scene, { request, name }) =>
      scene.ask(request.method, request.params, /none|postmerge/.test(name) ? 'finality_missing' : undefined),
  ],
  [/^eth_getBlockByNumber\.number\.hashes$/, asks(({ blockNumber }) => [blockNumber, false])],
  [/^eth_getBlockByNumber\.number\.transactions$/, asks(({ blockNumber }) => [blockNumber, true])],
  [/^eth_getLogs\.blockHash$/, asks(inBlock)],
  [/^eth_getLogs\.range$/, asks(inRange)],
  [/^eth_getLogs\.side-blockHash$/, asks(({ side }) => [{ blockHash: side }])],
  [/^eth_getLogs\.empty$/, asks(({ head }) => [{ blockHash: head }])],
  [/^eth_getLogs\.unknown-blockHash$/, same],
  [/^eth_getBlockReceipts\.transfers$/, asks(({ block }) => [block])],
  [/^eth_getBlockReceipts\.side$/, asks(({ side }) => [side])],
  [/^eth_getBlockReceipts\.empty$/, asks(({ head }) => [head])],
  [/^eth_getBlockReceipts\.unknown$/, same],
  [/^eth_getTransaction(Receipt\.ok|ByHash\.mined)$/, asks(({ tx }) => [tx.direct])],
  [/^eth_getTransactionReceipt\.failed$/, asks(({ tx }) => [tx.failed])],
  [/^eth_getTransactionReceipt\.inner-revert$/, asks(({ tx }) => [tx.coin])],
  [/^eth_getTransaction(Receipt|ByHash)\.after-reorg$/, asks(({ sideTx }) => [sideTx])],
  [/^eth_getTransaction(Receipt|ByHash)\.pending$/, asks(({ waitingTx }) => [waitingTx])],
  [/^eth_getTransaction(Receipt|ByHash)\.null$/, same],
  [/^eth_(call|getCode)\.(no-contract|none)$/, same],
  [/^eth_call\.decimals$/, asks(() => [{ to: usdt, data: '0x313ce567' }, 'latest'])],
  [/^eth_call\.no-such-function$/, asks(() => [{ to: usdt, data: '0xe47d6060' }, 'latest'])],
  [/^eth_getTransactionCount(\.above-head)?$/, same],
  [/^eth_estimateGas\.ok$/, asks(() => [transferOf(1n), 'latest'])],
  [/^eth_estimateGas\.reverted-with-reason$/, asks(() => [transferOf(everything), 'latest'])],
  [/^eth_estimateGas\.reverted-bare$/, asks(() => [{ to: usdt, data: '0x12345678' }, 'latest'])],
  [/^eth_sendRawTransaction\.(accepted|good)$/, sends(({ raw }) => raw())],
  [/^eth_sendRawTransaction\.already-known$/, sends(async ({ waitingRaw }) => waitingRaw)],
  [/^eth_sendRawTransaction\.fee-below-base$/, sends(({ raw }) => raw({ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }))],
  [/^eth_sendRawTransaction\.insufficient-funds$/, sends(({ poorRaw }) => poorRaw())],
  [/^eth_sendRawTransaction\.insufficient-funds-overshot$/, again(9, { value: (99_995n * ETHER) / 10_000n })],
  [/^eth_sendRawTransaction\.mined-already$/, sends(async ({ minedRaw }) => minedRaw)],
  [/^eth_sendRawTransaction\.nonce-too-low$/, again(0, { value: 7n })],
  [/^eth_sendRawTransaction\.(nonce-gap-accepted|accepted-gap)$/, again(20)],
  [
    /^eth_sendRawTransaction\.replacement-accepted$/,
    again(1, { maxFeePerGas: (45n * GWEI) / 2n, maxPriorityFeePerGas: (9n * GWEI) / 8n }),
  ],
  [
    /^eth_sendRawTransaction\.replacement-underpriced$/,
    again(1, { maxFeePerGas: 21n * GWEI, maxPriorityFeePerGas: (21n * GWEI) / 20n }),
  ],
  [/^eth_sendRawTransaction\.wrong-chain$/, again(9, { chainId: 1 })],
  [/^pruned\.eth_(call|getBalance|getTransactionCount)\.path.*$/, asks(() => [payee, '0x2'], 'states_gone')],
  [/^pruned\.eth_call\.path.*$/, asks(() => [{ to: usdt, data: '0x313ce567' }, '0x2'], 'states_gone')],
  [/^pruned\.eth_getBlockReceipts\.old$/, asks(({ side }) => [side])],
  [/^pruned\.eth_getLogs\.blockHash\.not-indexed$/, asks(inBlock)],
  [/^pruned\.eth_getLogs\.range\.not-indexed$/, asks(inRange)],
  [/^pruned\.eth_getTransaction(ByHash|Receipt)\.not-indexed$/, asks(({ tx }) => [tx.direct])],
  [/^postmerge\.eth_getBlockByNumber\.latest$/, asks(() => ['latest', false])],
  [/^postmerge\.eth_get(BlockByNumber\.1|BlockReceipts|Logs)$/, asksPruned],
  [/^restarted\.eth_getTransactionReceipt\.recent$/, asksLost],
  [/^batch\.ok$/, posts(asRecorded)],
  [/^not-json$/, posts(asRecorded)],
  [/^batch\.request-limit$/, posts(asRecorded, 'batch_limited')],
  [/^batch\.request-limit\.websocket$/, sendsOverSocket('batch_limited')],
  [/^batch\.response-too-large$/, posts(asRecorded, 'answers_limited')],
  [/^batch\.response-too-large\.websocket$/, sendsOverSocket('answers_limited')],
  [/^http\.(engine-port|wrong-host-header)$/, posts(() => JSON.stringify(chainIdCall), 'http_refused')],
];

/** Recordings of what the simulated chain does not have. */
const unlike: readonly (readonly [RegExp, why: string])[] = [
  [/^(params-missing|batch\.(empty|too-large)|http\.body-too-large)$/, 'no client of ours sends it'],
  [/^eth_getLogs\.(range-.*|too-many-addresses)$/, 'no client of ours sends it'],
  [/^eth_getBlockByNumber\.pending$/, 'no client of ours asks for it'],
  [/^eth_estimateGas\.(insufficient-funds|poor-with-fee)$/, 'no client of ours tells the reasons apart'],
  [
    /^eth_sendRawTransaction\.(fee-cap-of-node|garbage|gas-limit-of-(block|transaction)|intrinsic-gas|tip-of-1-wei)$/,
    'the signer builds no such transaction',
  ],
  [/\.system$/, 'block producers add nothing'],
  [/\.creation$/, 'nothing creates contracts'],
  [/^pruned\..*\.hash$/, 'states are kept by path'],
  [/^postmerge\.eth_getBlockByNumber\.latest$/, 'there is no block from before the forks'],
  [/^eth_getBlock(ByNumber|Receipts)\.one$/, 'the first block sets no contracts up'],
  [/^finality-lag$/, 'finality is a fixed number of blocks behind'],
  [/^eth_subscribe\./, 'compared below'],
];

const dialects = { 'geth-1.16.9': 'ethereum', 'bsc-1.7.3': 'bsc' } as const;

for (const [version, dialect] of Object.entries(dialects)) {
  const scene = await openScene(dialect);
  test.after(scene.close);
  const recordings = readRecordings(`evm/${version}`);

  for (const recording of recordings.values()) {
    const { name: file, request, response } = recording;
    if (unlike.some(([files]) => files.test(file))) continue;
    test(`${version}: ${file} is answered alike`, async () => {
      const situation = situations.filter(([files]) => files.test(file)).at(-1)?.[1];
      if (!situation) {
        const { error } = await scene.ask(request.method, request.params);
        assert.is(
          error?.code,
          -32601,
          `${file}: the simulated node answers this method; add a situation for the recording`,
        );
        return;
      }
      assert.equal(differences(response, await situation(scene, recording), file), []);
    });
  }

  test(`${version}: heads are announced alike`, async () => {
    const { node } = scene;
    const client = await openRpcClient(node.wsUrl);
    const { result: heads } = await client.ask('eth_subscribe', ['newHeads']);
    node.pay(accountKey('payee'), 9n);
    node.world.mine();
    node.world.reorg({ depth: 1, keep: 'none', blocks: 2 });
    await until('both heads are announced', () => client.notified(heads).length === 2);
    await client.close();
    const [file] = [...recordings.values()].filter(({ messages }) => messages.length > 0);
    const results = (file?.messages ?? []).map((message) => message.params?.result);
    const head = results.find((result) => result?.parentHash);
    assert.equal(differences(head, client.notified(heads)[0], 'newHeads'), []);
  });
}

test.run();

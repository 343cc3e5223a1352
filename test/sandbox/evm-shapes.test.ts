/**
 * The simulated node's answers compared with those of a real one (anvil) for the same events: every field that the real
 * one answers is there, with the same JSON type and the same kind of text.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Anvil, startAnvil } from '../support/anvil.ts';
import { deployToken, type TokenContract } from '../support/contracts.ts';
import { openRpcClient } from '../support/rpc-client.ts';
import { accountKey, type SandboxNode, sandboxTokens, startSandboxNode, usdtKey } from '../support/sandbox-node.ts';
import { until } from '../support/until.ts';

/** Fields that anvil adds to what go-ethereum answers, at any depth. */
const anvilOnly = new Set(['totalDifficulty', 'blobGasPrice', 'blockTimestamp']);
/** anvil alone puts a time into receipts, and as a number. */
const anvilOnlyInReceipts = new Set([...anvilOnly, 'blockTimestamp']);
/** Bytes of any length. */
const freeData = new Set(['input', 'data', 'extraData']);
/** Numbers that may be as long as a hash. */
const bigQuantities = new Set(['r', 's', 'v', 'yParity']);
/** Texts of fixed length: address, nonce, hash, bloom. */
const fixedLengths = new Set([18, 42, 66, 514]);

const isQuantity = (text: string) => /^0x(0|[1-9a-f][0-9a-f]*)$/.test(text);

/** Returns the kind of a field's value: two nodes must agree on it. */
function kindOf(field: string, value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'string') return typeof value;
  if (freeData.has(field)) return /^0x([0-9a-f]{2})*$/.test(value) ? 'bytes' : `malformed bytes ${value}`;
  if (!bigQuantities.has(field) && fixedLengths.has(value.length)) return `${value.length} characters`;
  return isQuantity(value) ? 'quantity' : `text ${value}`;
}

/** Returns where `ours` lacks or contradicts a field of `real`. Lists are compared by their first items. */
function differences(real: unknown, ours: unknown, path: string, field = ''): string[] {
  const [realKind, ourKind] = [kindOf(field, real), kindOf(field, ours)];
  if (realKind !== ourKind) return [`${path}: ${realKind} there, ${ourKind} here`];
  if (Array.isArray(real) && Array.isArray(ours)) {
    if (real.length === 0 || ours.length === 0)
      return real.length === ours.length ? [] : [`${path}: ${real.length} items there, ${ours.length} here`];
    return differences(real[0], ours[0], `${path}[0]`, field);
  }
  if (typeof real !== 'object' || real === null) return [];
  const skipped = 'cumulativeGasUsed' in real ? anvilOnlyInReceipts : anvilOnly;
  return Object.entries(real).flatMap(([name, value]) => {
    if (skipped.has(name)) return [];
    const own = (ours as Record<string, unknown>)[name];
    return own === undefined ? [`${path}.${name} is missing`] : differences(value, own, `${path}.${name}`, name);
  });
}

let anvil: Anvil;
let token: TokenContract;
let node: SandboxNode;

test.before(async () => {
  anvil = await startAnvil({ chainId: 31_337 });
  token = await deployToken(anvil, { symbol: 'USDT', decimals: 6 });
  node = await startSandboxNode({ seed: 'shapes' });
});
test.after(async () => {
  await node.close();
  await anvil.close();
});

/** Sends both the same request and compares the answers. Arguments may differ. */
async function compare(method: string, real: unknown[], ours: unknown[]): Promise<void> {
  const realResult = await anvil.rpc(method, real);
  const answer = await node.ask(method, ours);
  assert.is(answer.error, undefined, `${method}: ${answer.error?.message}`);
  assert.equal(differences(realResult, answer.result, method), []);
}

/** The same payment on both, mined. */
async function payOnBoth(): Promise<{ real: { tx: string; block: string }; ours: { tx: string; block: string } }> {
  const tx = await token.transfer(`0x${accountKey('payee')}`, 5n);
  await anvil.mine();
  const own = node.pay(accountKey('payee'), 5n);
  return {
    real: { tx, block: (await anvil.head()).hash },
    ours: { tx: own, block: `0x${node.world.mine().hash}` },
  };
}

test('blocks, transactions, receipts and logs have the fields of a real node', async () => {
  const { real, ours } = await payOnBoth();
  for (const full of [false, true]) {
    await compare('eth_getBlockByHash', [real.block, full], [ours.block, full]);
    await compare('eth_getBlockByNumber', ['latest', full], ['latest', full]);
  }
  await compare('eth_getBlockByNumber', ['earliest', false], ['earliest', false]);
  await compare('eth_getTransactionByHash', [real.tx], [ours.tx]);
  await compare('eth_getTransactionReceipt', [real.tx], [ours.tx]);
  await compare('eth_getBlockReceipts', [real.block], [ours.block]);
  await compare('eth_getLogs', [{ blockHash: real.block }], [{ blockHash: ours.block }]);
  const address = { real: token.address, ours: sandboxTokens[0]?.address };
  await compare(
    'eth_getLogs',
    [{ address: address.real, fromBlock: '0x0', toBlock: 'latest' }],
    [{ address: address.ours, fromBlock: '0x0', toBlock: 'latest' }],
  );
});

test('answers about the node and its contracts have the same form', async () => {
  for (const method of ['eth_chainId', 'net_version', 'eth_blockNumber', 'eth_syncing']) {
    const [real, ours] = [await anvil.rpc(method), (await node.ask(method)).result];
    assert.is(kindOf('', ours).replace(/ .*/, ''), kindOf('', real).replace(/ .*/, ''), method);
  }
  const call = (to: string | undefined, data: string) => [{ to, data }, 'latest'];
  const ours = sandboxTokens[0]?.address;
  const decimals = '0x313ce567';
  assert.is(
    await anvil.rpc('eth_call', call(token.address, decimals)),
    (await node.ask('eth_call', call(ours, decimals))).result,
  );
  const symbol = '0x95d89b41';
  assert.is(
    await anvil.rpc('eth_call', call(token.address, symbol)),
    (await node.ask('eth_call', call(ours, symbol))).result,
  );
  const balance = `0x70a08231${accountKey('nobody').padStart(64, '0')}`;
  assert.is(
    await anvil.rpc('eth_call', call(token.address, balance)),
    (await node.ask('eth_call', call(ours, balance))).result,
  );
});

test('missing data is null or an error in both', async () => {
  const nowhere = `0x${'11'.repeat(32)}`;
  for (const [method, params] of [
    ['eth_getBlockByHash', [nowhere, false]],
    ['eth_getBlockByNumber', ['0xffffff', false]],
    ['eth_getTransactionByHash', [nowhere]],
    ['eth_getTransactionReceipt', [nowhere]],
    ['eth_getBlockReceipts', [nowhere]],
  ] as const) {
    await compare(method, [...params], [...params]);
  }
  const unknown = await anvil.rpc('eth_getLogs', [{ blockHash: nowhere }]).catch((error: Error) => error.message);
  const { error } = await node.ask('eth_getLogs', [{ blockHash: nowhere }]);
  assert.is(unknown, `eth_getLogs: ${error?.code} ${error?.message}`);
});

test('announced heads and logs have the fields of a real node', async () => {
  const clients = await Promise.all([anvil.wsUrl, node.wsUrl].map((url) => openRpcClient(url)));
  const subscribed = await Promise.all(
    clients.map(async (client) => ({
      heads: (await client.ask('eth_subscribe', ['newHeads'])).result,
      logs: (await client.ask('eth_subscribe', ['logs', {}])).result,
      client,
    })),
  );
  await payOnBoth();
  await until('both announce', () =>
    subscribed.every(
      ({ client, heads, logs }) => client.notified(heads).length > 0 && client.notified(logs).length > 0,
    ),
  );
  const [real, ours] = subscribed.map(({ client, heads, logs }) => ({
    // anvil announces whole blocks, go-ethereum headers.
    head: Object.fromEntries(
      Object.entries(client.notified(heads)[0]).filter(
        ([name]) => !['size', 'uncles', 'transactions', 'withdrawals'].includes(name),
      ),
    ),
    log: client.notified(logs)[0],
    envelope: client.received.find((message) => message.method),
  }));
  assert.equal(differences(real?.head, ours?.head, 'newHeads'), []);
  assert.equal(differences(real?.log, ours?.log, 'logs'), []);
  assert.equal(Object.keys(ours?.envelope), Object.keys(real?.envelope));
  assert.equal(Object.keys(ours?.envelope.params), Object.keys(real?.envelope.params));
  for (const client of clients) await client.close();
});

test('the bloom of a block is the one that a real node computes for the same logs', async () => {
  // A contract at our token's address: it logs Transfer(first word, second word, third word of its input).
  const logging =
    '0x604035600052602035600035' +
    `7f${'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'}` +
    '60206000a300';
  await anvil.rpc('anvil_setCode', [`0x${usdtKey}`, logging]);
  const words = [accountKey('payer'), accountKey('payee'), '5'].map((digits) => digits.padStart(64, '0'));
  await anvil.send({ to: `0x${usdtKey}`, data: `0x${words.join('')}` });
  await anvil.mine();
  node.pay(accountKey('payee'), 5n);
  node.world.mine();
  type Block = { logsBloom: string };
  const real = await anvil.rpc<Block>('eth_getBlockByNumber', ['latest', false]);
  const ours = (await node.ask('eth_getBlockByNumber', ['latest', false])).result as Block;
  assert.not.match(real.logsBloom, /^0x0+$/);
  assert.is(ours.logsBloom, real.logsBloom);
});

test.run();

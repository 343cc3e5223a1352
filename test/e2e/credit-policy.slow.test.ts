/**
 * The shipped credit policies through a whole installation: BSC waits for final blocks, however deep a payment is, and
 * Ethereum does from 10,000.00.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Token } from '../../src/core/transfer.ts';
import { type FlowShop, openFlowShop } from '../support/flow-shop.ts';
import { type Instance, type Json, startInstance } from '../support/instance.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';
import { XPUB } from './evm.ts';
import { keyOf } from './simulated-network.ts';

const tokens: readonly Token[] = [{ symbol: 'USDT', address: `0x${'5a'.repeat(18)}0001`, decimals: 6 }];
const CENT = 10_000n;

let nodes: Readonly<Record<'bsc' | 'ethereum', SimulatedNode>>;
let merchant: MerchantServer;
let quayside: Instance;
let shop: FlowShop;

test.before(async () => {
  const start = (dialect: 'bsc' | 'ethereum', chainId: string) =>
    startSimulatedNode({ family: 'evm', seed: dialect, chainId, dialect, tokens, finalityDistance: 100 });
  nodes = { bsc: await start('bsc', '900056'), ethereum: await start('ethereum', '900001') };
  merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const settings = ({ url }: SimulatedNode, chainId: string) => ({
    mode: 'test',
    url,
    xpub: XPUB,
    chain_id: chainId,
    block_time_ms: 1000,
    poll_ms: 100,
    tokens,
  });
  const networks = { bsc: settings(nodes.bsc, '900056'), ethereum: settings(nodes.ethereum, '900001') };
  quayside = await startInstance({ networks }, `${merchant.origin}/hook`);
  shop = openFlowShop(quayside, merchant);
  for (const name of ['bsc', 'ethereum'] as const) {
    mine(name, 3);
    await until('it is followed', async () => (await shop.statusOf(`test:${name}`)).state === 'following');
  }
});

test.after(async () => {
  await quayside?.close();
  await merchant?.close();
  await Promise.all(Object.values(nodes ?? {}).map((node) => node.close()));
});

function mine(network: 'bsc' | 'ethereum', blocks: number): void {
  for (let left = blocks; left > 0; left--) nodes[network].world.mine();
}

const pay = (network: 'bsc' | 'ethereum', session: Json, cents: number): string =>
  nodes[network].pay(keyOf(nodes[network], network, session), BigInt(cents) * CENT);

const required = (session: Json, network: string): number =>
  session.payment_options.find((option: Json) => option.network === network).confirmations_required;

/** Waits until a payment has this many confirmations. @returns its status, and that of its session */
async function statusAt(session: Json, confirmations: number): Promise<string[]> {
  const isThere = ({ payments }: Json) => payments[0]?.confirmations >= confirmations;
  await shop.waitFor(`has ${confirmations} confirmations`, session, isThere);
  const { payments, payment_status: status } = await shop.show(session);
  return [payments[0].status, status];
}

const textOf = async ({ url }: Json): Promise<string> =>
  (await (await fetch(`${quayside.baseUrl}${new URL(url).pathname}`)).text()).replace(/<[^>]+>/g, ' ');

test('BSC: 15 blocks credit nothing that is not final; a final block does', async () => {
  const session = await shop.newSession(1050);
  assert.is(required(session, 'bsc'), 3);
  pay('bsc', session, 1050);
  mine('bsc', 15);
  assert.equal(await statusAt(session, 15), ['seen', 'pending']);
  // The blocks up to here were checked before the next one was read.
  mine('bsc', 1);
  assert.equal(await statusAt(session, 16), ['seen', 'pending']);
  assert.match(await textOf(session), /has confirmed it and is making it final/);
  nodes.bsc.world.finalize();
  mine('bsc', 1);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 1050);
});

test('Ethereum: 9,999.99 counts at 12 blocks; 10,000.00 waits for finality, also in two parts', async () => {
  const [small, large, parts] = [
    await shop.newSession(999_999),
    await shop.newSession(1_000_000),
    await shop.newSession(1_000_000),
  ];
  assert.equal(
    [small, large].map((session) => required(session, 'ethereum')),
    [12, 64],
  );
  pay('ethereum', small, 999_999);
  pay('ethereum', large, 1_000_000);
  pay('ethereum', parts, 500_000);
  mine('ethereum', 1);
  pay('ethereum', parts, 500_000);
  mine('ethereum', 11);
  await shop.waitForStatus(small, 'paid');
  mine('ethereum', 3);
  assert.equal(await statusAt(large, 15), ['seen', 'pending']);
  assert.equal(await statusAt(parts, 15), ['seen', 'pending']);
  assert.match(await textOf(large), /15 of 64 confirmations/);
  nodes.ethereum.world.finalize();
  mine('ethereum', 1);
  await shop.waitForStatus(large, 'paid');
  await shop.waitForStatus(parts, 'paid');
  assert.is(await quayside.stop(), 0);
});

test.run();

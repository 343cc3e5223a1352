/**
 * A node may be replaced by one of another network without a single failed request: it is restarted with other data
 * between two polls, or a gateway sends the same connection elsewhere. Nothing of the other network is ever credited,
 * and the network reports the reason.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Family, Node } from '../../../src/chains/chain.ts';
import type { Token } from '../../../src/core/transfer.ts';
import { families as familiesOf } from '../../../src/sandbox/families.ts';
import type { IndexedShop, Order } from '../../support/indexed-shop.ts';
import { type Liar, startLiar } from '../../support/liar.ts';
import { openPolledIndexer, type PolledIndexer, tipOf } from '../../support/polled-indexer.ts';
import { accountKeyOf, type SimulatedNode, simulatedChains, startSimulatedNode } from '../../support/simulated-node.ts';
import { startTronBridge } from '../../support/tron-bridge.ts';

const families = ['evm', 'tron', 'solana'] as const;
const otherChainId: Readonly<Record<Family, string>> = {
  evm: '900002',
  tron: '842000777',
  solana: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
};
const BLOCKS = 30;
const DUE = 10_000_000n;

type Scene = Readonly<{
  family: Family;
  shop: IndexedShop;
  /** The network's own node. */
  own: SimulatedNode;
  /** A node of another network of the same family, with this many blocks, each of which pays `payee`. */
  startStranger(blocks: number, payee: string, port?: number, tokens?: readonly Token[]): Promise<SimulatedNode>;
  /** How often the node's identity was requested. */
  asked(): number;
  /** How many connections the node's client has counted. */
  connections(): number;
  poll: PolledIndexer['poll'];
}>;

/**
 * Opens the scene.
 * @param placeOf where the indexer finds its node, if not at the node's own port
 */
async function scene(
  family: Family,
  play: (scene: Scene) => Promise<void>,
  placeOf: (own: SimulatedNode) => Promise<{ url: string }> = async ({ httpUrl: url }) => ({ url }),
): Promise<void> {
  const nodes: SimulatedNode[] = [];
  let asked = 0;
  let connections = () => 0;
  const through = (node: Node): Node => {
    connections = () => node.health().connections;
    return {
      ...node,
      identity() {
        asked += 1;
        return node.identity();
      },
    };
  };
  const { clock, shop, own, poll, close } = await openPolledIndexer(family, { blocks: BLOCKS, placeOf, through });
  try {
    await play({
      family,
      shop,
      own,
      async startStranger(blocks, payee, port = 0, tokens = simulatedChains[family].tokens) {
        const chain = { ...simulatedChains[family], chainId: otherChainId[family], tokens };
        const stranger = await startSimulatedNode({ ...chain, seed: 'stranger', clock, port });
        nodes.push(stranger);
        for (let left = blocks; left > 0; left--) {
          stranger.pay(payee, DUE);
          stranger.world.mine();
        }
        return stranger;
      },
      asked: () => asked,
      connections: () => connections(),
      poll,
    });
  } finally {
    await close();
    await Promise.all(nodes.map((node) => node.close()));
  }
}

/**
 * The indexer's connection ends at a gateway, which may send it to any node.
 * @param bridgeTo puts something between the indexer and the gateway
 */
async function sceneBehindGateway(
  family: Family,
  play: (scene: Scene & Readonly<{ gateway: Liar }>) => Promise<void>,
  bridgeTo?: (url: string) => Promise<Readonly<{ url: string; stop(): Promise<unknown> }>>,
): Promise<void> {
  const closers: (() => Promise<unknown>)[] = [];
  let gateway: Liar | null = null;
  const placeOf = async ({ httpUrl }: SimulatedNode) => {
    gateway = await startLiar({ httpUrl });
    closers.unshift(gateway.close);
    const bridge = await bridgeTo?.(gateway.httpUrl);
    if (bridge) closers.unshift(bridge.stop);
    return { url: bridge?.url ?? gateway.httpUrl };
  };
  try {
    await scene(family, (s) => play({ ...s, gateway: gateway as Liar }), placeOf);
  } finally {
    for (const close of closers) await close();
  }
}

/** The network has halted for the right reason, at its position, and nothing was credited. */
async function isRefused({ family, shop, own }: Scene, order: Order): Promise<void> {
  await shop.isIn('halted', 'chain_id_mismatch');
  const { reason, tipHash } = (await shop.status()) ?? {};
  assert.match(
    reason?.message ?? '',
    `expected a node of chain ${simulatedChains[family].chainId}, found chain ${otherChainId[family]}`,
  );
  assert.match(reason?.message ?? '', 'or correct its chain_id');
  assert.is(tipHash, tipOf(own));
  assert.equal((await order.read()).payments, []);
}

/** The gateway sends the indexer's connection to another network's node from now on. */
async function isNoticedBehind(s: Scene & Readonly<{ gateway: Liar }>, blocks: number): Promise<void> {
  const order = await s.shop.order('stranger');
  const connections = s.connections();
  s.gateway.connectTo((await s.startStranger(blocks, order.address)).httpUrl);
  await s.poll(5);
  await isRefused(s, order);
  assert.is(s.connections(), connections, 'the connection gave no sign');
}

const lengths = [
  [3, 'shorter'],
  [BLOCKS, 'as long'],
  [3 * BLOCKS, 'longer'],
] as const;

for (const family of families) {
  for (const [blocks, what] of lengths) {
    test(`${family}: another network’s node at the same port, its chain ${what}, is noticed in 5 s`, () =>
      scene(family, async (s) => {
        const order = await s.shop.order('stranger');
        await s.own.stop();
        const stranger = await s.startStranger(blocks, order.address, Number(new URL(s.own.url).port));
        assert.is(stranger.httpUrl, s.own.httpUrl);
        // A request may still fail on a socket of the old node.
        await s.poll(5);
        await isRefused(s, order);
      }));

    test(`${family}: another network’s node behind the same connection, its chain ${what}, is noticed in 5 s`, () =>
      sceneBehindGateway(family, (s) => isNoticedBehind(s, blocks)));
  }

  test(`${family}: another network’s node on which our tokens do not exist is told by its chain, not by them`, () =>
    sceneBehindGateway(family, async (s) => {
      const order = await s.shop.order('stranger');
      const { codec } = familiesOf[family];
      const tokens = simulatedChains[family].tokens.map((token, at) => ({
        ...token,
        address: codec.format(accountKeyOf(family, `other token ${at}`)),
      }));
      s.gateway.connectTo((await s.startStranger(3, order.address, 0, tokens)).httpUrl);
      await s.poll(5);
      await isRefused(s, order);
    }));

  test(`${family}: the network’s own node with an empty database halts nothing, though its head is fresh`, () =>
    sceneBehindGateway(family, async (s) => {
      const empty = await startSimulatedNode({ family, seed: 'empty', tokens: [] });
      try {
        for (let left = 3; left > 0; left--) empty.world.mine();
        s.gateway.connectTo(empty.httpUrl);
        await s.poll(5);
        await s.shop.isIn('fault', 'token_missing');
        s.gateway.connectTo(s.own.httpUrl);
        s.own.world.mine();
        await s.poll(5);
        await s.shop.isIn('following');
        await s.shop.holds(tipOf(s.own));
      } finally {
        await empty.close();
      }
    }));

  test(`${family}: a node that links to our chain but names another network is noticed in a minute`, () =>
    sceneBehindGateway(family, async (s) => {
      s.own.faults.set({ rates: { wrong_chain: 1 } });
      s.own.world.mine();
      await s.poll(5, 10_000);
      assert.equal((await s.shop.status())?.reason, null);
      await s.shop.holds(tipOf(s.own));
      await s.poll(1, 10_000);
      await s.shop.isIn('halted', 'chain_id_mismatch');
    }));

  test(`${family}: a token whose decimals change is noticed in a minute, and so is that they are right again`, () =>
    sceneBehindGateway(family, async (s) => {
      s.own.faults.set({ rates: { wrong_decimals: 1 } });
      await s.poll(6, 10_000);
      await s.shop.isIn('halted', 'decimals_mismatch');
      s.own.faults.heal();
      await s.poll(4, 15_000);
      s.own.world.mine();
      await s.poll();
      await s.shop.isIn('following');
    }));

  test(`${family}: a gateway that led to another network for a second stops the network for a minute, not for good`, () =>
    sceneBehindGateway(family, async (s) => {
      const order = await s.shop.order('stranger');
      s.gateway.connectTo((await s.startStranger(3, order.address)).httpUrl);
      await s.poll(5);
      await isRefused(s, order);
      s.gateway.connectTo(s.own.httpUrl);
      s.own.pay(order.address, DUE);
      s.own.world.mine();
      await s.poll(3, 15_000);
      await s.shop.isIn('halted', 'chain_id_mismatch');
      assert.equal((await order.read()).payments, [], 'it must prove itself for a minute');
      await s.poll(1, 15_000);
      s.own.world.mine();
      await s.poll();
      await s.shop.isIn('following');
      await s.shop.holds(tipOf(s.own));
      assert.is((await order.read()).payments.length, 1);
    }));

  test(`${family}: a node that is the right one only now and then stays refused`, () =>
    sceneBehindGateway(family, async (s) => {
      const order = await s.shop.order('stranger');
      const stranger = await s.startStranger(3, order.address);
      s.gateway.connectTo(stranger.httpUrl);
      await s.poll(5);
      for (let round = 0; round < 4; round++) {
        s.gateway.connectTo(s.own.httpUrl);
        await s.poll(3, 15_000);
        s.gateway.connectTo(stranger.httpUrl);
        await s.poll(1, 15_000);
      }
      await isRefused(s, order);
    }));

  test(`${family}: a reorg is followed only after the node's identity was checked again`, () =>
    sceneBehindGateway(family, async (s) => {
      const asked = s.asked();
      s.own.world.mine();
      await s.poll();
      assert.is(s.asked(), asked, 'a block that links to ours needs no proof');
      s.own.world.reorg({ depth: 2, keep: 'none', blocks: 3 });
      await s.poll();
      assert.is(s.asked(), asked + 1);
      await s.shop.holds(tipOf(s.own));
      const { tipHash } = (await s.shop.status()) ?? {};
      s.own.world.reorg({ depth: 2, keep: 'none', blocks: 3 });
      s.own.faults.set({ rates: { wrong_chain: 1 } });
      await s.poll();
      await s.shop.isIn('halted', 'chain_id_mismatch');
      assert.is((await s.shop.status())?.tipHash, tipHash);
    }));

  test(`${family}: the identity of a node that is behind is checked now and then, not at every poll`, () =>
    sceneBehindGateway(family, async (s) => {
      const asked = s.asked();
      s.own.faults.set({ rates: { lag: 1 }, lagBlocks: 5 });
      await s.poll(20);
      await s.shop.isIn('behind', 'node_behind');
      assert.ok(s.asked() > asked && s.asked() <= asked + 4, `asked ${s.asked() - asked} times in 20 polls`);
      s.own.faults.heal();
      await s.poll();
      await s.shop.isIn('following');
    }));
}

for (const [blocks, what] of lengths) {
  test(`tron through the bridge: another network’s node behind it, its chain ${what}, is noticed in 5 s`, () =>
    sceneBehindGateway('tron', (s) => isNoticedBehind(s, blocks), startTronBridge));
}

test.run();

/**
 * Each way in which a network can stop that needs an operator, in a whole installation: what `quayside show` says leads
 * to a command, and the command to a paid session. Nothing is restarted.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type FlowInstallation, openFlowInstallation } from '../support/flow-installation.ts';
import type { Json } from '../support/instance.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens, startSandboxNode } from '../support/sandbox-node.ts';
import type { SimulatedNode } from '../support/simulated-node.ts';
import { SOLANA_CHAIN_ID, solanaTokens, startSolanaNode } from '../support/solana-node.ts';
import { until } from '../support/until.ts';
import { XPUB } from './evm.ts';
import { keyOf } from './simulated-network.ts';
import { importAddresses } from './solana.ts';

const DUE = 10_500_000n;
const FINALITY = 12;
const REORG_DEPTH_MAX = 30;
/** Blocks that the EVM node keeps. */
const WINDOW = 120;

const nodes = {
  ethereum: await startSandboxNode({ seed: 'recovery', finalityDistance: FINALITY, windowBlocks: WINDOW }),
  solana: await startSolanaNode({ seed: 'recovery', finalityDistance: FINALITY }),
};
type Name = keyof typeof nodes;
const shared = { mode: 'test', reorg_depth_max: REORG_DEPTH_MAX, block_time_ms: 1000, poll_ms: 100 };
let bench: FlowInstallation;

const mine = (name: Name, blocks: number): void => {
  for (let left = blocks; left > 0; left--) nodes[name].world.mine();
};
const show = (name: Name): Promise<Json> => bench.quayside.cli('show', `test:${name}`);
const read = (name: Name): number => nodes[name].world.tip().number;

/** Waits until the network is stopped for a reason with such a code. @returns what `quayside show` says */
async function stopped(name: Name, code: RegExp): Promise<Json> {
  let now: Json = null;
  await until(`${name} has stopped with ${code}`, async () => {
    now = await show(name);
    return now.state !== 'following' && code.test(now.reason?.code ?? '');
  });
  return now;
}

/** Waits until the network has been read to the node's head. */
const level = (name: Name): Promise<void> =>
  until(`${name} is level`, async () => {
    const { cursor, state } = await show(name);
    return cursor === read(name) && state === 'following';
  });

const pay = (name: Name, session: Json): string =>
  (nodes[name] as SimulatedNode).pay(keyOf(nodes[name], name, session), DUE);

/** Takes an order, pays it and waits until it is paid and announced. */
async function takesPayments(name: Name): Promise<void> {
  const session = await bench.shop.newSession(1050);
  pay(name, session);
  mine(name, FINALITY + 3);
  await bench.shop.waitForStatus(session, 'paid');
  await bench.shop.completed(session);
}

test.before(async () => {
  for (const name of ['ethereum', 'solana'] as const) mine(name, 10);
  const { ethereum, solana } = nodes;
  bench = await openFlowInstallation({
    networks: {
      ethereum: {
        ...shared,
        url: ethereum.wsUrl,
        chain_id: SANDBOX_CHAIN_ID,
        xpub: XPUB,
        confirmations: { blocks: 3, finality: false, tiers: null },
        tokens: sandboxTokens,
      },
      solana: {
        ...shared,
        url: solana.url,
        rpc_url: solana.rpcUrl,
        chain_id: SOLANA_CHAIN_ID,
        confirmations: { finality: 'finalized', usual: FINALITY + 1, blocks: null, tiers: null },
        tokens: solanaTokens,
      },
    },
    limits: { pool_target: 60 },
  });
  await importAddresses(bench.quayside, 60);
  for (const name of ['ethereum', 'solana'] as const) {
    await until(`${name} is followed`, async () => (await show(name)).state === 'following');
  }
});

test.after(async () => {
  await bench?.close();
  for (const node of Object.values(nodes)) await node.close();
});

test('a reorg of final blocks: network rewind', async () => {
  mine('ethereum', 3 * REORG_DEPTH_MAX);
  await level('ethereum');
  const lost = await bench.shop.newSession(1050);
  pay('ethereum', lost);
  mine('ethereum', 4);
  await bench.shop.waitForStatus(lost, 'paid');
  mine('ethereum', REORG_DEPTH_MAX + 5);
  await level('ethereum');
  const depth = REORG_DEPTH_MAX + 12;
  const fork = read('ethereum') - depth;
  nodes.ethereum.world.reorg({ depth, keep: 'none', blocks: depth + 2, breakFinality: true });

  const { state, next, reason } = await stopped('ethereum', /^reorg_below_floor$/);
  assert.is(state, 'halted');
  assert.match(next, /quayside network rewind test:ethereum --to N --reason/);
  assert.match(reason.message, new RegExp(`network rewind test:ethereum --to ${fork} --reason`));
  const rewind = ['network', 'rewind', 'test:ethereum', '--to', String(fork), '--reason', 'the node’s chain is right'];
  const tried = await bench.quayside.cli(...rewind, '--dry-run');
  assert.equal([tried.blocks, tried.credited, tried.sessions], [depth, 1, [lost.id]]);
  assert.is((await show('ethereum')).state, 'halted', 'a dry run changes nothing');
  await bench.quayside.cli(...rewind);

  await level('ethereum');
  await until('the reversal is announced', () => bench.shop.events(lost, 'payment.reversed').length === 1);
  assert.is((await bench.shop.show(lost)).payment_status, 'paid', 'an order that was paid stays so');
  const { alarms } = await bench.quayside.cli('status');
  assert.ok(alarms.some(({ code }: Json) => code === 'payment_reversed'));
  await takesPayments('ethereum');
});

test('history that is pruned after an outage: network reread --skip, and reread once a node has it', async () => {
  await level('ethereum');
  const session = await bench.shop.newSession(1050);
  const after = await bench.shop.newSession(1050);
  const tip = read('ethereum');
  await nodes.ethereum.stop();
  mine('ethereum', 3);
  pay('ethereum', session);
  mine('ethereum', WINDOW + 20);
  await nodes.ethereum.start();
  const { cursor, next } = await stopped('ethereum', /^(node_history_pruned|node_block_missing|node_header_unknown)$/);
  assert.is(cursor, tip);
  assert.match(next, /quayside network reread test:ethereum --from \d+ --to N --skip/);
  const through = read('ethereum') - 20;
  const range = ['--from', String(tip + 1), '--to', String(through)];
  await bench.quayside.cli('network', 'reread', 'test:ethereum', ...range, '--skip', '--reason', 'no node has them');
  await level('ethereum');
  assert.equal(
    (await show('ethereum')).gaps.map(({ from, to, because }: Json) => [from, to, because]),
    [[tip + 1, through, 'no node has them']],
  );
  const { alarms, networks } = await bench.quayside.cli('status');
  assert.ok(alarms.some(({ code }: Json) => code === 'block_skipped'));
  const { gaps } = networks.find(({ network }: Json) => network === 'test:ethereum');
  assert.equal(
    gaps.map(({ from, to }: Json) => [from, to]),
    [[tip + 1, through]],
  );
  pay('ethereum', after);
  mine('ethereum', 4);
  await bench.shop.waitForStatus(after, 'paid');
  assert.equal((await bench.shop.show(session)).payments, [], 'what was skipped is not seen');
  await takesPayments('ethereum');
});

test('a block that cannot be read: network reread --skip, and network reread closes the gap', async () => {
  await level('ethereum');
  const inside = await bench.shop.newSession(1050);
  nodes.ethereum.faults.set({ rates: { empty_content: 1 } });
  pay('ethereum', inside);
  mine('ethereum', 1);
  const number = read('ethereum');
  const { next } = await stopped('ethereum', /^node_content_/);
  assert.match(next, new RegExp(`quayside network reread test:ethereum --from ${number} --skip --reason`));
  await bench.quayside.cli(
    'network',
    'reread',
    'test:ethereum',
    '--from',
    String(number),
    '--skip',
    '--reason',
    'unreadable',
  );
  nodes.ethereum.faults.heal();
  await takesPayments('ethereum');
  assert.equal((await bench.shop.show(inside)).payments, []);

  const range = ['network', 'reread', 'test:ethereum', '--from', String(number), '--to', String(number)];
  const { missing, closed_gaps: closed } = await bench.quayside.cli(...range, '--reason', 'readable again');
  assert.equal([missing, closed], [1, 1]);
  await bench.shop.waitForStatus(inside, 'paid');
  await bench.shop.completed(inside);
  assert.is(
    (await show('ethereum')).gaps.some(({ from }: Json) => from === number),
    false,
  );
});

test('a Solana ledger hole: network reread --skip', async () => {
  await level('solana');
  const tip = read('solana');
  await nodes.solana.stop();
  mine('solana', 60);
  nodes.solana.world.finalize();
  nodes.solana.faults.set({ rates: { blocks_lost: 1 }, lagBlocks: 20 });
  await nodes.solana.start();
  const { cursor, next } = await stopped('solana', /^(node_block_missing|node_history_pruned)$/);
  assert.is(cursor, tip);
  assert.match(next, /quayside network reread test:solana .*--skip/);
  const through = String(read('solana') - 10);
  const range = ['--from', String(tip + 1), '--to', through, '--skip'];
  await bench.quayside.cli('network', 'reread', 'test:solana', ...range, '--reason', 'lost');
  await level('solana');
  await takesPayments('solana');
  nodes.solana.faults.heal();
});

test('a Solana node that answered a slot with another block: by itself', async () => {
  await level('solana');
  const session = await bench.shop.newSession(1050);
  nodes.solana.faults.set({ rates: { sibling_content: 1 } });
  pay('solana', session);
  mine('solana', 2);
  await stopped('solana', /^(node_inconsistent|node_range_broken)$/);
  nodes.solana.faults.heal();
  mine('solana', FINALITY + 3);
  await bench.shop.waitForStatus(session, 'paid');
  await takesPayments('solana');
});

test('each act is in the audit log, and the books balance', async () => {
  const acts = await bench.quayside.cli('audit', 'list');
  const commands = new Set(acts.map(({ command }: Json) => command));
  assert.equal([...commands].filter((command) => String(command).startsWith('network')).sort(), [
    'network reread',
    'network rewind',
  ]);
  const { balanced, problems } = await bench.quayside.cli('ledger', 'verify');
  assert.ok(balanced, JSON.stringify(problems));
});

test.run();

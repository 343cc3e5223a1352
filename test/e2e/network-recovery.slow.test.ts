/**
 * A network that stops, in a whole installation: the operator sees why in `status`, alarms, metrics, at `/readyz` and
 * in a message; what `quayside show` says leads to a command, and the command to a paid session. Nothing is restarted.
 */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type FlowInstallation, type Json, openFlowInstallation } from '../support/instance.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { expectBooks } from '../support/quayside-process.ts';
import { accountKey, SANDBOX_CHAIN_ID, sandboxTokens, startSimulatedNode } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';
import { XPUB } from './evm.ts';
import { keyOf } from './simulated-network.ts';

const DUE = 10_500_000n;
const FINALITY = 12;
const REORG_DEPTH_MAX = 30;

const node = await startSimulatedNode({ family: 'evm', seed: 'recovery', finalityDistance: FINALITY });
const shared = { mode: 'test', reorg_depth_max: REORG_DEPTH_MAX, block_time_ms: 1000, poll_ms: 100 };
const chat = await startMerchantServer((response) => response.end('ok'));
const messages = () => chat.on('/services/hidden').map(({ body }): string => JSON.parse(body).text);
let bench: FlowInstallation;

const mine = (blocks: number): void => {
  for (let left = blocks; left > 0; left--) node.world.mine();
};
const show = (): Promise<Json> => bench.quayside.cli('show', 'test:ethereum');
const read = (): number => node.world.tip().number;

/** Waits until the network is stopped for a reason with such a code. @returns what `quayside show` says */
async function stopped(code: RegExp): Promise<Json> {
  let now: Json = null;
  await until(`it has stopped with ${code}`, async () => {
    now = await show();
    return now.state !== 'following' && code.test(now.reason?.code ?? '');
  });
  return now;
}

/** Waits until the network has been read to the node's head. */
const level = (): Promise<void> =>
  until('it is level', async () => {
    const { cursor, state } = await show();
    return cursor === read() && state === 'following';
  });

const pay = (session: Json): string => node.pay(keyOf(node, 'ethereum', session), DUE);

/** Takes an order, pays it and waits until it is paid and announced. */
async function takesPayments(): Promise<void> {
  const session = await bench.shop.newSession(1050);
  pay(session);
  mine(FINALITY + 3);
  await bench.shop.waitForStatus(session, 'paid');
  await bench.shop.completed(session);
}

test.before(async () => {
  mine(10);
  bench = await openFlowInstallation({
    networks: {
      ethereum: {
        ...shared,
        url: node.wsUrl,
        chain_id: SANDBOX_CHAIN_ID,
        xpub: XPUB,
        confirmations: { blocks: 3, finality: null, tiers: null },
        tokens: sandboxTokens,
      },
    },
    limits: { pool_target: 60 },
    alarms: { patience_s: 2 },
  });
  await until('it is followed', async () => (await show()).state === 'following');
});

test.after(async () => {
  await bench?.close();
  await node.close();
  await chat.close();
});

/** Adds a chat to the running installation that gets alarms, as its dashboard does. */
async function tellChat(): Promise<void> {
  const { dataDir } = bench.quayside;
  const env = { ...process.env, QUAYSIDE_CONFIG: join(dataDir, 'config.json') };
  const database = openDatabase(loadConfig({ env, cwd: dataDir }), env);
  const address = JSON.stringify({ url: `${chat.origin}/services/hidden` });
  const target = { id: 'nt_0', kind: 'slack', name: 'target', severity: 'act', code: '123456' } as const;
  const act = { atMs: Date.now(), operator: 'ann', command: 'notify add', reason: null };
  await database.alarms.addTarget({ ...target, address, createdAtMs: Date.now() }, act);
  assert.is(await database.alarms.proveTarget(target.id, target.code, act), 'proved');
  database.close();
}

test('blocks that cannot be read: the lag is that of the node’s head, and an alarm says why until they are read', async () => {
  const { quayside } = bench;
  const status = () => quayside.cli('status');
  const own = async (): Promise<Json> => (await status()).networks[0];
  const openCodes = async (): Promise<string[]> =>
    (await quayside.cli('alarm', 'list', '--state', 'open')).map(({ code }: Json) => code);
  const metrics = async () => (await fetch(`${(await status()).server.metrics_url}/metrics`)).text();
  await tellChat();
  const { cursor } = await own();
  // A payment whose block comes without its logs, whichever way it is asked for.
  node.faults.set({ rates: { empty_content: 1 } });
  node.pay(accountKey('somebody'), 5n);
  mine(30);
  await until('the alarm is raised', async () => (await openCodes()).includes('network_fault'));
  const stuck = await own();
  assert.equal({ state: stuck.state, cursor: stuck.cursor, lag: stuck.lag }, { state: 'fault', cursor, lag: 30 });
  assert.match(await metrics(), /^quayside_network_lag_blocks\{network="test:ethereum"\} 30$/m);
  assert.match(await metrics(), /^quayside_alarm_open\{code="network_fault",key="network:test:ethereum"\} 1$/m);
  const { open_alarms: open } = await status();
  const alarm = open.find(({ code }: Json) => code === 'network_fault');
  assert.equal([alarm.state, alarm.ended_at, alarm.network], ['open', null, 'test:ethereum']);
  assert.match(alarm.message, /^test:ethereum is at fault, 30 blocks below the node’s head \d+: .*\. Payments/);
  const isSent = (text: string) => text.includes(`network fault on test:ethereum (${alarm.id})`);
  await until('the server has sent a message', async () => messages().some(isSent));
  for (const text of messages()) assert.not.match(text, /ws:|hidden/);
  await quayside.cli('alarm', 'acknowledge', alarm.id, '--reason', 'looking');
  assert.match(await metrics(), /^quayside_alarm_open\{.*\} 1$/m);
  assert.equal(await (await fetch(`${quayside.server().base_url}/readyz`)).json(), {
    status: 'unavailable',
    reasons: ['no_network_followed:test'],
    networks_not_followed: [{ network: 'test:ethereum', reason: stuck.reason.code }],
  });

  node.faults.heal();
  await until('the alarm has ended', async () => !(await openCodes()).includes('network_fault'));
  const ended = (await quayside.cli('alarm', 'list')).find(({ code }: Json) => code === 'network_fault');
  assert.is(ended.state, 'ended');
  assert.not.match(await metrics(), /network_fault/);
});

test('a reorg of final blocks: network reread --above', async () => {
  mine(3 * REORG_DEPTH_MAX);
  await level();
  const lost = await bench.shop.newSession(1050);
  pay(lost);
  mine(4);
  await bench.shop.waitForStatus(lost, 'paid');
  mine(REORG_DEPTH_MAX + 5);
  await level();
  const depth = REORG_DEPTH_MAX + 12;
  const fork = read() - depth;
  node.world.reorg({ depth, keep: 'none', blocks: depth + 2, breakFinality: true });

  const { state, next, reason } = await stopped(/^reorg_below_floor$/);
  assert.is(state, 'halted');
  assert.match(next, /quayside network reread test:ethereum --above N --reason/);
  assert.match(reason.message, new RegExp(`network reread test:ethereum --above ${fork} --reason`));
  const rewind = [
    'network',
    'reread',
    'test:ethereum',
    '--above',
    String(fork),
    '--reason',
    'the node’s chain is right',
  ];
  const tried = await bench.quayside.cli(...rewind, '--dry-run');
  assert.equal([tried.blocks, tried.credited, tried.sessions], [depth, 1, [lost.id]]);
  assert.is((await show()).state, 'halted', 'a dry run changes nothing');
  await bench.quayside.cli(...rewind);

  await level();
  await until('the reversal is announced', () => bench.shop.events(lost, 'payment.reversed').length === 1);
  assert.is((await bench.shop.show(lost)).payment_status, 'paid', 'an order that was paid stays so');
  const { alarms } = await bench.quayside.cli('status');
  assert.ok(alarms.some(({ code }: Json) => code === 'payment_reversed'));
  await takesPayments();
});

test('a block that cannot be read: network reread --skip, and network reread closes the gap', async () => {
  await level();
  const inside = await bench.shop.newSession(1050);
  node.faults.set({ rates: { empty_content: 1 } });
  pay(inside);
  mine(1);
  const number = read();
  const { next } = await stopped(/^node_content_/);
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
  node.faults.heal();
  await takesPayments();
  assert.equal((await bench.shop.show(inside)).payments, []);

  const range = ['network', 'reread', 'test:ethereum', '--from', String(number), '--to', String(number)];
  const { missing, closed_gaps: closed } = await bench.quayside.cli(...range, '--reason', 'readable again');
  assert.equal({ missing, closed }, { missing: 1, closed: 1 });
  await bench.shop.waitForStatus(inside, 'paid');
  await bench.shop.completed(inside);
  assert.is(
    (await show()).gaps.some(({ from }: Json) => from === number),
    false,
  );
});

test('each act is in the audit log, and the books balance', async () => {
  const acts = await bench.quayside.cli('audit', 'list');
  const commands = acts.map(({ command }: Json) => command).filter((command: string) => command.startsWith('network'));
  assert.equal([...new Set(commands)], ['network reread']);
  await expectBooks(bench.quayside.cli);
});

test.run();

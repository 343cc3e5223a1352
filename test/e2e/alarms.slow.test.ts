/**
 * A whole installation whose node stops serving blocks: the lag grows, an alarm is raised and ends by itself, and the
 * operator sees both in `status`, in `alarm list`, in the metrics and at `/readyz`, and gets a message.
 */
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/database/database.ts';
import { type Json, startInstance } from '../support/instance.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { accountKey, SANDBOX_CHAIN_ID, sandboxTokens, startSimulatedNode } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';

const node = await startSimulatedNode({ family: 'evm', seed: 'alarms' });
for (let left = 5; left > 0; left--) node.world.mine();
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(5)).derive("m/44'/60'/0'/0").publicExtendedKey;
const quayside = await startInstance(
  {
    networks: {
      own: {
        family: 'evm',
        mode: 'test',
        chain_id: SANDBOX_CHAIN_ID,
        tokens: sandboxTokens,
        url: node.wsUrl,
        xpub,
        confirmations: { blocks: 3 },
        reorg_depth_max: 20,
        block_time_ms: 1000,
        poll_ms: 100,
      },
    },
    rates: { sources: ['static'], static: { USD: '1.05' } },
    alarms: { patience_s: 2 },
  },
  'https://93.184.215.14/hook',
);
const chat = await startMerchantServer((response) => response.end('ok'));
const messages = () => chat.on('/services/hidden').map(({ body }): string => JSON.parse(body).text);
test.after(async () => {
  await quayside.close();
  await node.close();
  await chat.close();
});

/** Works on the installation's database while it runs, as its dashboard does. */
async function withDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  const env = { ...process.env, QUAYSIDE_CONFIG: join(quayside.dataDir, 'config.json') };
  const database = openDatabase(loadConfig({ env, cwd: quayside.dataDir }), env);
  await work(database);
  database.close();
}

const status = () => quayside.cli('status');
const own = async (): Promise<Json> => (await status()).networks[0];
const openCodes = async (): Promise<string[]> =>
  (await quayside.cli('alarm', 'list', '--state', 'open')).map(({ code }: Json) => code);
const metrics = async (): Promise<string> => (await fetch(`${(await status()).server.metrics_url}/metrics`)).text();
const readyz = async (): Promise<Json> => (await fetch(`${quayside.baseUrl}/readyz`)).json();

test('blocks that cannot be read: the lag is that of the node’s head, and an alarm says why until they are read', async () => {
  await withDatabase(async ({ alarms: notices }) => {
    const address = JSON.stringify({ url: `${chat.origin}/services/hidden` });
    const target = { id: 'nt_0', kind: 'slack', name: 'target', severity: 'act', code: '123456' } as const;
    const act = { atMs: Date.now(), operator: 'ann', command: 'notify add', reason: null };
    await notices.addTarget({ ...target, address, createdAtMs: Date.now() }, act);
    assert.is(await notices.proveTarget(target.id, target.code, act), 'proved');
  });
  const { cursor } = await own();
  // A payment whose block comes without its logs, whichever way it is asked for.
  node.faults.set({ rates: { empty_content: 1 } });
  node.pay(accountKey('somebody'), 5n);
  for (let left = 30; left > 0; left--) node.world.mine();
  await until('the alarm is raised', async () => (await openCodes()).includes('network_fault'));
  const stuck = await own();
  assert.equal([stuck.state, stuck.cursor, stuck.lag], ['fault', cursor, 30]);
  assert.match(await metrics(), /^quayside_network_lag_blocks\{network="test:own"\} 30$/m);
  assert.match(await metrics(), /^quayside_alarm_open\{code="network_fault",key="network:test:own"\} 1$/m);
  const { open_alarms: open } = await status();
  const alarm = open.find(({ code }: Json) => code === 'network_fault');
  assert.equal([alarm.state, alarm.ended_at, alarm.network], ['open', null, 'test:own']);
  assert.match(alarm.message, /^test:own is at fault, 30 blocks below the node’s head \d+: .*\. Payments/);
  const isSent = (text: string) => text.includes(`network fault on test:own (${alarm.id})`);
  await until('the server has sent a message', async () => messages().some(isSent));
  for (const text of messages()) assert.not.match(text, /ws:|hidden/);
  await quayside.cli('alarm', 'acknowledge', alarm.id, '--reason', 'looking');
  assert.match(await metrics(), /^quayside_alarm_open\{.*\} 1$/m);
  assert.equal(await readyz(), {
    status: 'unavailable',
    reasons: ['no_network_followed:test'],
    networks_not_followed: [{ network: 'test:own', reason: stuck.reason.code }],
  });

  node.faults.heal();
  await until('the alarm has ended', async () => !(await openCodes()).includes('network_fault'));
  const ended = (await quayside.cli('alarm', 'list')).find(({ code }: Json) => code === 'network_fault');
  assert.is(ended.state, 'ended');
  assert.not.match(await metrics(), /network_fault/);
});

test.run();

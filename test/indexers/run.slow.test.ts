import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { NetworkStatus } from '../../src/database/networks.ts';
import { installationFolder as root } from '../../src/lib/installation.ts';
import { openLog } from '../../src/lib/log.ts';
import { built } from '../support/built.ts';
import { endAll, startProcess } from '../support/processes.ts';
import { SANDBOX_CHAIN_ID, type SimulatedNode, sandboxTokens, startSimulatedNode } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';

const xpub =
  'xpub6DyUKdwoLWmUJ4Tn9Bbsdtx7B5Ws18mEN19e5HT52ikE53FiUheSQXrZUNPovqfyKmw4579A1Mm3GXXKM39N64uooBfJ4tNAzFsEbodRTx4';

type Place = Readonly<{
  node: SimulatedNode;
  /** Starts the program; with `ipc`, as the supervisor does. */
  start(network: string, ipc?: boolean): ReturnType<typeof startProcess>;
  status(): Promise<NetworkStatus | undefined>;
}>;

/** A data directory and a simulated node; every program is ended at the end. */
async function place(play: (place: Place) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-indexer-'));
  const node = await startSimulatedNode({ family: 'evm', seed: 'run' });
  for (let n = 0; n < 5; n++) node.world.mine();
  const settings = join(folder, 'config.json');
  const network = {
    family: 'evm',
    mode: 'test',
    url: node.wsUrl,
    chain_id: SANDBOX_CHAIN_ID,
    confirmations: { blocks: 3 },
    tokens: sandboxTokens,
    xpub,
    block_time_ms: 1000,
    reorg_depth_max: 20,
    poll_ms: 100,
  };
  writeFileSync(settings, JSON.stringify({ data_dir: folder, networks: { mychain: network } }));
  const env = { ...process.env, QUAYSIDE_CONFIG: settings };
  const config = loadConfig({ env, cwd: root });
  await prepareDatabase(config, env, openLog('test', 'silent'));
  const database = openDatabase(config, env);
  try {
    await play({
      node,
      start(key, ipc = false) {
        const stdio = ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])] as const;
        return startProcess(process.execPath, [built('indexers/evm.ts'), key], { cwd: root, env, stdio: [...stdio] });
      },
      status: async () => (await database.networks.list()).find((status) => status.network === 'test:mychain'),
    });
  } finally {
    await endAll('SIGKILL');
    database.close();
    await node.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const following = (at: Place, number: number) =>
  until(`block ${number} is read`, async () => {
    const status = await at.status();
    return status?.state === 'following' && status.cursor?.number === number;
  });

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`an indexer stops in order on ${signal}`, () =>
    place(async (at) => {
      const { child, ended } = at.start('test:mychain');
      await following(at, 5);
      assert.is((await at.status())?.pid, child.pid);
      child.kill(signal);
      assert.is(await ended, 0);
    }));
}

test('an indexer ends when its supervisor exits', () =>
  place(async (at) => {
    const { child, ended } = at.start('test:mychain', true);
    child.send({ settings: null });
    await following(at, 5);
    child.disconnect();
    assert.is(await ended, 0);
  }));

test('an unknown network is refused with the names of those that exist', () =>
  place(async (at) => {
    const { closed, ended, output } = at.start('test:nowhere');
    await closed;
    assert.is(await ended, 2);
    assert.match(output(), /no network \\?"test:nowhere\\?" .* \(configured: test:mychain\)/);
  }));

test.run();

import { type ChildProcess, spawn } from 'node:child_process';
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
import { SANDBOX_CHAIN_ID, type SimulatedNode, sandboxTokens, startSimulatedNode } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';

const xpub =
  'xpub6DyUKdwoLWmUJ4Tn9Bbsdtx7B5Ws18mEN19e5HT52ikE53FiUheSQXrZUNPovqfyKmw4579A1Mm3GXXKM39N64uooBfJ4tNAzFsEbodRTx4';

type Program = Readonly<{ child: ChildProcess; exitCode: Promise<number | null>; output(): string }>;
type Place = Readonly<{
  node: SimulatedNode;
  /** Starts the program; with `ipc`, as the supervisor does. */
  start(network: string, ipc?: boolean): Program;
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
  prepareDatabase(config, env, openLog('test', 'silent'));
  const database = openDatabase(config, env);
  const programs: Program[] = [];
  try {
    await play({
      node,
      start(key, ipc = false) {
        const child = spawn(process.execPath, [built('indexers/evm.ts'), key], {
          cwd: root,
          env,
          stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
        });
        let output = '';
        for (const stream of [child.stdout, child.stderr]) {
          stream?.on('data', (chunk) => {
            output += chunk;
          });
        }
        const exitCode = new Promise<number | null>((resolve) => child.once('exit', resolve));
        const program = { child, exitCode, output: () => output };
        programs.push(program);
        return program;
      },
      status: async () => (await database.networks.list()).find((status) => status.network === 'test:mychain'),
    });
  } finally {
    for (const { child, exitCode } of programs) {
      child.kill('SIGKILL');
      await exitCode;
    }
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
      const { child, exitCode } = at.start('test:mychain');
      await following(at, 5);
      assert.is((await at.status())?.pid, child.pid);
      child.kill(signal);
      assert.is(await exitCode, 0);
    }));
}

test('an indexer ends when its supervisor exits', () =>
  place(async (at) => {
    const { child, exitCode } = at.start('test:mychain', true);
    await following(at, 5);
    child.disconnect();
    assert.is(await exitCode, 0);
  }));

test('an unknown network is refused with the names of those that exist', () =>
  place(async (at) => {
    const { exitCode, output } = at.start('test:nowhere');
    assert.is(await exitCode, 2);
    assert.match(output(), /no network \\?"test:nowhere\\?" .* \(configured: test:mychain\)/);
  }));

test.run();

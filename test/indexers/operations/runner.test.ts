/**
 * The service that does operations: a real process is killed with `kill -9` while it works, and the next one goes on
 * or says by name what nobody knows. A node and a signer that never answer are sockets.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runOperations } from '../../../indexers/operations/runner.ts';
import { chains } from '../../../src/chains/index.ts';
import type { Wish } from '../../../src/core/operation.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { sortableId } from '../../../src/lib/id.ts';
import { openLog } from '../../../src/lib/log.ts';
import { openConfiguredSigner } from '../../../src/signer/client.ts';
import { loaderOptions, ownProgram } from '../../support/own-program.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { until } from '../../support/until.ts';

const network = 'test:one' as const;

/** Takes connections and never answers. */
async function startSilent(where: string | number): Promise<Server & { end(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {})));
  server.listen(typeof where === 'number' ? { port: where, host: '127.0.0.1' } : where);
  await once(server, 'listening');
  const end = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return Object.assign(server, { end });
}

type Bench = Readonly<{ place: TempDatabase; dir: string; url: string; ask(wish: Wish): Promise<string> }>;

async function withSilence(work: (bench: Bench) => Promise<void>): Promise<void> {
  const place = openTempDatabase();
  const dir = mkdtempSync(join(tmpdir(), 'quayside-silent-'));
  const [node, signer] = [await startSilent(0), await startSilent(join(dir, 'signer.sock'))];
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const ask = async (wish: Wish): Promise<string> => {
    const id = `op_${sortableId(systemClock.nowMs())}`;
    const act = { atMs: systemClock.nowMs(), operator: 'Mary', command: 'ask', reason: null };
    assert.is(await place.database.askOperation({ id, network, wish }, act), 'requested');
    return id;
  };
  try {
    await work({ place, dir, url, ask });
  } finally {
    node.end();
    signer.end();
    place.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const stateOf = async ({ database }: TempDatabase, id: string) =>
  (await database.findOperation(id, systemClock.nowMs()))?.state;

test('a killed process leaves nothing half done without a name: it fails, or begins again', () =>
  withSilence(async ({ place, dir, url, ask }) => {
    const settle = await ask({ kind: 'settle', payoutId: 'p', paidBy: null, isRenewed: true, isCheck: false });
    const again = await ask({ kind: 'sweep_plan' });
    const child = fork(ownProgram(new URL('../../support/dying-runner.ts', import.meta.url)), [place.file, dir, url], {
      execArgv: [...loaderOptions],
    });
    await until('the process works on it', async () => (await stateOf(place, settle)) === 'running');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.is(await stateOf(place, settle), 'running');

    const stopping = new AbortController();
    const own = { network: testNetwork({ name: 'one', url }), chain: chains.evm, database: place.database };
    const signer = openConfiguredSigner({ dir });
    const parts = { ...own, signer, clock: systemClock, log: openLog('next', 'silent'), runner: 'next' };
    const running = runOperations(parts, stopping.signal);
    await until('the next one has found both', async () => (await stateOf(place, again)) === 'running');
    const failed = await place.database.findOperation(settle, systemClock.nowMs());
    assert.is(failed?.state, 'failed');
    assert.match(failed?.result?.lines.join() ?? '', 'nobody knows how far it came');
    // At a stop nothing waits for a node that is silent, and the next start finds it.
    stopping.abort();
    await signer.close();
    await running;
    assert.is(await stateOf(place, again), 'running');
  }));

test('what needs a signer fails with the reason where there is none', () =>
  withSilence(async ({ place, url, ask }) => {
    const id = await ask({ kind: 'sweep_plan' });
    const stopping = new AbortController();
    const own = { network: testNetwork({ name: 'one', url }), chain: chains.evm, database: place.database };
    const parts = { ...own, signer: null, clock: systemClock, log: openLog('none', 'silent'), runner: 'none' };
    const running = runOperations(parts, stopping.signal);
    await until('it has ended', async () => (await stateOf(place, id)) === 'failed');
    const { result } = (await place.database.findOperation(id, systemClock.nowMs())) ?? {};
    assert.match(result?.lines.join() ?? '', 'the configuration has no `signer`');
    stopping.abort();
    await running;
  }));

test('an operation that takes too long is ended', () =>
  withSilence(async ({ place, dir, url, ask }) => {
    const id = await ask({ kind: 'sweep_plan' });
    const stopping = new AbortController();
    const signer = openConfiguredSigner({ dir });
    const own = { network: testNetwork({ name: 'one', url }), chain: chains.evm, database: place.database, signer };
    const limitMs = 600_000;
    // Only the limit itself passes at once.
    const sleep: typeof systemClock.sleep = (ms, signal) => systemClock.sleep(ms === limitMs ? 50 : ms, signal);
    const clock = { ...systemClock, sleep };
    const running = runOperations({ ...own, clock, log: openLog('slow', 'silent'), runner: 'slow' }, stopping.signal);
    await until('it has ended', async () => (await stateOf(place, id)) === 'failed');
    const { result } = (await place.database.findOperation(id, systemClock.nowMs())) ?? {};
    assert.match(result?.lines.join() ?? '', 'it took longer than 10 minutes');
    stopping.abort();
    await signer.close();
    await running;
  }));

test.run();

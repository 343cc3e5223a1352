/**
 * What systemd is told, through a real datagram socket and the real `systemd-notify`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openServiceManager } from '../../src/app/service-manager.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { until } from '../support/until.ts';
import { canNotify, openNotifySocket } from './notify-socket.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-no-programs-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const errors: string[] = [];
const log = { error: (_fields: unknown, message: string) => void errors.push(message) } as never;
const run = canNotify ? test : test.skip;
run(
  'systemd is told when the service is ready, that it is alive, and that it stops (needs systemd-notify, python3)',
  async () => {
    const { path: socket, told, close } = await openNotifySocket();
    const variables: NodeJS.ProcessEnv = {
      ...process.env,
      NOTIFY_SOCKET: socket,
      WATCHDOG_USEC: '200000',
      WATCHDOG_PID: '1',
    };
    const manager = openServiceManager(variables, { clock: systemClock, log });
    assert.equal(
      [variables.NOTIFY_SOCKET, variables.WATCHDOG_USEC, variables.WATCHDOG_PID],
      [undefined, undefined, undefined],
    );
    assert.equal(told(), []);
    const stop = new AbortController();
    const alive = manager.ready('ready at http://127.0.0.1:8420', stop.signal);
    await until('it is said to be ready and alive', () => told().length >= 3);
    assert.is(told()[0], 'READY=1\nSTATUS=ready at http://127.0.0.1:8420');
    assert.equal(new Set(told().slice(1)), new Set(['WATCHDOG=1']));
    stop.abort();
    await alive;
    await manager.stopping();
    await until('it is said to stop', () => told().includes('STOPPING=1\nSTATUS=stopping'));
    assert.equal(errors, []);
    close();
  },
);

test('outside of systemd, nothing is sent or waited for', async () => {
  const manager = openServiceManager({ PATH: folder }, { clock: systemClock, log });
  await manager.ready('ready', new AbortController().signal);
  await manager.stopping();
  assert.equal(errors, []);
});

test('a machine without systemd-notify runs on, and the log says what is missing', async () => {
  const manager = openServiceManager(
    { PATH: folder, NOTIFY_SOCKET: join(folder, 'notify') },
    { clock: systemClock, log },
  );
  await manager.ready('ready', new AbortController().signal);
  assert.match(errors[0] ?? '', /^systemd was not told READY=1.*is systemd-notify installed/);
});

test.run();

/**
 * The socket on which systemd hears from its services. Node has no datagram sockets of unix, so Python listens.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { until } from '../support/until.ts';

/** Prints each datagram as one line of JSON. */
const receiver = `
import json, socket, sys
own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
own.bind(sys.argv[1])
print(json.dumps("listening"), flush=True)
while True:
    print(json.dumps(own.recv(4096).decode()), flush=True)
`;

const has = (program: string): boolean => !spawnSync(program, ['--version']).error;

/** Whether this machine has what sends and what listens. */
export const canNotify = has('systemd-notify') && has('python3');

export type NotifySocket = Readonly<{
  path: string;
  /** Returns what services have said so far, in order. */
  told(): readonly string[];
  close(): void;
}>;

export async function openNotifySocket(): Promise<NotifySocket> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-notify-'));
  const path = join(folder, 'notify');
  const python = spawn('python3', ['-c', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const received: string[] = [];
  createInterface({ input: python.stdout }).on('line', (line) => received.push(JSON.parse(line)));
  await until('the socket is there', () => received.includes('listening'));
  return {
    path,
    // Between its messages, systemd-notify waits until they were taken.
    told: () => received.filter((text) => /READY|WATCHDOG|STOPPING/.test(text)).map((text) => text.trim()),
    close() {
      python.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A backup over the signer's socket: other calls are served meanwhile, and no caller can keep it for itself. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openLog } from '../../src/lib/log.ts';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import type { Journal } from '../../src/signer/journal.ts';
import { serveSigningService } from '../../src/signer/server.ts';
import { handClock } from '../support/hand-clock.ts';
import { firstOf, makeSignerFolder, openSigningServiceIn, refundOf, usdt } from '../support/temp-signer.ts';
import { until } from '../support/until.ts';
import { LONG_NETWORK, lengthenJournal } from './long-journal.ts';
import { readBackup } from './signer-backup.ts';

const IDLE_MS = 1_000;
/** Read twenty times in that time: less than the backup has, and enough for the connection not to be idle. */
const DRIP_BYTES = 16 * 1024;

const home = mkdtempSync(join(tmpdir(), 'quayside-backup-socket-'));
const folder = makeSignerFolder(undefined, false);
const { socket, journal: file } = signerFiles(folder.dir);
lengthenJournal(file, 6_000);
let isDiskBroken = false;
/** How many were signed when the last copy ended. */
let copied = 0;
/** A journal whose disk can break while it is read. */
const breaking = (journal: Journal): Journal => ({
  ...journal,
  async copy() {
    const copy = await journal.copy();
    copied = nonce;
    return Readable.from(
      (async function* () {
        for await (const part of copy) {
          if (isDiskBroken) throw new Error('EIO: i/o error, read');
          yield part;
        }
      })(),
    );
  },
});
const opened = openSigningServiceIn(folder.dir, handClock(), { wrap: breaking });
const { service } = opened;
const log = openLog('test', 'silent');
const server = await serveSigningService({ socket, service, log });
/** Of the same signer, for callers that stall. */
const impatient = join(home, 'impatient.sock');
const limits = { idleMs: IDLE_MS };
const other = await serveSigningService({ socket: impatient, service, log, limits });
const client = openSigner({ socket, timeoutMs: 20_000 });
test.after(async () => {
  await client.close();
  await server.close();
  await other.close();
  opened.close();
  folder.remove();
  rmSync(home, { recursive: true, force: true });
});

let nonce = 0;
const sign = () => client.sign(firstOf(refundOf(`rf_${++nonce}`, usdt(1)), nonce));

/** Makes a whole backup. @returns the number of its parts, or the code of the fault */
async function backUp(): Promise<number | string> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of client.backup()) parts.push(part);
  } catch (error) {
    return (error as { code: string }).code;
  }
  const backup = join(home, 'signer.backup');
  writeFileSync(backup, Buffer.concat(parts));
  assert.ok((await readBackup(backup)).journal.includes('long_6000'));
  return parts.length;
}

/** Asks for a backup without reading it. */
function ask(params = '{}', path = socket): Socket {
  const one = connect(path).on('error', () => {});
  one.write(`POST /backup HTTP/1.1\r\nHost: signer\r\nContent-Length: ${params.length}\r\n\r\n${params}`);
  return one;
}

/** Asks for a backup, and waits until it has begun, without reading it. */
async function begin(path = socket): Promise<Socket> {
  const one = ask(undefined, path);
  await once(one, 'readable');
  return one;
}

const isFree = () => until('the next one may begin', async () => typeof (await backUp()) === 'number');

/** Returns how many refunds a journal's content has, after every page of it was checked. */
function refundsIn(content: Uint8Array): number {
  const copy = join(home, 'copy.db');
  writeFileSync(copy, content);
  const client = new Sqlite(copy);
  try {
    assert.equal(client.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    const count = client.prepare('SELECT count(*) FROM signatures WHERE network = ?').pluck();
    assert.is(count.get(LONG_NETWORK), 6_000);
    return count.get('test:one') as number;
  } finally {
    client.close();
    rmSync(copy);
  }
}

test('what is signed while the journal is copied is in it, no page is torn, and no copy stays', async () => {
  writeFileSync(`${file}-copy`, 'what a killed signer left');
  const backup = service.backup();
  let isCopied = false;
  const first = backup.next().finally(() => {
    isCopied = true;
  });
  await turn();
  assert.is(
    await service
      .backup()
      .next()
      .catch(({ code }) => code),
    'backup_running',
  );
  while (!isCopied) {
    service.sign(firstOf(refundOf(`rf_${++nonce}`, usdt(1)), nonce));
    await turn();
  }
  assert.ok(copied > 5, `${copied} were signed`);
  service.sign(firstOf(refundOf(`rf_${++nonce}`, usdt(1)), nonce));
  const parts = [(await first).value ?? Buffer.alloc(0)];
  for await (const part of backup) parts.push(part);
  writeFileSync(join(home, 'copied.backup'), Buffer.concat(parts));
  assert.is(refundsIn((await readBackup(join(home, 'copied.backup'))).journal), copied);
  assert.not.ok(existsSync(`${file}-copy`));
});

test('a caller that reads nothing keeps nobody waiting for long, nor does one that reads a little now and then', async () => {
  const silent = await begin(impatient);
  await isFree();
  silent.destroy();

  const slow = await begin(impatient);
  let got = 0;
  const drip = setInterval(() => {
    got += slow.read(DRIP_BYTES)?.length ?? 0;
  }, IDLE_MS / 20);
  await isFree();
  clearInterval(drip);
  assert.ok(got > 0 && got < 2 * 2 ** 20, `${got} bytes of more than three MiB`);
  slow.destroy();
});

test('a disk that fails within a backup ends that backup only, and its caller notices', async () => {
  isDiskBroken = true;
  assert.is(await backUp(), 'signer_unreachable');
  isDiskBroken = false;
  await sign();
  assert.type(await backUp(), 'number');
});

test('the signer stops while a backup is made', async () => {
  const path = join(home, 'stopping.sock');
  const stopping = await serveSigningService({ socket: path, service, log });
  const caller = openSigner({ socket: path, timeoutMs: 20_000 });
  const parts = caller.backup();
  await parts.next();
  await stopping.close();
  const code = await (async () => {
    for await (const _ of parts);
  })().catch((error) => error.code);
  assert.is(code, 'signer_unreachable');
  await caller.close();
});

test.run();

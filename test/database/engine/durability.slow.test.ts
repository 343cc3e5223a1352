/** An answered command stays, whole, whatever happens to the process, the lock or the disk. */

import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { addShop, endpoint, Feed, fails, newSession, pays, show, start } from '../../conformance/database/place.ts';
import { loaderOptions, ownProgram } from '../../support/own-program.ts';
import { createRandom } from '../../support/random.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';
import { testsIn } from '../../support/tests-in.ts';
import { audit, undelivered } from './audit.ts';

const writerPath = ownProgram(new URL('./writer.ts', import.meta.url));

/** Runs a test on a file with a merchant, an endpoint, 2,000 addresses and one followed network. */
async function onFile(work: (place: TempDatabase) => Promise<void>): Promise<void> {
  const place = openTempDatabase();
  try {
    await addShop(place.database, 2_000);
    await place.database.endpoints.add(endpoint('e1'));
    await new Feed(place.database, 'one').mine();
    await work(place);
  } finally {
    place.close();
  }
}
const test = testsIn(onFile);

/** Starts a writing process. @returns it, the lines it has printed, and its end */
function startWriter(file: string, first: number) {
  const child = spawn(process.execPath, [...loaderOptions, writerPath, file, String(first)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  let rest = '';
  let errors = '';
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const onLine: (() => void)[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
    for (const call of onLine) call();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return { child, lines, ended, onLine, errors: () => errors };
}

/** Checks that what the writer's lines promised is there. */
async function checkPromises(place: TempDatabase, lines: readonly string[]): Promise<void> {
  for (const line of lines) {
    const [what, orderId = ''] = line.split(' ');
    const session = await show(place.database, orderId);
    if (what === 'paid') assert.is(session.life.status, 'paid', line);
    if (what === 'seen') assert.ok(session.payments.length >= 2, line);
  }
}

test('a process killed while writing leaves only whole commands, and every command that it answered', async (place) => {
  const seed = Number(process.env.SEED ?? randomInt(1_000_000));
  const random = createRandom('durability', seed);
  const replay = `SEED=${seed} npx tsx test/database/engine/durability.slow.test.ts`;
  let next = 1;
  for (let round = 0; round < 8; round++) {
    const writer = startWriter(place.file, next);
    const killAfter = 1 + random.int(60);
    writer.onLine.push(() => {
      if (writer.lines.length >= killAfter) writer.child.kill('SIGKILL');
    });
    await writer.ended;
    assert.ok(writer.lines.length >= killAfter, `${replay}, round ${round}: ${writer.errors()}`);
    assert.equal([...audit(place.file), ...undelivered(place.file)], [], `${replay}, round ${round}`);
    await checkPromises(place, writer.lines);
    next += 1000;
  }
});

test('a full disk refuses new sessions and blocks, keeps what was answered, and accepts them again when there is room', async (place) => {
  const bytesMax = 1_600_000;
  const small = place.connect(1000, { bytesMax });
  const feed = new Feed(small, 'one');
  feed.chain = [...(await small.blocks.tail('test:one', 10))];
  feed.blocksMade = 10;
  const answered: string[] = [];
  let fault: { code?: string; message?: string } | null = null;
  for (let n = 0; n < 2_000 && !fault; n++) {
    try {
      const to = await start(small, `o${n}`);
      answered.push(`created o${n}`);
      const block = await feed.mine([pays(to, 1000n)]);
      await feed.confirm(block);
      answered.push(`paid o${n}`);
    } catch (error) {
      fault = error as { code?: string; message?: string };
    }
  }
  assert.is(fault?.code, 'storage_unavailable');
  assert.match(fault?.message ?? '', /the disk is full/);
  assert.ok(answered.length > 20);
  assert.equal(audit(place.file), []);
  await checkPromises(place, answered);
  const before = (await small.stats(0)).sessions;
  await fails(
    small.sessions.create(newSession('big', { options: Array(2000).fill(newSession('x').options[0]) })),
    'storage_unavailable',
  );
  assert.equal((await small.stats(0)).sessions, before);
  small.close();
  assert.is((await place.database.sessions.create(newSession('roomy'))).kind, 'created');
});

test('a file that is not a database is refused with a clear permanent fault', (place) => {
  place.database.close();
  writeFileSync(place.file, 'this is not a database, and long enough to be looked at as one '.repeat(100));
  assert.throws(
    () => place.connect(),
    (error: { code?: string; kind?: string }) => error.code === 'storage_damaged' && error.kind === 'permanent',
  );
});

test.run();

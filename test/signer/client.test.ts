/**
 * The signer's client against a server that is no signer, or one that goes away: every call ends, with a fault that says so.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openSigner } from '../../src/signer/client.ts';
import { ANSWER_BYTES_MAX } from '../../src/signer/protocol.ts';
import { firstOf, refundOf } from '../support/temp-signer.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-client-'));
const path = join(dir, 'signer.sock');
test.after(() => rmSync(dir, { recursive: true, force: true }));

type Answering = (line: string, socket: Socket) => void;

/** Runs a test against a server that does as it is told with each line. */
async function serving(
  answer: Answering,
  work: (client: ReturnType<typeof openSigner>) => Promise<void>,
  timeoutMs = 30_000,
): Promise<void> {
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const line of chunk.toString('utf8').split('\n').filter(Boolean)) answer(line, socket);
    });
  });
  await new Promise<void>((done) => server.listen(path, done));
  const client = openSigner({ socket: path, timeoutMs, clock: systemClock });
  try {
    await work(client);
  } finally {
    await client.close();
    for (const socket of open) socket.destroy();
    await new Promise((done) => server.close(done));
  }
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error) => (error instanceof Fault ? `${error.kind} ${error.code}` : Promise.reject(error)),
  );

const idOf = (line: string): number => JSON.parse(line).id;
const unreachable = 'transient signer_unreachable';

test('nobody is there', async () => {
  const client = openSigner({ socket: path, timeoutMs: 1000, clock: systemClock });
  assert.is(await codeOf(client.fence('test:one')), unreachable);
  assert.is(await codeOf(client.fence('test:one')), unreachable);
  await client.close();
});

test('answers find their calls, in any order and any pieces', async () => {
  const waiting: [number, Socket][] = [];
  const answer: Answering = (line, socket) => {
    waiting.push([idOf(line), socket]);
    if (waiting.length < 3) return;
    const text = waiting
      .map(([id]) => `${JSON.stringify({ id, result: id * 10 })}\n`)
      .reverse()
      .join('');
    for (const piece of text.match(/.{1,7}/gs) ?? []) socket.write(piece);
  };
  await serving(answer, async (client) => {
    const numbers = await Promise.all([client.fence('test:one'), client.fence('test:one'), client.fence('test:one')]);
    assert.equal(numbers, [10, 20, 30]);
  });
});

test('refusals come out as the faults they are', async () => {
  const error = { kind: 'permanent', code: 'signer_refused_cap', message: 'wait' };
  await serving(
    (line, socket) => socket.write(`${JSON.stringify({ id: idOf(line), error })}\n`),
    async (client) =>
      assert.is(await codeOf(client.sign(firstOf(refundOf('rf_1', 1n), 0))), 'permanent signer_refused_cap'),
  );
});

const nonsense: readonly (readonly [what: string, Answering])[] = [
  ['hangs up', (_line, socket) => socket.destroy()],
  ['speaks something else', (_line, socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['answers what was not asked', (_line, socket) => socket.write('{"id":999,"result":1}\n')],
  [
    'answers nobody',
    (_line, socket) => socket.write('{"id":null,"error":{"kind":"permanent","code":"x","message":"y"}}\n'),
  ],
  [
    'answers with the wrong thing',
    (line, socket) => socket.write(`${JSON.stringify({ id: idOf(line), result: 'seven' })}\n`),
  ],
  ['says more than allowed', (_line, socket) => socket.write('x'.repeat(ANSWER_BYTES_MAX + 1))],
];

for (const [what, answer] of nonsense) {
  test(`a server that ${what} is a signer out of reach; the next call connects anew`, async () => {
    let lines = 0;
    const once: Answering = (line, socket) => {
      if (++lines === 1) answer(line, socket);
      else socket.write(`${JSON.stringify({ id: idOf(line), result: 7 })}\n`);
    };
    await serving(once, async (client) => {
      assert.is(await codeOf(client.fence('test:one')), unreachable);
      assert.is(await client.fence('test:one'), 7);
    });
  });
}

test('a call that is not answered is given up, and its late answer is no trouble', async () => {
  let late = () => {};
  const answer: Answering = (line, socket) => {
    const id = idOf(line);
    if (id === 1) late = () => void socket.write('{"id":1,"result":1}\n');
    else {
      late();
      socket.write(`${JSON.stringify({ id, result: 2 })}\n`);
    }
  };
  const inTime = (client: ReturnType<typeof openSigner>) => codeOf(client.fence('test:one'));
  await serving(answer, async (client) => assert.is(await inTime(client), unreachable), 50);
  await serving(answer, async (client) => {
    const first = inTime(client);
    assert.is(await client.fence('test:one'), 2);
    assert.is(await first, 'none');
  });
});

test('all calls under way end when the connection is lost or left', async () => {
  await serving(
    () => {},
    async (client) => {
      const calls = [client.fence('test:one'), client.journal('test:one', 0, 10), client.wallets('test:one')].map(
        codeOf,
      );
      await client.close();
      assert.equal(await Promise.all(calls), [unreachable, unreachable, unreachable]);
    },
  );
});

test('what cannot be asked is refused before it is sent', async () => {
  await serving(
    () => assert.unreachable(),
    async (client) => {
      const crooked = firstOf(refundOf('rf\n1', 1n), 0);
      assert.is(await codeOf(client.sign(crooked)), 'permanent signer_refused_request');
      assert.is(await codeOf(client.addresses('test:one', [2 ** 31])), 'permanent signer_refused_request');
    },
  );
});

test.run();

/**
 * The signer's socket in the hands of somebody who means harm: nothing is signed, nothing dies, nothing comes to light.
 */
import { connect } from 'node:net';
import fc from 'fast-check';
import pino from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { openJournal } from '../../src/signer/journal.ts';
import { REQUEST_BYTES_MAX } from '../../src/signer/protocol.ts';
import { serveSigningService } from '../../src/signer/server.ts';
import { handClock } from '../support/hand-clock.ts';
import { needles, secretsIn } from '../support/secrets.ts';
import { endSigners, makeSignerPlace, startSigner } from '../support/signer-process.ts';
import { firstOf, makeSignerFolder, openSigningServiceIn, refundOf, usdt } from '../support/temp-signer.ts';
import { until } from '../support/until.ts';

const place = makeSignerPlace();
const signer = startSigner(place.args);
const client = openSigner({ socket: place.socket, timeoutMs: 30_000, clock: systemClock });
const sought = needles();
/** All that it ever answered here. */
const answers: Buffer[] = [];

test.before(async () => assert.ok(await signer.ready, signer.output()));
test.after(async () => {
  await client.close();
  endSigners();
  place.remove();
});

/** Writes bytes to the socket, hangs up, and waits for the end. @returns the answers, one a line */
function tell(bytes: Uint8Array | string): Promise<string[]> {
  return new Promise((done) => {
    const socket = connect(place.socket);
    const got: Buffer[] = [];
    socket.on('data', (chunk) => got.push(chunk as Buffer));
    // The signer may hang up first: the rest of what is told finds nobody.
    socket.on('error', () => {});
    socket.on('close', () => {
      answers.push(...got);
      done(Buffer.concat(got).toString('utf8').split('\n').filter(Boolean));
    });
    socket.end(bytes);
  });
}

/** A refund as the engine would ask for it, but for its MAC. */
const forged = firstOf(refundOf('rf_1', usdt(5), { mac: 'a'.repeat(64) }), 1);
const plain = { ...forged, intent: { ...forged.intent, units: '5000000' } };
const line = (params: unknown, more: object = {}) => `${JSON.stringify({ id: 1, method: 'sign', params, ...more })}\n`;
const codesOf = (lines: readonly string[]) => lines.map((one) => JSON.parse(one).error?.code ?? 'answered');

test('a request that is one is judged; a forged refund is refused', async () => {
  assert.equal(codesOf(await tell(line(plain))), ['signer_refused_mac']);
  assert.equal(codesOf(await tell(line(plain) + line(plain))), ['signer_refused_mac', 'signer_refused_mac']);
});

test('random bytes and random text are refused', async () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }),
    fc.string({ maxLength: 500 }).map((text) => Buffer.from(`${text}\n`)),
  );
  await fc.assert(
    fc.asyncProperty(anything, async (bytes) => {
      for (const code of codesOf(await tell(bytes))) assert.is(code, 'signer_refused_request');
    }),
    { numRuns: 150 },
  );
});

test('random JSON in place of a request, its parameters, or any part of them is refused', async () => {
  const paths: readonly (readonly string[])[] = [
    [],
    ...['fence', 'intent', 'generation', 'attempt', 'proof', 'terms', 'approval'].map((key) => [key]),
    ...['kind', 'id', 'network', 'currency', 'to', 'units', 'mac', 'more'].map((key) => ['intent', key]),
    ['terms', 'nonce'],
    ['terms', '__proto__'],
    ['__proto__'],
  ];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 4 }), async (path, value) => {
      const params = replaced(plain, path, value);
      for (const code of codesOf(await tell(line(params)))) assert.match(code, /^signer_refused_/);
      for (const code of codesOf(await tell(`${JSON.stringify(value)}\n`))) assert.is(code, 'signer_refused_request');
    }),
    { numRuns: 150 },
  );
});

function replaced(from: object, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const inner = (from as Record<string, unknown>)[key];
  // Written as text, so that "__proto__" becomes a key like any other.
  const entries = Object.entries(from).filter(([name]) => name !== key);
  const changed = rest.length > 0 ? replaced((inner ?? {}) as object, rest, value) : value;
  return JSON.parse(
    `{${[...entries, [key, changed]].map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one ?? null)}`).join(',')}}`,
  );
}

test('calls and words that do not exist are refused', async () => {
  for (const method of ['signBytes', 'export', 'seed', 'toString', '__proto__', 'constructor', '', null, 7]) {
    assert.equal(codesOf(await tell(line(plain, { method }))), ['signer_refused_request'], String(method));
  }
  assert.equal(codesOf(await tell(line(plain, { more: 1 }))), ['signer_refused_request']);
  assert.equal(codesOf(await tell(line({ ...plain, to: 'x' }))), ['signer_refused_request']);
});

test('lines without an end, too long, deep or broken are refused, and the next connection is served', async () => {
  const deep = '['.repeat(30_000) + ']'.repeat(30_000);
  for (const bytes of [
    'x'.repeat(REQUEST_BYTES_MAX + 1),
    `${'x'.repeat(REQUEST_BYTES_MAX + 1)}\n`,
    `${deep}\n`,
    `{"id":1,"method":"sign","params":${deep}}\n`,
    '\n',
    '{"id":1,"method":"sign","params":{"fence":1e999}}\n',
    '\u0000\n',
    '{}\n'.repeat(1000),
  ]) {
    const codes = codesOf(await tell(bytes));
    assert.equal(codes, ['signer_refused_request'], `${bytes.length} bytes that begin with ${bytes.slice(0, 20)}`);
  }
  // Hung up on while it still talks, a caller may not hear why.
  for (const code of codesOf(await tell('x'.repeat(20 * REQUEST_BYTES_MAX)))) assert.is(code, 'signer_refused_request');
  assert.equal(await tell(line(plain).slice(0, -20)), [], 'half a line is no request');
  assert.is(await client.fence('test:one'), 1);
});

test('thousands of connections are bounded, and once they are gone it serves again', async () => {
  const sockets = Array.from({ length: 2000 }, () => connect(place.socket).on('error', () => {}));
  const isClosed = () => sockets.filter((socket) => socket.destroyed || socket.readyState === 'closed').length;
  for (const socket of sockets) socket.resume();
  await until('all but a few were hung up on', () => isClosed() >= 2000 - 32);
  assert.ok(isClosed() < 2000, 'some were let in');
  for (const socket of sockets) socket.destroy();
  await until('it serves again', async () => (await client.fence('test:one').catch(() => -1)) === 1);
});

test('whoever does not take its answers holds up nobody', async () => {
  const greedy = connect(place.socket).on('error', () => {});
  greedy.pause();
  greedy.write(
    `${JSON.stringify({ id: 1, method: 'addresses', params: { network: 'test:one', indices: [1, 2, 3] } })}\n`.repeat(
      300,
    ),
  );
  assert.is(await client.fence('test:one'), 1);
  greedy.destroy();
});

test('after all of that nothing was signed, it still lives, and nothing secret was said', async () => {
  assert.equal(await client.journal('test:one', 0, 10), []);
  assert.equal(secretsIn(Buffer.concat(answers), sought), []);
  assert.equal(secretsIn(Buffer.from(signer.output()), sought), []);
  const journal = openJournal(signerFiles(place.dir).journal);
  assert.equal([journal.entries('test:one', 0, 10), journal.entries('test:two', 0, 10)], [[], []]);
  journal.close();
  const { tx } = await client.sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  assert.match(tx, /^0x[0-9a-f]{64}$/);
});

test('a hundred requests at once get one signature', async () => {
  const request = firstOf(refundOf('rf_many', usdt(5)), 2);
  const others = Array.from({ length: 8 }, () =>
    openSigner({ socket: place.socket, timeoutMs: 60_000, clock: systemClock }),
  );
  const signed = await Promise.all(Array.from({ length: 100 }, (_, at) => others[at % 8]?.sign(request)));
  for (const one of signed) assert.equal(one, signed[0]);
  // As many refunds as there are callers want one number: one gets it.
  const rivals = await Promise.allSettled(
    others.map((other, at) => other.sign(firstOf(refundOf(`rf_rival_${at}`, usdt(1)), 3))),
  );
  assert.is(rivals.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.is((await client.journal('test:one', 0, 100)).length, 3);
  for (const other of others) await other.close();
});

test('a connection that stays silent is closed', async () => {
  const folder = makeSignerFolder(undefined, false);
  const { service, close } = openSigningServiceIn(folder.dir, handClock());
  const socket = signerFiles(folder.dir).socket;
  const server = await serveSigningService({ socket, service, log: pino({ level: 'silent' }), limits: { idleMs: 50 } });
  const silent = connect(socket);
  silent.write('{"id":');
  await new Promise((done) => silent.once('close', done));
  await server.close();
  close();
  folder.remove();
});

test.run();

/**
 * The signer's socket under attack: nothing is signed, nothing crashes, and no secret is revealed.
 */
import { connect } from 'node:net';
import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { type Fault, invariant } from '../../src/core/fault.ts';
import { openLog } from '../../src/lib/log.ts';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { openJournal } from '../../src/signer/journal.ts';
import { REQUEST_BYTES_MAX } from '../../src/signer/protocol.ts';
import { serveSigningService } from '../../src/signer/server.ts';
import { closing } from '../support/closing.ts';
import { endAll } from '../support/processes.ts';
import { makeSignerPlace, startSigner } from '../support/signer-process.ts';
import { firstOf, newSigner, policySettings, refundOf, removeSigners, usdt } from '../support/temp-signer.ts';
import { until } from '../support/until.ts';
import { needles, secretsIn } from './secrets.ts';

const tron = {
  family: 'tron',
  chain_id: '1',
  tokens: [{ symbol: 'USDT', address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', decimals: 6 }],
  treasury: chains.tron.address.format('71'.repeat(20)),
  fee_max: '50',
  caps: { USDT: { transaction: '100', hour: '1000', day: '1000' } },
  gas_caps: { transaction: '10', day: '50' },
} as const;
const place = makeSignerPlace({
  ...policySettings,
  networks: { ...policySettings.networks, 'test:tron': { ...tron, tokens: [...tron.tokens] } },
});
const signer = startSigner(place.args);
const client = openSigner({ socket: place.socket, timeoutMs: 30_000 });
const sought = needles();
/** Everything that the signer has answered in this file. */
const answers: Buffer[] = [];

test.before(async () => assert.ok(await signer.ready, signer.output()));
test.after(async () => {
  await client.close();
  await endAll('SIGKILL');
  place.remove();
  removeSigners();
});

/**
 * Writes bytes to the socket and waits until it is closed: by the signer after its answer or, unless `isWhole`, from
 * this end at once.
 * @returns the answer
 */
function exchange(bytes: Uint8Array | string, isWhole = false): Promise<string> {
  return new Promise((done) => {
    const socket = connect(place.socket);
    const got: Buffer[] = [];
    socket.on('data', (chunk) => got.push(chunk as Buffer));
    // The signer may close the connection first, before it has read everything.
    socket.on('error', () => {});
    socket.on('close', () => {
      answers.push(...got);
      done(Buffer.concat(got).toString('utf8'));
    });
    if (isWhole) socket.write(bytes);
    else socket.end(bytes);
  });
}

/** A refund as the payout engine requests it, except for its MAC. */
const forged = firstOf(refundOf('rf_1', usdt(5), { mac: 'a'.repeat(64) }), 1);
const plain = { ...forged, intent: { ...forged.intent, units: '5000000' } };
const post = (body: string, path = '/sign') =>
  `POST ${path} HTTP/1.1\r\nHost: signer\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const sign = (params: unknown) => post(JSON.stringify(params));

/** Returns status and code of an answer; only the status if the request was not HTTP. */
function codeOf(answer: string): string {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? answer;
  const code = body && JSON.parse(body.replace(/^[0-9a-f]+\r\n|\r\n0$/g, '')).code;
  return code ? `${status} ${code}` : status;
}
const badRequest = '400 signer_refused_request';

test('a valid request is checked, and a forged refund is refused', async () => {
  assert.is(codeOf(await exchange(sign(plain), true)), '403 signer_refused_mac');
});

test('a connection serves one request', async () => {
  const answer = await exchange(sign(plain).repeat(3), true);
  assert.is(answer.split('signer_refused_mac').length, 2);
  assert.match(answer, /^Connection: close\r$/m);
});

test('random bytes and random text are refused', async () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }),
    fc.string({ maxLength: 500 }).map((text) => Buffer.from(`${text}\r\n\r\n`)),
  );
  await fc.assert(
    fc.asyncProperty(anything, async (bytes) => {
      assert.match(codeOf(await exchange(bytes)), /^(400|)$/);
      const posted = post('', '/sign').replace('Length: 0', `Length: ${bytes.length}`);
      assert.is(codeOf(await exchange(Buffer.concat([Buffer.from(posted), bytes]))), badRequest);
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
      assert.match(codeOf(await exchange(sign(replaced(plain, path, value)))), /^40[03] signer_refused_/);
    }),
    { numRuns: 150 },
  );
});

function replaced(from: object, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const inner = (from as Record<string, unknown>)[key];
  // Written as text, so that "__proto__" is an ordinary key.
  const entries = Object.entries(from).filter(([name]) => name !== key);
  const changed = rest.length > 0 ? replaced((inner ?? {}) as object, rest, value) : value;
  return JSON.parse(
    `{${[...entries, [key, changed]].map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one ?? null)}`).join(',')}}`,
  );
}

test('unknown calls and methods are refused', async () => {
  const body = JSON.stringify(plain);
  for (const name of ['signBytes', 'export', 'seed', 'toString', '__proto__', 'constructor', '', 'sign/', 'sign?a=1']) {
    assert.is(codeOf(await exchange(post(body, `/${name}`))), badRequest, name);
  }
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
    assert.is(codeOf(await exchange(post(body).replace('POST', method))), badRequest, method);
  }
  assert.is(codeOf(await exchange(sign({ ...plain, to: 'x' }))), badRequest);
});

test('unfinished, long, deep and broken requests are refused, and the next connection is served', async () => {
  const deep = '['.repeat(30_000) + ']'.repeat(30_000);
  const long = 'x'.repeat(REQUEST_BYTES_MAX + 1);
  const chunked = post('').replace('Content-Length: 0', 'Transfer-Encoding: chunked');
  for (const request of [
    post(long),
    post('{}').replace('Length: 2', 'Length: 99999999'),
    `${chunked}${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`,
    post(deep),
    post(`{"fence":${deep}}`),
    post(''),
    post('{"fence":1e999}'),
    post('\u0000'),
    post('{}'),
    post('null'),
    post('{}{}'),
    post('{}').replace('\r\n', '\r\nContent-Encoding: gzip\r\n'),
  ]) {
    assert.is(
      codeOf(await exchange(request)),
      badRequest,
      `${request.length} bytes that end with ${request.slice(-20)}`,
    );
  }
  for (const request of [
    post('{}').replace('Length: 2', 'Length: -2'),
    post('{}').replace('Length: 2', 'Length: 2\r\nTransfer-Encoding: chunked'),
    post('{}').replace('Host: signer\r\n', ''),
    `${chunked}zz\r\n`,
  ]) {
    assert.is(codeOf(await exchange(request)), '400', request);
  }
  assert.is(codeOf(await exchange(post('{}').replace('Host: signer', `X-More: ${'x'.repeat(100_000)}`))), '431');
  // A caller that is disconnected while it sends may not receive the reason.
  const answer = await exchange(post('x'.repeat(20 * REQUEST_BYTES_MAX)));
  if (answer) assert.is(codeOf(answer), badRequest);
  assert.is(codeOf(await exchange(sign(plain).slice(0, -20))), '400', 'half a request');
  assert.is(await client.fence('test:one'), 0);
});

test('the number of connections is limited, and the signer serves again once they are gone', async () => {
  const sockets = Array.from({ length: 2000 }, () => connect(place.socket).on('error', () => {}));
  const isClosed = () => sockets.filter((socket) => socket.destroyed || socket.readyState === 'closed').length;
  for (const socket of sockets) socket.resume();
  await until('all but a few are closed', () => isClosed() >= 2000 - 64);
  assert.ok(isClosed() < 2000, 'some were accepted');
  for (const socket of sockets) socket.destroy();
  await until('the signer serves again', async () => (await client.fence('test:one').catch(() => -1)) === 0);
});

test('a caller that does not read its answers delays nobody', async () => {
  const greedy = Array.from({ length: 20 }, () => connect(place.socket).on('error', () => {}));
  for (const socket of greedy) {
    socket.pause();
    socket.write(post('{"network":"test:one","indices":[1,2,3]}', '/addresses').repeat(100));
  }
  assert.is(await client.fence('test:one'), 0);
  for (const socket of greedy) socket.destroy();
});

test('after all this, nothing was signed, the signer is running, and no secret was revealed', async () => {
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
  const others = Array.from({ length: 8 }, () => openSigner({ socket: place.socket, timeoutMs: 60_000 }));
  const signed = await Promise.all(Array.from({ length: 100 }, (_, at) => others[at % 8]?.sign(request)));
  for (const one of signed) assert.equal(one, signed[0]);
  // As many refunds as callers compete for one number, and one gets it.
  const rivals = await Promise.allSettled(
    others.map((other, at) => other.sign(firstOf(refundOf(`rf_rival_${at}`, usdt(1)), 3))),
  );
  assert.is(rivals.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.is((await client.journal('test:one', 0, 100)).length, 3);
  for (const other of others) await other.close();
});

test('no number that a request can have ends the signer', async () => {
  const nowMs = Date.now();
  const gasOf = { kind: 'gas', id: 'ga_1', network: 'test:tron', form: 'delegate', index: 7, units: 1n } as const;
  const { payer } = firstOf(gasOf, 0);
  const soon = { timestamp_ms: String(nowMs), expiration_ms: String(nowMs + 60_000) };
  // Every number and every text of digits, at the limits of what JSON, dates and SQLite can hold.
  const whole = [0, 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 8.64e15, 1e300];
  const digits = [...whole.slice(0, 6).map(String), '8640000000000001', String(2n ** 64n), '9'.repeat(78)];
  const depth = '['.repeat(15_000) + ']'.repeat(15_000);
  const base = { generation: 0, attempt: 0, proof: null };
  const gas = { kind: 'gas', id: 'ga_numbers', network: 'test:tron', form: 'transfer', index: 1, units: '1' };
  const approval = { approver: 'a'.repeat(64), untilS: 1, signature: 'b'.repeat(128) };
  const params: Readonly<Record<string, object>> = {
    wallets: { network: 'test:one' },
    addresses: { network: 'test:tron', indices: [1, 2] },
    refundLock: { network: 'test:tron', id: 'rf_1' },
    journal: { network: 'test:one', after: 0, limit: 10 },
    fence: { network: 'test:one' },
    freezeState: {},
    thaw: { approval },
    sign: {
      ...plain,
      ...base,
      intent: gas,
      payer,
      terms: { ref_block_number: '1', ref_block_hash: '0'.repeat(16), fee_limit: '0', ...soon },
    },
  };
  for (const [call, one] of Object.entries(params)) {
    for (const path of pathsOf(one)) {
      for (const value of [...whole, ...digits, null, [], {}, -1, 0.5, '']) {
        const answer = codeOf(await exchange(post(JSON.stringify(replaced(one, path, value)), `/${call}`)));
        assert.match(answer, /^(200|40[03] signer_refused_.*)$/, `${call} with ${value} as ${path.join('.')}`);
      }
      const deep = JSON.stringify(replaced(one, path, 'DEPTH')).replace('"DEPTH"', depth);
      assert.is(codeOf(await exchange(post(deep, `/${call}`))), badRequest, `${call} ${path}`);
    }
    const many = JSON.stringify({ ...one, indices: Array.from({ length: 20_000 }, () => 1), more: [] });
    assert.is(codeOf(await exchange(post(many, `/${call}`))), badRequest, call);
  }
  assert.is(await client.fence('test:tron'), 1);
});

/** Returns the paths of everything within an object. */
function pathsOf(value: unknown): (readonly string[])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[key], ...pathsOf(inner).map((rest) => [key, ...rest])]);
}

test('an unexpected error refuses the one request that met it', async () => {
  const { dir, service } = newSigner();
  const lines: string[] = [];
  const broken = () => invariant(false, 'it is as assumed');
  const { socket } = signerFiles(dir);
  const log = openLog('test', 'error', (line) => lines.push(line));
  const parts = { socket, service: { ...service(), wallets: broken as () => never }, log };
  closing(await serveSigningService(parts));
  const caller = closing(openSigner({ socket, timeoutMs: 30_000 }));
  const refusal = await caller.wallets('test:one').catch(({ kind, code }: Fault) => `${kind} ${code}`);
  assert.is(refusal, 'transient signer_failed');
  assert.match(lines.join(), /invariant broken: it is as assumed.*"call":"\/wallets"/);
  assert.is(await caller.fence('test:one'), 0);
});

test('a signer whose journal is in doubt ends', async () => {
  const other = makeSignerPlace();
  const running = startSigner(other.args);
  assert.ok(await running.ready, running.output());
  const journal = new Sqlite(signerFiles(other.dir).journal);
  journal.exec('DROP TABLE fences');
  journal.close();
  const caller = closing(openSigner({ socket: other.socket, timeoutMs: 30_000 }));
  assert.is(await caller.fence('test:one').catch(({ code }: Fault) => code), 'signer_unreachable');
  assert.is((await running.ended).code, 1);
  assert.match(running.output(), /no such table/);
  other.remove();
});

test('an idle connection is closed', async () => {
  const { dir, service } = newSigner();
  const { socket } = signerFiles(dir);
  const log = openLog('test', 'silent');
  closing(await serveSigningService({ socket, service: service(), log, limits: { idleMs: 50 } }));
  const silent = connect(socket);
  silent.resume().write('POST /fence HTTP/1.1\r\nHost: signer\r\nContent-Length: 99\r\n\r\n{"netw');
  await new Promise((done) => silent.once('close', done));
});

test.run();

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { suite, test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { createSender, KEPT_MAX, type Post, retryAfterMs, type Sender, type Sent } from '../../src/lib/sender.ts';
import { type KeyPair, makeCertificates } from '../support/certificates.ts';
import { type Answer, merchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { loaderOptions, ownProgram } from '../support/own-program.ts';
import { until } from '../support/until.ts';

const PATIENT_MS = 20_000;
const HASTY_MS = 300;
/** Where something has to arrive before the time is over. */
const UNHURRIED_MS = 3_000;
const BODY = '{"id":"evt_1","order":"Größe-42 靴👟"}';

const senderWith = (timeoutMs: number, responseBytesMax = 65_536): Sender =>
  createSender(createUrlGuard(['127.0.0.0/8']), { timeoutMs, responseBytesMax }, systemClock);
const post = (url: string): Post => ({ url, mode: 'test', headers: () => ({ 'X-Test': 'yes' }), body: BODY });

async function sendTo(answer: Answer, timeoutMs = PATIENT_MS, responseBytesMax?: number) {
  const server = await merchantServer(answer);
  const sent = await senderWith(timeoutMs, responseBytesMax).send(post(`${server.origin}/hook?a=1`));
  return { sent, received: server.received };
}

/** Sends to a TCP server that handles the connection as the test wants. */
async function sendToSocket(serve: (socket: Socket) => void, timeoutMs: number, scheme = 'http'): Promise<Sent | null> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const sent = await senderWith(timeoutMs).send(post(`${scheme}://127.0.0.1:${port}/`));
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  return sent;
}

const errorOf = (sent: Sent | null): string | null => (sent?.outcome.kind === 'unanswered' ? sent.outcome.error : null);
const statusOf = (sent: Sent | null): number | null => (sent?.outcome.kind === 'answered' ? sent.outcome.status : null);

test('the exact bytes and headers arrive, and the response is kept', async () => {
  const { sent, received } = await sendTo((response) => response.writeHead(200).end('{"received":true}'));
  assert.equal(sent, {
    outcome: { kind: 'answered', status: 200, retryAfterMs: null },
    excerpt: '{"received":true}',
    detail: null,
  });
  assert.is(received.length, 1);
  assert.is(received[0]?.method, 'POST');
  assert.is(received[0]?.path, '/hook?a=1');
  assert.is(received[0]?.body, BODY);
  assert.is(received[0]?.headers['x-test'], 'yes');
  assert.is(received[0]?.headers['content-length'], String(Buffer.byteLength(BODY)));
});

test('a redirect is a response and is not followed', async () => {
  const { sent, received } = await sendTo((response, { headers }) =>
    response.writeHead(307, { location: `http://${headers.host}/elsewhere` }).end(),
  );
  assert.is(statusOf(sent), 307);
  assert.is(received.length, 1);
});

test('a cookie is not sent back', async () => {
  const server = await merchantServer((response) => response.writeHead(204, { 'set-cookie': 'a=1' }).end());
  const sender = senderWith(PATIENT_MS);
  await sender.send(post(`${server.origin}/`));
  await sender.send(post(`${server.origin}/`));
  assert.is(server.received.length, 2);
  assert.is(server.received[1]?.headers.cookie, undefined);
});

test('a response without a body has no excerpt', async () => {
  const { sent } = await sendTo((response) => response.writeHead(503, { 'retry-after': '7' }).end());
  assert.equal(sent?.outcome, { kind: 'answered', status: 503, retryAfterMs: 7_000 });
  assert.is(sent?.excerpt, null);
});

test('a receiver that never answers is a timeout', async () => {
  const { sent, received } = await sendTo(() => {}, UNHURRIED_MS);
  assert.is(errorOf(sent), 'timeout');
  assert.is(received.length, 1);
});

for (const [what, start, drip] of [
  ['headers that arrive too slowly', 'HTTP/1.1 200 OK\r\n', 'a'],
  ['endless interim responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
] as const) {
  test(`${what} are a timeout, however often a byte arrives`, async () => {
    const sent = await sendToSocket((socket) => {
      socket.write(start);
      const dripping = setInterval(() => socket.write(drip), 20);
      socket.on('close', () => clearInterval(dripping));
    }, HASTY_MS);
    assert.is(errorOf(sent), 'timeout');
  });
}

test('a slow body is cut at the time limit; the status counts', async () => {
  let closed = false;
  const { sent } = await sendTo((response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('drop '), 20);
    response.on('close', () => {
      closed = true;
      clearInterval(drip);
    });
  }, UNHURRIED_MS);
  assert.is(statusOf(sent), 200);
  assert.match(sent?.excerpt ?? '', /^(drop )+$/);
  await until('the connection is closed', () => closed);
});

test('a huge body is read up to the limit; the status counts', async () => {
  let pushed = 0;
  const { sent } = await sendTo(
    (response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const push = () => {
        while (pushed < 1e9 && !response.destroyed) {
          pushed += chunk.length;
          if (!response.write(chunk)) return;
        }
      };
      response.on('drain', push);
      push();
    },
    PATIENT_MS,
    100_000,
  );
  assert.is(statusOf(sent), 200);
  assert.is(sent?.excerpt, 'x'.repeat(2048));
  assert.ok(pushed < 100e6, `${pushed} bytes were taken`);
});

test('a truncated body does not change the status', async () => {
  const { sent } = await sendTo((response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => response.destroy());
  });
  assert.is(statusOf(sent), 200);
  assert.is(sent?.excerpt, 'half');
});

const says = (text: string) => (socket: Socket) => void socket.write(text);
for (const [what, error, serve, scheme] of [
  ['endless headers', 'too_large', says(`HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(100_000)}`)],
  ['what is not HTTP', 'http', says('220 mail.example ESMTP\r\n')],
  ['HTTP behind an https URL', 'tls', says('HTTP/1.1 200 OK\r\n\r\n'), 'https'],
  ['a closed connection', 'connect', (socket: Socket) => socket.end()],
  ['a reset connection', 'connect', (socket: Socket) => socket.resetAndDestroy()],
  ['one that is reset before TLS', 'connect', (socket: Socket) => socket.resetAndDestroy(), 'https'],
] as const) {
  test(`${what} instead of a response is reported as ${error}`, async () => {
    assert.is(errorOf(await sendToSocket(serve, PATIENT_MS, scheme)), error);
  });
}

test('a refused connection is a connect error', async () => {
  const server = await startMerchantServer(() => {});
  await server.close();
  assert.is(errorOf(await senderWith(PATIENT_MS).send(post(`${server.origin}/`))), 'connect');
});

test('a resolver that hangs is a timeout, one that fails a dns error', async () => {
  const limits = { timeoutMs: HASTY_MS, responseBytesMax: 1_000 };
  const hanging = createSender(
    createUrlGuard([], () => new Promise(() => {})),
    limits,
    systemClock,
  );
  // The time limit alone does not keep the process alive; in the program something else always does.
  const keepAlive = setInterval(() => {}, 1_000);
  assert.is(errorOf(await hanging.send(post('https://shop.example/'))), 'timeout');
  clearInterval(keepAlive);
  const failing = createSender(
    createUrlGuard([], () => Promise.reject(new Error('SERVFAIL'))),
    limits,
    systemClock,
  );
  assert.is(errorOf(await failing.send(post('https://shop.example/'))), 'dns');
});

test('a blocked target and a URL that should not have been saved are blocked', async () => {
  const sender = createSender(createUrlGuard([]), { timeoutMs: PATIENT_MS, responseBytesMax: 1_000 }, systemClock);
  assert.is(errorOf(await sender.send(post('https://169.254.169.254/latest/meta-data'))), 'blocked_address');
  assert.is(errorOf(await sender.send(post('http://localhost:8080/'))), 'blocked_address');
  assert.is(errorOf(await sender.send(post('not a URL'))), 'blocked_address');
  const allowed = senderWith(PATIENT_MS);
  assert.is(errorOf(await allowed.send({ ...post('http://127.0.0.1:8080/'), mode: 'live' })), 'blocked_address');
});

test('a POST may have less time than the sender, also while it connects', async () => {
  const lookUp = () => new Promise<never>(() => {});
  const limits = { timeoutMs: PATIENT_MS, responseBytesMax: 1_000 };
  const hanging = createSender(createUrlGuard([], lookUp), limits, systemClock);
  const startedMs = performance.now();
  const keepAlive = setInterval(() => {}, 1_000);
  assert.is(errorOf(await hanging.send({ ...post('https://shop.example/'), timeoutMs: HASTY_MS })), 'timeout');
  clearInterval(keepAlive);
  assert.ok(performance.now() - startedMs < PATIENT_MS / 2);
  hanging.abort();
});

test('abort ends what is under way or starts later, with nothing to record', async () => {
  let sender = senderWith(PATIENT_MS);
  const server = await merchantServer(() => sender.abort());
  assert.is(await sender.send(post(`${server.origin}/`)), null);
  assert.is(await sender.send(post(`${server.origin}/`)), null);
  assert.is(server.received.length, 1);
  sender = senderWith(PATIENT_MS);
  const early = sender.send(post(`${server.origin}/`));
  sender.abort();
  assert.is(await early, null);
});

/** Starts a server that keeps connections. @param answer is given the number of the request */
async function startKeeping(answer: (number: number, response: ServerResponse, socket: Socket) => void) {
  const [open, nonces] = [new Set<Socket>(), [] as string[]];
  let made = 0;
  const server = createHttpServer((request, response) => {
    const number = nonces.push(String(request.headers['x-nonce']));
    request.resume().on('end', () => answer(number, response, request.socket));
  });
  server.keepAliveTimeout = 60_000;
  server.unref();
  server.on('connection', (socket) => {
    made++;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const guard = createUrlGuard(['127.0.0.0/8'], async () => ['127.0.0.1']);
  const sender = createSender(guard, { timeoutMs: PATIENT_MS, responseBytesMax: 1_000 }, systemClock);
  let nonce = 0;
  const send = async (name = 'shop.example') => {
    const headers = () => ({ 'x-nonce': String(++nonce) });
    const sent = await sender.send({ ...post(`http://${name}:${port}/`), headers });
    // The connection is free for the next one a moment after the answer.
    await setImmediate();
    return sent;
  };
  const close = () => {
    sender.abort();
    server.closeAllConnections();
    server.close();
  };
  return { open, nonces, made: () => made, sender, send, close };
}

const ok = (_: number, response: ServerResponse): void => void response.end('{}');

test('POSTs one after the other use the same connections, which are closed when idle for seconds, and by abort', async () => {
  const { open, made, send, sender, close } = await startKeeping(ok);
  for (let n = 0; n < 5; n++) assert.is(statusOf(await send()), 200);
  assert.is(made(), 1);
  await Promise.all(Array.from({ length: 4 }, () => send()));
  assert.is(made(), 4, 'those at the same time use one each');
  await until('they are closed', () => open.size === 0);
  await send();
  assert.is(open.size, 1);
  sender.abort();
  await until('it is closed', () => open.size === 0);
  close();
});

test('a kept connection that its host closes without an answer: it is sent again, signed again; not on a new one', async () => {
  const { nonces, send, close } = await startKeeping((number, response, socket) =>
    number === 2 || number > 3 ? socket.destroy() : ok(number, response),
  );
  assert.is(statusOf(await send()), 200);
  assert.is(statusOf(await send()), 200);
  assert.equal(nonces, ['1', '2', '3']);
  assert.is(errorOf(await send('other.example')), 'connect');
  assert.is(nonces.length, 4);
  close();
});

test('at most so many connections are kept', async () => {
  const { open, send, close } = await startKeeping(ok);
  for (let n = 0; n < KEPT_MAX + 10; n++) await send(`h${n}.example`);
  assert.ok(open.size <= KEPT_MAX + 1, `${open.size} are kept`);
  close();
});

test('Retry-After is read as seconds or as a date', () => {
  const nowMs = Date.UTC(2026, 10, 5, 8, 0, 0);
  assert.is(retryAfterMs('120', nowMs), 120_000);
  assert.is(retryAfterMs(' 0 ', nowMs), 0);
  assert.is(retryAfterMs('Thu, 05 Nov 2026 08:02:00 GMT', nowMs), 120_000);
  assert.is(retryAfterMs('Thursday, 05-Nov-26 08:02:00 GMT', nowMs), 120_000);
  assert.is(retryAfterMs('Thu, 05 Nov 2026 07:00:00 GMT', nowMs), 0);
  for (const nonsense of ['', 'soon', '-1', '1.5', '1e3', 'NaN', 'Infinity', '2026-11-05', 'GMT', 'Thu, 99 Foo GMT']) {
    assert.is(retryAfterMs(nonsense, nowMs), null, nonsense);
  }
});

test.run();

const tls = suite<{ dir: string; server: KeyPair; authorityFile: string }>('tls');

/** Sends from a separate process with these environment variables. */
async function sendFromProcess(url: string, env: Record<string, string>): Promise<unknown> {
  const args = [...loaderOptions, ownProgram(new URL('./post-once.ts', import.meta.url)), url];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
  return JSON.parse(stdout);
}

tls.before((context) => {
  const dir = mkdtempSync(join(tmpdir(), 'quayside-tls-'));
  Object.assign(context, { dir, ...makeCertificates(dir, 'IP:127.0.0.1') });
});
tls.after(({ dir }) => rmSync(dir, { recursive: true }));

tls('a certificate of an unknown authority is refused before anything is sent', async ({ server }) => {
  const merchant = await startMerchantServer((response) => response.end(), server);
  assert.is(errorOf(await senderWith(PATIENT_MS).send(post(`${merchant.origin}/`))), 'tls');
  assert.is(merchant.received.length, 0);
  await merchant.close();
});

tls('no environment variable turns the verification off', async ({ server }) => {
  const merchant = await startMerchantServer((response) => response.end(), server);
  const outcome = await sendFromProcess(`${merchant.origin}/`, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  assert.equal(outcome, { kind: 'unanswered', error: 'tls' });
  assert.is(merchant.received.length, 0);
  await merchant.close();
});

tls('a certificate of a trusted authority is accepted, for its own name only', async ({ server, authorityFile }) => {
  const merchant = await startMerchantServer((response) => response.end(), server);
  const trust = { NODE_EXTRA_CA_CERTS: authorityFile };
  const outcome = await sendFromProcess(`${merchant.origin}/`, trust);
  assert.equal(outcome, { kind: 'answered', status: 200, retryAfterMs: null });
  const { port } = new URL(merchant.origin);
  assert.equal(await sendFromProcess(`https://localhost:${port}/`, trust), { kind: 'unanswered', error: 'tls' });
  assert.is(merchant.received.length, 1);
  await merchant.close();
});

tls.run();

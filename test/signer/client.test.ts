/**
 * The signer's client with servers that are not a signer or that disconnect: every call ends, with the right fault.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { openSigner } from '../../src/signer/client.ts';
import { ANSWER_BYTES_MAX } from '../../src/signer/protocol.ts';
import { faultOf } from '../support/refusal.ts';
import { firstOf, refundOf } from '../support/temp-signer.ts';

const PATIENT_MS = 30_000;
/** Long enough for a call that is answered, on any machine. */
const UNHURRIED_MS = 3_000;
const never: Answering = () => {};
const dir = mkdtempSync(join(tmpdir(), 'quayside-client-'));
const path = join(dir, 'signer.sock');
test.after(() => rmSync(dir, { recursive: true, force: true }));

/** @param count number of the request, from 1 */
type Answering = (response: ServerResponse, count: number, body: string) => unknown;

/** Runs a test against a server that answers each request, before a client that waits this long. */
async function serving(
  answer: Answering,
  timeoutMs: number,
  work: (client: ReturnType<typeof openSigner>) => Promise<void>,
): Promise<void> {
  let count = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => answer(response, ++count, body));
  });
  await new Promise<void>((done) => server.listen(path, done));
  const client = openSigner({ socket: path, timeoutMs });
  try {
    await work(client);
  } finally {
    await client.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

const codeOf = (work: Promise<unknown>): Promise<string> => faultOf(work).then(({ kind, code }) => `${kind} ${code}`);

const unreachable = 'transient signer_unreachable';
const refuseWith = (response: ServerResponse, body: unknown) => response.writeHead(403).end(JSON.stringify(body));

test('no server is running', async () => {
  const client = openSigner({ socket: path, timeoutMs: 1000 });
  assert.is(await codeOf(client.fence('test:one')), unreachable);
  assert.is(await codeOf(client.fence('test:one')), unreachable);
  await client.close();
});

test('answers reach their calls, in any order and in any pieces', async () => {
  const waiting: [string, ServerResponse][] = [];
  const answer: Answering = (response, _count, body) => {
    waiting.push([JSON.parse(body).network, response]);
    if (waiting.length < 3) return;
    for (const [network, one] of waiting.reverse()) {
      for (const digit of network.slice('test:'.length)) one.write(digit);
      one.end();
    }
  };
  await serving(answer, PATIENT_MS, async (client) => {
    const numbers = [1001, 2002, 3003];
    assert.equal(await Promise.all(numbers.map((number) => client.fence(`test:${number}`))), numbers);
  });
});

test('refusals become faults', async () => {
  const error = { kind: 'permanent', code: 'signer_refused_cap', message: 'wait' };
  const refuse: Answering = (response) => refuseWith(response, error);
  await serving(refuse, PATIENT_MS, async (client) => {
    assert.is(await codeOf(client.sign(firstOf(refundOf('rf_1', 1n), 0))), 'permanent signer_refused_cap');
  });
});

const nonsense: readonly (readonly [what: string, Answering])[] = [
  ['disconnects', (response) => response.destroy()],
  ['disconnects within its answer', (response) => response.writeHead(200, { 'content-length': 5 }).write('1')],
  ['does not speak HTTP', (response) => response.socket?.end('{"id":1,"result":7}\n')],
  ['answers something that is not JSON', (response) => response.end('seven')],
  ['answers nothing', (response) => response.end()],
  ['refuses without a reason', (response) => refuseWith(response, {})],
  ['refuses with a result', (response) => refuseWith(response, 7)],
  ['answers with a refusal', (response) => response.end('{"kind":"permanent","code":"x","message":"y"}')],
  ['answers with the wrong type', (response) => response.end('"seven"')],
  ['redirects', (response) => response.writeHead(302, { location: '/wallets' }).end('7')],
  ['answers with too long a body', (response) => response.end('1'.repeat(ANSWER_BYTES_MAX + 1))],
  ['answers with too long a header', (response) => response.setHeader('x-more', 'x'.repeat(100_000)).end('7')],
];

for (const [what, answer] of nonsense) {
  test(`a server that ${what} counts as unreachable, and the next call connects again`, async () => {
    const once: Answering = (response, count) => {
      if (count > 1) response.end('7');
      else {
        answer(response, count, '');
        if (what.startsWith('disconnects within')) response.socket?.end();
      }
    };
    await serving(once, PATIENT_MS, async (client) => {
      assert.is(await codeOf(client.fence('test:one')), unreachable);
      assert.is(await client.fence('test:one'), 7);
    });
  });
}

for (const [what, begin] of [
  ['not answered', () => {}],
  ['answered in part', (response) => response.write('1')],
] as const satisfies readonly (readonly [string, (response: ServerResponse) => void])[]) {
  test(`a call that is ${what} times out and does not delay others`, async () => {
    const answer: Answering = (response, _count, body) => {
      if (JSON.parse(body).network === 'test:one') begin(response);
      else response.end('2');
    };
    await serving(answer, UNHURRIED_MS, async (client) => {
      const first = codeOf(client.fence('test:one'));
      assert.is(await client.fence('test:two'), 2);
      assert.is(await first, unreachable);
    });
  });
}

test('calls that wait for a connection time out too', async () => {
  await serving(never, 100, async (client) => {
    const calls = Array.from({ length: 20 }, () => codeOf(client.fence('test:one')));
    for (const code of await Promise.all(calls)) assert.is(code, unreachable);
  });
});

test('all pending calls end when the connection is lost or the client is closed', async () => {
  await serving(never, PATIENT_MS, async (client) => {
    const more = Array.from({ length: 20 }, () => client.fence('test:one'));
    const calls = [client.journal('test:one', 0, 10), client.wallets('test:one'), ...more].map(codeOf);
    await new Promise((done) => setImmediate(done));
    await client.close();
    for (const code of await Promise.all(calls)) assert.is(code, unreachable);
  });
});

test('calls beyond the connection limit wait', async () => {
  let open = 0;
  let most = 0;
  const answer: Answering = (response) => {
    open += 1;
    most = Math.max(most, open);
    setImmediate(() => {
      open -= 1;
      response.end('7');
    });
  };
  await serving(answer, PATIENT_MS, async (client) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.fence('test:one')));
    assert.is(answers.length, 50);
  });
  assert.ok(most <= 4, `${most} at once`);
});

async function backedUp(client: ReturnType<typeof openSigner>): Promise<string> {
  let text = '';
  for await (const part of client.backup()) text += Buffer.from(part).toString('latin1');
  return text;
}

test('a backup that the signer refuses, does not go on with, or ends early is no backup', async () => {
  const error = { kind: 'transient', code: 'backup_running', message: 'wait' };
  const begin = (response: ServerResponse) => response.writeHead(200).write('a part');
  const endEarly: Answering = (response) => {
    begin(response);
    setImmediate(() => response.destroy());
  };
  const cases: readonly (readonly [Answering, timeoutMs: number, code: string])[] = [
    [(response) => refuseWith(response, error), PATIENT_MS, 'transient backup_running'],
    [(response) => begin(response), 200, unreachable],
    [endEarly, PATIENT_MS, unreachable],
  ];
  for (const [answer, timeoutMs, code] of cases)
    await serving(answer, timeoutMs, async (client) => assert.is(await codeOf(backedUp(client)), code));
});

test('a backup takes as long as it takes, however long its caller needs for a part', async () => {
  const answer: Answering = async (response) => {
    for (const digit of '123456') {
      response.write(digit);
      await systemClock.sleep(UNHURRIED_MS / 5);
    }
    response.end();
  };
  await serving(answer, UNHURRIED_MS, async (client) => {
    let text = '';
    for await (const part of client.backup()) {
      text += Buffer.from(part).toString();
      if (text.length === 1) await systemClock.sleep(UNHURRIED_MS * 1.1);
    }
    assert.is(text, '123456');
  });
});

test('an invalid request is refused before it is sent', async () => {
  const unasked = () => assert.unreachable();
  await serving(unasked, PATIENT_MS, async (client) => {
    const crooked = firstOf(refundOf('rf\n1', 1n), 0);
    assert.is(await codeOf(client.sign(crooked)), 'permanent signer_refused_request');
    assert.is(await codeOf(client.addresses('test:one', [2 ** 31])), 'permanent signer_refused_request');
  });
});

test.run();

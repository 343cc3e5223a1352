import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Outcome,
  sameHex,
  sign,
  signRequest,
  signStandard,
  verdict,
  webhookHeaders,
} from '../../src/core/delivery.ts';
import { readShipped } from '../../src/lib/installation.ts';

type RequestVector = Readonly<
  Record<'name' | 'method' | 'secret' | 'timestamp' | 'nonce' | 'body' | 'signature', string>
>;
type WebhookVector = Readonly<
  Record<'name' | 'secret' | 'eventId' | 'nonce' | 'body' | 'serviceSignature' | 'standardSignature', string> & {
    timestampS: number;
  }
>;

const vectors = <T>(name: string): T[] => readShipped(`test/vectors/${name}.json`);
const requests = vectors<RequestVector>('request-signature');
const webhooks = vectors<WebhookVector>('webhook-signature');

/** HMAC-SHA256 by the openssl program, as an integrator would check it in a shell. */
const openssl = (key: readonly string[], text: string): Buffer =>
  execFileSync('openssl', ['dgst', '-sha256', ...key, '-binary'], { input: text });

const SCHEDULE_S = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].map((minutes) => minutes * 60);
const answered = (status: number, retryAfterMs: number | null = null): Outcome => ({
  kind: 'answered',
  status,
  retryAfterMs,
});

type ClientVector = Readonly<
  Record<'secret' | 'timestamp' | 'nonce' | 'method' | 'path' | 'body' | 'signature' | 'request_signature', string>
>;
const { signatures } = readShipped<{ signatures: ClientVector[] }>('sdk/vectors.json');

for (const { secret, method, path, body, signature, request_signature, ...head } of signatures) {
  test(`signatures of the clients: ${method} ${path}`, () => {
    assert.is(sign(secret, head.timestamp, head.nonce, body), signature);
    assert.is(signRequest(secret, { ...head, method, target: path }, Buffer.from(body)), request_signature);
  });
}

for (const vector of requests) {
  test(`request signature: ${vector.name}`, () => {
    const { secret, timestamp, nonce, body, signature } = vector;
    assert.is(openssl(['-hmac', secret], `${timestamp}.${nonce}.${body}`).toString('hex'), signature);
    assert.is(sign(secret, timestamp, nonce, body), signature);
    assert.is(sign(secret, timestamp, nonce, Buffer.from(body)), signature);
  });
}

for (const vector of webhooks) {
  test(`webhook signatures: ${vector.name}`, () => {
    const { secret, eventId, timestampS, nonce, body, serviceSignature, standardSignature } = vector;
    assert.is(openssl(['-hmac', secret], `${timestampS}.${nonce}.${body}`).toString('hex'), serviceSignature);
    assert.is(sign(secret, timestampS, nonce, body), serviceSignature);

    const key = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex');
    const mac = openssl(['-mac', 'HMAC', '-macopt', `hexkey:${key}`], `${eventId}.${timestampS}.${body}`);
    assert.is(`v1,${mac.toString('base64')}`, standardSignature);
    assert.is(signStandard(secret, eventId, timestampS, body), standardSignature);
  });
}

test('the published example of the Standard Webhooks libraries is among the vectors', () => {
  const published = webhooks.find(({ eventId }) => eventId === 'msg_p5jXN8AQM9LWM0D4loKWxJek');
  assert.is(published?.standardSignature, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('bodies that are not text are signed byte for byte', () => {
  const bytes = Buffer.from([0xff, 0x00, 0xfe, 0x80]);
  const text = Buffer.concat([Buffer.from('1.n.'), bytes]);
  const expected = execFileSync('openssl', ['dgst', '-sha256', '-hmac', 'ss_x', '-binary'], { input: text });
  assert.is(sign('ss_x', 1, 'n', bytes), expected.toString('hex'));
});

test('a message has the documented headers and those of Standard Webhooks', () => {
  const vector = webhooks[1];
  assert.ok(vector);
  const { secret, eventId, timestampS, nonce, body } = vector;
  const message = { secret, nextSecret: null, eventId, eventType: 'payment.completed', body, timestampS, nonce };
  const headers = webhookHeaders({ ...message, mode: 'live' });
  assert.equal(headers, {
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Webhook/1.0',
    'X-Service-Signature': vector.serviceSignature,
    'X-Service-Timestamp': String(timestampS),
    'X-Service-Nonce': nonce,
    'X-Service-Event-Type': 'payment.completed',
    'X-Service-Event-ID': eventId,
    'X-Service-Mode': 'live',
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': vector.standardSignature,
  });
  const other = webhooks[0];
  assert.ok(other);
  const rotating = webhookHeaders({ ...message, mode: 'test', nextSecret: other.secret });
  const next = signStandard(other.secret, eventId, timestampS, body);
  assert.equal(rotating, {
    ...headers,
    'X-Service-Mode': 'test',
    'webhook-signature': `${vector.standardSignature} ${next}`,
  });
});

test('hex texts are compared without case, and any single character matters', () => {
  const hex = sign('ss_x', 1, 'n', '');
  assert.ok(sameHex(hex, hex.toUpperCase()));
  for (let at = 0; at < hex.length; at++) {
    const other = hex[at] === '0' ? '1' : '0';
    assert.not.ok(sameHex(hex, hex.slice(0, at) + other + hex.slice(at + 1)));
  }
  assert.not.ok(sameHex(hex, hex.slice(1)));
  assert.not.ok(sameHex(hex, `${hex}0`));
  assert.not.ok(sameHex(hex, ''));
});

test('every HTTP status has the documented verdict', () => {
  for (let status = 200; status < 600; status++) {
    const { kind } = verdict(1, answered(status), SCHEDULE_S, 0.5, 0);
    const expected = status < 300 ? 'delivered' : status < 400 || status === 429 || status >= 500 ? 'retry' : 'failed';
    assert.is(kind, expected, `status ${status}`);
  }
});

test('ten retries after 2, 4, 8, … 1024 minutes, then failed', () => {
  const waits: number[] = [];
  let nowMs = 1_793_872_800_000;
  for (let attempt = 1; ; attempt++) {
    const decided = verdict(attempt, { kind: 'unanswered', error: 'timeout' }, SCHEDULE_S, 0.5, nowMs);
    if (decided.kind !== 'retry') {
      assert.equal(decided, { kind: 'failed' });
      break;
    }
    waits.push((decided.atMs - nowMs) / 60_000);
    nowMs = decided.atMs;
  }
  assert.equal(waits, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
});

test('a success on the last attempt is a success', () => {
  assert.equal(verdict(11, answered(200), SCHEDULE_S, 0, 0), { kind: 'delivered' });
  assert.equal(verdict(11, answered(500), SCHEDULE_S, 0, 0), { kind: 'failed' });
});

test('a retry waits the scheduled delay ±10 %, or what the receiver asks for, up to twice the delay', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.option(fc.oneof(fc.nat(200_000_000), fc.constant(1e30)), { nil: null }),
      fc.integer({ min: 0, max: 4e12 }),
      (attempt, random, retryAfterMs, nowMs) => {
        const decided = verdict(attempt, answered(429, retryAfterMs), SCHEDULE_S, random, nowMs);
        assert.is(decided.kind, 'retry');
        if (decided.kind !== 'retry') return;
        const delayMs = (SCHEDULE_S[attempt - 1] ?? 0) * 1000;
        const waitMs = decided.atMs - nowMs;
        assert.ok(Number.isSafeInteger(decided.atMs));
        const plain = verdict(attempt, answered(500), SCHEDULE_S, random, nowMs);
        const plainMs = plain.kind === 'retry' ? plain.atMs - nowMs : 0;
        assert.ok(plainMs >= delayMs * 0.9 && plainMs <= delayMs * 1.1);
        assert.is(waitMs, Math.max(plainMs, Math.min(retryAfterMs ?? 0, 2 * delayMs)));
      },
    ),
  );
});

test('the jitter spans 10 % on both sides', () => {
  const wait = (random: number) => {
    const decided = verdict(1, answered(503), SCHEDULE_S, random, 0);
    return decided.kind === 'retry' ? decided.atMs : -1;
  };
  assert.is(wait(0), 108_000);
  assert.is(wait(0.5), 120_000);
  assert.is(wait(0.999999), 132_000);
});

test.run();

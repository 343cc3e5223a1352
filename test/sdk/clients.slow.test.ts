/**
 * The clients in `sdk/`, each in its own language: against the vectors that all share, against the real API behind a
 * proxy that loses, delays and spoils answers, and against the fields of the OpenAPI document.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type ServerResponse, request as send } from 'node:http';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { column } from '../support/fields.ts';
import { type Received, startMerchantServer } from '../support/merchant-server.ts';
import { signature } from '../support/signed-client.ts';
import { type Driver, type Language, languages, type Outcome, prepare, startDriver } from './client-driver.ts';

const vectors = JSON.parse(readFileSync('sdk/vectors.json', 'utf8'));
const KEY = 'sk_test_00000000000000000000000000000000';
const SECRET = 'ss_never_shown_0000000000000000000000000';

/** Answers of a scripted server, one after the other; the last one for ever. */
type Scripted = Readonly<{ status: number; body: string; headers?: Readonly<Record<string, string>> }>;

/** Lets a client make calls to a server that answers as the script says. @returns the requests that came */
async function scripted(
  words: readonly string[],
  script: readonly Scripted[],
  work: (driver: Driver) => Promise<void>,
): Promise<readonly Received[]> {
  const server = await startMerchantServer((response) => {
    const { status, body, headers } = script[Math.min(server.received.length, script.length) - 1] as Scripted;
    response.writeHead(status, headers).end(body);
  });
  const env = { BASE_URL: server.origin, API_KEY: KEY, API_SECRET: SECRET, NOW: String(vectors.now_s) };
  const driver = startDriver(words, env);
  try {
    await work(driver);
  } finally {
    driver.stop();
    await server.close();
  }
  return server.received;
}

const order = { amount: 1050, currency: 'USD', order_id: 'order-1' };
const ok = { status: 200, body: '{"id":"cs_1"}' };

type World = {
  words: readonly string[];
  example: readonly string[];
  remove: () => void;
  api: ApiServer;
  driver: Driver;
};
type Faults = ReturnType<typeof createFaults>;

/** Spoils requests and answers on their way to the API: the next call meets the next fault. */
function createFaults(baseUrl: () => string) {
  const kinds = ['lost before', 'lost after', 'late', '429', '500 after', 'no JSON after'] as const;
  let next: (typeof kinds)[number] | null = null;
  let tries = 0;
  const forward = (method: string, url: string, headers: object, body: string) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const onward = send(baseUrl() + url, { method, headers: headers as Record<string, string> }, async (answer) => {
        let text = '';
        for await (const chunk of answer) text += chunk;
        resolve({ status: answer.statusCode ?? 0, text });
      });
      onward.once('error', reject);
      onward.end(body);
    });
  return {
    kinds,
    tries: () => tries,
    meet(kind: (typeof kinds)[number]) {
      next = kind;
      tries = 0;
    },
    async handle(response: ServerResponse, { method, path, headers, body }: Received) {
      const fault = next;
      next = null;
      tries += 1;
      if (fault === 'lost before') return void response.destroy();
      if (fault === '429') return void response.writeHead(429, { 'Retry-After': '1' }).end('{}');
      const { status, text } = await forward(method, path, headers, body);
      if (fault === 'lost after') return void response.destroy();
      // Longer than the client waits.
      if (fault === 'late') await new Promise((resolve) => setTimeout(resolve, 6000));
      if (fault === '500 after') return void response.writeHead(500).end('{}');
      if (fault === 'no JSON after') return void response.writeHead(200).end('<html>');
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(text);
    },
  };
}

function testVectors(test: ReturnType<typeof suite<World>>): void {
  test('every request is signed, and says which client it is', async ({ words }) => {
    const [seen] = await scripted(words, [ok], async (driver) => {
      assert.equal((await driver.call('createSession', order)).error, undefined);
    });
    const { headers, body, method, path } = seen as Received;
    const [timestamp, nonce] = [String(headers['x-service-timestamp']), String(headers['x-service-nonce'])];
    assert.is(timestamp, String(vectors.now_s));
    assert.is(headers['x-service-signature'], signature(SECRET, timestamp, nonce, body));
    assert.is(`${method} ${path}`, 'POST /api/v1/checkout/sessions/create');
    assert.equal(JSON.parse(body), order);
    assert.match(String(headers['user-agent']), /^quayside-\w+\/0\.1\.0 \(/);
    assert.not.match(JSON.stringify(headers), SECRET);
  });

  test('webhooks: genuine ones are taken, and others refused with their code', async ({ words }) => {
    await scripted(words, [ok], async (driver) => {
      for (const { name, body, headers, secrets, expected } of vectors.webhooks) {
        const { error, result } = await driver.call('verify', body, headers, secrets);
        assert.is(error?.code ?? null, expected, name);
        if (expected === null) assert.equal((result as { id: string }).id, 'evt_1795000000000000001', name);
        else assert.is(error?.kind, 'Signature', name);
      }
    });
  });

  test('each error has its class, code and request id', async ({ words }) => {
    for (const { status, body, kind, code } of vectors.errors) {
      await scripted(words, [{ status, body }], async (driver) => {
        const { error } = await driver.call('cancelSession', 'cs_1');
        assert.equal({ kind: error?.kind, code: error?.code, status: error?.status }, { kind, code, status });
        if (code === 'invalid_parameter') {
          assert.is(error?.param, 'amount');
          assert.is(error?.requestId, 'req_01kaj8xq2m7v5c9t3w6e1r4y0p');
        }
      });
    }
  });

  test('a list is read page by page, in both directions', async ({ words }) => {
    const pages = vectors.pages.ids.map((ids: string[], at: number) => ({
      status: 200,
      body: JSON.stringify({
        object: 'list',
        data: ids.map((id) => ({ id })),
        has_more: at < vectors.pages.ids.length - 1,
      }),
    }));
    const idsOf = ({ result }: Outcome) => (result as { id: string }[]).map(({ id }) => id);
    const down = await scripted(words, pages, async (driver) => {
      assert.equal(idsOf(await driver.call('sessions', { status: 'paid' })), vectors.pages.read);
    });
    assert.equal(queriesOf(down), [{ status: 'paid' }, { status: 'paid', starting_after: 'b' }]);
    const up = await scripted(words, pages, async (driver) => {
      assert.equal(idsOf(await driver.call('events', { ending_before: 'z', type: ['x', 'y'] })), ['b', 'c', 'a']);
    });
    assert.equal(queriesOf(up), [
      { ending_before: 'z', type: 'y' },
      { ending_before: 'c', type: 'y' },
    ]);
    assert.match(up[0]?.path ?? '', /type=x&.*type=y|type=x&type=y/);
  });
}

const queriesOf = (seen: readonly Received[]) =>
  seen.map(({ path }) => Object.fromEntries(new URLSearchParams(path.split('?')[1] ?? '')));

function testSafety(test: ReturnType<typeof suite<World>>): void {
  const busy = { status: 503, body: '{}', headers: { 'Retry-After': '1' } };

  test('a call is repeated only if that is safe, and with a new nonce', async ({ words }) => {
    const repeated = await scripted(words, [busy, ok], async (driver) => {
      assert.equal((await driver.call('createSession', order)).error, undefined);
      assert.equal((await driver.call('request', 'POST', '/api/v1/anything')).error, undefined);
    });
    assert.equal(new Set(repeated.map(({ headers }) => headers['x-service-nonce'])).size, 3);
    const once = await scripted(words, [busy], async (driver) => {
      assert.is((await driver.call('request', 'POST', '/api/v1/anything')).error?.status, 503);
    });
    assert.is(once.length, 1);
    const given = await scripted(words, [busy], async (driver) => {
      assert.is((await driver.call('session', 'cs_1')).error?.status, 503);
    });
    assert.is(given.length, 3, 'it gives up after two more');
    const canceled = await scripted(words, [busy, ok], async (driver) => {
      assert.equal((await driver.call('cancelSession', 'cs_1')).error, undefined);
    });
    assert.is(
      new Set(canceled.map(({ headers }) => headers['idempotency-key'])).size,
      1,
      'one identity for both tries',
    );
    const long = { ...busy, headers: { 'Retry-After': '61' } };
    assert.is((await scripted(words, [long], async (driver) => void (await driver.call('session', 'cs_1')))).length, 1);
  });

  test('no other host gets a signed request, no amount is a float, no secret is printed', async ({ words }) => {
    const seen = await scripted(words, [ok], async (driver) => {
      const elsewhere = { status: 302, body: '', headers: { Location: '/elsewhere' } };
      const redirected = await scripted(words, [elsewhere, ok], async (other) => {
        assert.is((await other.call('session', 'cs_1')).error?.kind, 'Api');
      });
      assert.is(redirected.length, 1);
      assert.is((await driver.call('createSession', { ...order, amount: 10.5 })).error?.kind, 'Refused');
      const line = { price_data: { currency: 'USD', unit_amount: 0.1, product_data: { name: 'Tea' } } };
      assert.is((await driver.call('createSession', { ...order, line_items: [line] })).error?.kind, 'Refused');
      const { result } = await driver.call('show');
      for (const secret of [SECRET, KEY]) assert.not.match(JSON.stringify(result), secret);
    });
    assert.is(seen.length, 0);
  });
}

function testApi(test: ReturnType<typeof suite<World>>, faults: Faults): void {
  for (const kind of faults.kinds) {
    test(`behind a proxy, ${kind}: one session for one order`, async ({ driver, api }) => {
      const body = { ...order, order_id: `order ${kind} é` };
      faults.meet(kind);
      const { result, error } = await driver.call('createSession', body);
      assert.is(error, undefined);
      assert.is(faults.tries(), 2);
      const { json } = await api.send('GET', `/api/v1/checkout/sessions?order_id=${encodeURIComponent(body.order_id)}`);
      const made = json as { data: { id: string }[] };
      assert.equal(column(made.data, 'id'), [(result as { id: string }).id]);
    });
  }

  test('sessions, refunds and events of the real API', async ({ driver }) => {
    const made = (await driver.call('createSession', { ...order, order_id: 'life', metadata: { cart: '7' } })).result;
    const { id, payment_options: options } = made as { id: string; payment_options: { address: string }[] };
    assert.match(options[0]?.address ?? '', /^0x/);
    assert.equal(((await driver.call('session', id)).result as { id: string }).id, id);
    const canceled = (await driver.call('cancelSession', id)).result as { payment_status: string };
    assert.is(canceled.payment_status, 'canceled');
    const listed = (await driver.call('sessions', { order_id: 'life' })).result as { id: string }[];
    assert.equal(
      listed.map((one) => one.id),
      [id],
    );
    const [event] = (await driver.call('events', { limit: 1, type: ['payment.cancelled'] })).result as { id: string }[];
    assert.is(((await driver.call('event', event?.id)).result as { id: string }).id, event?.id);
    const refund = { order_id: id, refund_id: 'r-1', amount: '4.50', currency: 'USDT' };
    assert.is((await driver.call('createRefund', refund)).error?.kind, 'InvalidRequest');
    assert.is((await driver.call('refund', 'r-1')).error?.kind, 'NotFound');
    assert.is((await driver.call('cancelRefund', 'r-1')).error?.kind, 'NotFound');
    assert.equal((await driver.call('refunds', {})).result, []);
  });
}

function testExample(test: ReturnType<typeof suite<World>>): void {
  test('the example of its README runs', async ({ example, api }) => {
    const { apiKey, apiSecret } = api.testKey;
    const env = { ...process.env, QUAYSIDE_URL: api.baseUrl, QUAYSIDE_KEY: apiKey, QUAYSIDE_SECRET: apiSecret };
    // Examples take the machine's clock.
    api.clock.advance(Date.now() - api.clock.nowMs());
    const [program = '', ...args] = example;
    const { stdout } = await promisify(execFile)(program, args, { env });
    const [first = '', second = ''] = stdout.split('\n');
    assert.match(first, /^cs_\w+ is pending: https:\/\/pay\.shop\.example\/pay\/cs_\w+/);
    assert.match(second, /^cs_\w+ has 0 payments$/);
  });
}

/** Names of the fields of a type, as the client of each language writes them. */
const fieldPatterns: Readonly<Record<string, (type: string) => readonly [block: RegExp, field: RegExp]>> = {
  TypeScript: (type) => [new RegExp(`^export type ${type} = Readonly<\\{\\n(.*?)^\\}>;`, 'ms'), /^ {2}(\w+)\??:/gm],
  Python: (type) => [new RegExp(`^class ${type}\\(TypedDict.*?\\n(.*?)\\n\\n\\n`, 'ms'), /^ {4}(\w+):/gm],
  PHP: (type) => [new RegExp(`@phpstan-type ${type} array\\{(.*?)\\}\\n`, 's'), /(\w+)\??: /g],
  Go: (type) => [new RegExp(`^type ${type} struct \\{\\n(.*?)^\\}`, 'ms'), /^\t\w.*`json:"(\w+)/gm],
};
const typeNames = [
  'CreateSession',
  'PaymentOption',
  'Payment',
  'Refundable',
  'PaymentSession',
  'CreateRefund',
] as const;
const otherTypes = ['RefundDestination', 'Refund', 'CanceledRefund'] as const;

function testFields(test: ReturnType<typeof suite<World>>, { name, source }: Language): void {
  test('the types have the fields of the OpenAPI document', async ({ api }) => {
    const { components } = (await (await fetch(`${api.baseUrl}/openapi.json`)).json()) as {
      components: { schemas: Record<string, { properties: object }> };
    };
    const text = readFileSync(source, 'utf8');
    for (const type of [...typeNames, ...otherTypes]) {
      const [block, field] = fieldPatterns[name]?.(type) ?? [];
      const inside = block?.exec(text)?.[1] ?? '';
      const fields = [...inside.matchAll(field ?? /$/g)].map(([, one]) => one);
      assert.equal(fields.sort(), Object.keys(components.schemas[type]?.properties ?? {}).sort(), type);
    }
  });
}

for (const language of languages) {
  const test = suite<World>(`the client for ${language.name}`);
  const runs = language.isHere();
  let server: ApiServer | undefined;
  const faults = createFaults(() => server?.baseUrl ?? '');
  let stop = async () => {};
  test.before(async (world) => {
    if (!runs) return;
    server = await startApi();
    const proxy = await startMerchantServer(faults.handle);
    Object.assign(world, prepare(language), { api: server });
    const { apiKey, apiSecret } = server.testKey;
    const env = { BASE_URL: proxy.origin, API_KEY: apiKey, API_SECRET: apiSecret, NOW: String(server.clock.nowS()) };
    world.driver = startDriver(world.words, env);
    stop = async () => {
      world.driver.stop();
      world.remove();
      await proxy.close();
      await server?.close();
    };
  });
  test.after(() => stop());
  if (!runs) test.skip(`${language.name} is not installed`, () => {});
  else {
    testVectors(test);
    testSafety(test);
    testApi(test, faults);
    testFields(test, language);
    testExample(test);
  }
  test.run();
}

import { createHook } from 'node:async_hooks';
import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import { Client } from 'undici';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { createUrlGuard, type UrlGuard } from '../../src/lib/guard.ts';
import { createResolver, type Lookup } from '../../src/lib/resolver.ts';
import { closing } from '../support/closing.ts';
import { merchantServer } from '../support/merchant-server.ts';
import { startDnsServer } from './dns-server.ts';

/** A resolver that knows only these names. */
const dns =
  (names: Record<string, readonly string[]>): Lookup =>
  async (host) => {
    const addresses = names[host];
    if (!addresses) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
    return addresses;
  };

const publicNames = dns({
  'shop.example': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'mixed.example': ['93.184.215.14', '10.0.0.5'],
  'inside.example': ['10.0.0.5'],
  'mapped.example': ['::ffff:127.0.0.1'],
});

/** Sends a GET through the guard's connector. @returns the status, or the code of the fault that stopped it */
async function connect(guard: UrlGuard, url: string): Promise<number | string> {
  const { origin, pathname } = new URL(url);
  const client = new Client(origin, { connect: guard.connector(60_000) });
  try {
    const { statusCode, body } = await client.request({ method: 'GET', path: pathname });
    await body.dump();
    return statusCode;
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  } finally {
    await client.destroy();
  }
}

/** Every way to write a target that is not on the public Internet. */
const privateHosts = [
  // loopback, in the notations that a URL may use
  'localhost',
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.0.0.1.',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0X7F.0.0.0x1',
  '017700000001',
  '0177.0.0.1',
  '0177.0x0.1',
  '%31%32%37.0.0.1',
  '１２７.0.0.1',
  '127。0。0。1',
  '①②⑦.0.0.1',
  '127.255.255.254',
  '0',
  '0.0.0.0',
  // private, shared, link-local, documentation, benchmark, multicast, reserved
  '10.0.0.1',
  '167772161',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '0xc0a80001',
  '100.64.0.1',
  '169.254.169.254',
  '2852039166',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  // IPv6
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:1]',
  '[::ffff:10.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::10.0.0.1]',
  '[2002:7f00:1::]',
  '[2002:a00:1::1]',
  '[2001::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[100::1]',
  '[5f00::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[4000::1]',
];

for (const host of privateHosts) {
  test(`${host} is refused when it is saved and at connect`, async () => {
    const guard = createUrlGuard([]);
    for (const mode of ['live', 'test'] as const) {
      assert.type(await guard.check(`https://${host}/hook`, mode), 'string');
      assert.type(await guard.check(`http://${host}:8080/hook`, mode), 'string');
    }
    assert.is(await connect(guard, `https://${host}/hook`), 'blocked_address');
    assert.is(await connect(guard, `http://${host}:8080/hook`), 'blocked_address');
  });
}

for (const url of [
  'https://shop.example/hook',
  'https://shop.example:8443/hook?store=1',
  'https://93.184.215.14/hook',
  'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hook',
]) {
  test(`${url} may be saved`, async () => {
    const guard = createUrlGuard([], publicNames);
    assert.is(await guard.check(url, 'live'), null);
    assert.is(await guard.check(url, 'test'), null);
  });
}

for (const [url, why] of [
  ['', /malformed/],
  ['shop.example/hook', /malformed/],
  ['https://', /malformed/],
  ['https://1.2.3.4.5/', /malformed/],
  ['ftp://shop.example/', /https/],
  ['file:///etc/passwd', /https/],
  ['javascript:alert(1)', /https/],
  ['http://shop.example/hook', /https/],
  ['https://user@shop.example/', /user name/],
  ['https://:secret@shop.example/', /password/],
  ['https://shop.example:22/', /Port 22 /],
  ['https://shop.example:1023/', /Port 1023 /],
  [`https://shop.example/${'a'.repeat(2048)}`, /longer than 2048/],
  ['https://mixed.example/', /not on the public Internet/],
  ['https://inside.example/', /not on the public Internet/],
  ['https://mapped.example/', /not on the public Internet/],
] as const) {
  test(`${url.slice(0, 60) || '(empty)'} is refused with a reason`, async () => {
    const guard = createUrlGuard([], publicNames);
    assert.match((await guard.check(url, 'test')) ?? '', why);
    assert.match((await guard.check(url, 'live')) ?? '', why);
  });
}

test('a name that cannot be resolved now is accepted where each delivery checks it again', async () => {
  const guard = createUrlGuard([], publicNames);
  assert.is(await guard.check('https://nowhere.example/', 'live'), null);
  assert.match((await guard.check('http://nowhere.example/', 'test')) ?? '', /only for hosts that the operator allows/);
});

test('messages do not tell what a name resolves to', async () => {
  const why = await createUrlGuard([], publicNames).check('https://inside.example/', 'live');
  assert.not.match(why ?? '', '10.0.0.5');
});

test('the allow-list admits https in both modes, http only in test mode', async () => {
  const guard = createUrlGuard(['10.0.0.0/8', 'fd00::/8'], publicNames);
  for (const host of ['inside.example', '10.255.255.255', '[fd00::1]', '[::ffff:10.0.0.1]', 'mixed.example']) {
    assert.is(await guard.check(`https://${host}/`, 'live'), null, host);
    assert.is(await guard.check(`https://${host}/`, 'test'), null, host);
  }
  for (const host of ['inside.example', '10.0.0.1', '[fd00::1]']) {
    assert.is(await guard.check(`http://${host}/`, 'test'), null, host);
    assert.type(await guard.check(`http://${host}/`, 'live'), 'string', host);
  }
  // One of its addresses is public, and plain http is not for the Internet.
  assert.match((await guard.check('http://mixed.example/', 'test')) ?? '', /https/);
  assert.type(await guard.check('https://127.0.0.1/', 'live'), 'string');
});

test('an allowed loopback server is reached by address and by name', async () => {
  const server = await merchantServer((response) => response.end());
  const { port } = new URL(server.origin);
  const guard = createUrlGuard(['127.0.0.0/8'], dns({ 'shop.example': ['127.0.0.1'] }));
  assert.is(await connect(guard, `${server.origin}/`), 200);
  assert.is(await connect(guard, `http://2130706433:${port}/`), 200);
  assert.is(await connect(guard, `http://shop.example:${port}/`), 200);
});

test('the system’s own lookup, which holds up a thread, is asked for no name', async () => {
  const types = new Set<string>();
  const hook = createHook({ init: (_, type) => void types.add(type) });
  const server = await merchantServer((response) => response.end());
  const { port } = new URL(server.origin);
  const guard = createUrlGuard(['127.0.0.0/8', '::1/128']);
  hook.enable();
  assert.is(await guard.check(`http://localhost:${port}/`, 'test'), null);
  assert.is(await connect(guard, `http://localhost:${port}/`), 200);
  assert.not.ok(types.has('GETADDRINFOREQWRAP'));
  await lookup('localhost');
  assert.ok(types.has('GETADDRINFOREQWRAP'), 'it would be seen');
  hook.disable();
});

test('a name that is public when saved and private at connect is refused', async () => {
  const answers = ['93.184.215.14', '127.0.0.1'];
  const guard = createUrlGuard([], async () => [answers.shift() ?? '127.0.0.1']);
  assert.is(await guard.check('https://rebind.example/', 'live'), null);
  assert.is(await connect(guard, 'https://rebind.example/'), 'blocked_address');
});

test('each connection looks the name up once and uses the address that was checked', async () => {
  const server = await merchantServer((response) => response.end());
  const { port } = new URL(server.origin);
  let asked = 0;
  // Any second lookup would get an address that nobody serves.
  const guard = createUrlGuard(['127.0.0.0/8'], async () => [asked++ === 0 ? '127.0.0.1' : '127.255.0.1']);
  assert.is(await connect(guard, `http://rebind.example:${port}/`), 200);
  assert.is(asked, 1);
});

test('one private address among public ones stops the connection', async () => {
  assert.is(await connect(createUrlGuard([], publicNames), 'https://mixed.example/'), 'blocked_address');
});

test('plain http to a public host is refused at connect too', async () => {
  const guard = createUrlGuard(['10.0.0.0/8'], publicNames);
  assert.is(await connect(guard, 'http://shop.example/'), 'blocked_address');
  assert.is(await connect(guard, 'http://93.184.215.14/'), 'blocked_address');
});

test('a blocked target gets no connection', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const guard = createUrlGuard([], dns({ 'rebind.example': ['127.0.0.1'] }));
  for (const host of ['127.0.0.1', 'rebind.example', '[::ffff:127.0.0.1]']) {
    assert.is(await connect(guard, `https://${host}:${port}/`), 'blocked_address');
    assert.is(await connect(guard, `http://${host}:${port}/`), 'blocked_address');
  }
  assert.is(connections, 0);
  await new Promise((resolve) => server.close(resolve));
});

test('an unknown name is a dns fault at connect', async () => {
  assert.is(await connect(createUrlGuard([], publicNames), 'https://nowhere.example/'), 'dns');
  assert.is(
    await connect(
      createUrlGuard([], async () => []),
      'https://empty.example/',
    ),
    'dns',
  );
});

test('every answer of a name server is checked at each connect, and one private address among them is refused', async () => {
  const shop = await merchantServer((response) => response.writeHead(200).end());
  const { port } = new URL(shop.origin);
  let addresses = ['127.0.0.1'];
  const server = closing(await startDnsServer(() => ({ addresses })));
  const lookup = createResolver({ servers: [server.address], hostsFile: '/nonexistent' });
  const guard = createUrlGuard(['127.0.0.0/8'], lookup);
  assert.is(await connect(guard, `http://shop.example:${port}/`), 200);
  addresses = ['127.0.0.1', '10.0.0.5'];
  assert.is(await connect(guard, `http://shop.example:${port}/`), 'blocked_address');
  assert.match((await guard.check(`http://shop.example:${port}/`, 'test')) ?? '', /not on the public Internet/);
  assert.is(shop.received.length, 1);
});

test.run();

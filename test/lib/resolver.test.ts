import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createResolver, type ResolverOptions } from '../../src/lib/resolver.ts';
import { until } from '../support/until.ts';
import { type DnsServer, startDnsServer, type Zone } from './dns-server.ts';

type World = Readonly<{
  server: DnsServer;
  resolver: (more?: ResolverOptions) => (host: string) => Promise<readonly string[]>;
  writeHosts(text: string): void;
}>;

/** Runs a test with a name server of its own, and a hosts file. */
const inWorld = (zone: Zone, work: (world: World) => Promise<void>) => async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-hosts-'));
  const hostsFile = join(folder, 'hosts');
  const server = await startDnsServer(zone);
  const resolver = (more: ResolverOptions = {}) => {
    const lookup = createResolver({ servers: [server.address], hostsFile, ...more });
    return lookup;
  };
  try {
    await work({ server, resolver, writeHosts: (text) => writeFileSync(hostsFile, text) });
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
};

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error) => error.code,
  );

const worldTest = (title: string, ...args: Parameters<typeof inWorld>) => test(title, inWorld(...args));

worldTest(
  'many names whose name server never answers hold up no other name',
  (name) => (name.endsWith('.dead.example') ? 'silent' : { addresses: ['192.0.2.7'] }),
  async ({ server, resolver }) => {
    const resolve = resolver({ timeoutMs: 1_500 });
    const dead = Array.from({ length: 60 }, (_, n) => codeOf(resolve(`shop${n}.dead.example`)));
    const isDead = (name: string) => name.endsWith('.dead.example');
    let ended = 0;
    for (const one of dead) void one.then(() => ended++);
    await until('the name server was asked for all of them', () => {
      assert.is(ended, 0, 'none is given up before it is asked for');
      return new Set(server.asked.filter(isDead)).size === 60;
    });
    for (let n = 0; n < 20; n++) assert.equal(await resolve(`shop${n}.live.example`), ['192.0.2.7']);
    assert.is(ended, 0, 'all of these were answered while the dead ones were still being asked');
    assert.equal([...new Set(await Promise.all(dead))], ['ETIMEOUT']);
  },
);

worldTest(
  'the hosts file comes first, and its changes count; localhost is never asked for',
  () => ({ addresses: ['192.0.2.9'] }),
  async ({ server, resolver, writeHosts }) => {
    const resolve = resolver();
    assert.equal(await resolve('localhost'), ['127.0.0.1', '::1'], 'without a hosts file');
    writeHosts(
      '10.0.0.1 shop.example Other.example # comment third.example\n::7 shop.example\nnonsense shop.example\n',
    );
    assert.equal(await resolve('SHOP.example'), ['10.0.0.1', '::7']);
    assert.equal(await resolve('other.example'), ['10.0.0.1']);
    assert.equal(server.asked, []);
    assert.equal(await resolve('third.example'), ['192.0.2.9']);
    writeHosts('10.0.0.22 shop.example\n');
    assert.equal(await resolve('shop.example'), ['10.0.0.22']);
    writeHosts('');
    assert.equal(await resolve('shop.example'), ['192.0.2.9']);
    assert.equal(server.asked, ['third.example', 'shop.example']);
  },
);

test.run();

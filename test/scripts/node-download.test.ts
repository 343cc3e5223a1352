/**
 * `node install --download` and `node upgrade --download` from a file server that cuts connections and serves files
 * that somebody else made. The signatures are made by gpg, with keys of the test.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { downloadFile } from '../../scripts/nodes/download.ts';
import { type ClientRecipe, readClients } from '../../scripts/nodes/recipe.ts';
import { fetchRelease, releaseOf } from '../../scripts/nodes/release-download.ts';
import { Fault } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-download-'));
const GNUPGHOME = join(folder, 'keys');
mkdirSync(GNUPGHOME, { mode: 0o700 });
const env = { ...process.env, GNUPGHOME };

/** What the server has, by name, and how it behaves. */
const served = new Map<string, Buffer>();
const behaviour = { cutAfter: Number.POSITIVE_INFINITY, etag: '"1"' };
const requests: string[] = [];
const server = createServer((request, response) => {
  const name = (request.url ?? '').split('/').at(-1) ?? '';
  const bytes = served.get(name);
  if (!bytes) {
    response.writeHead(404).end();
    return;
  }
  const [, start] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
  requests.push(`${name} ${start ?? ''}`.trim());
  const isPart = start !== undefined && request.headers['if-range'] === behaviour.etag;
  const rest = bytes.subarray(isPart ? Number(start) : 0);
  response.writeHead(isPart ? 206 : 200, {
    'content-length': rest.length,
    'accept-ranges': 'bytes',
    etag: behaviour.etag,
    ...(isPart && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }),
  });
  if (rest.length <= behaviour.cutAfter) response.end(rest);
  else response.write(rest.subarray(0, behaviour.cutAfter), () => setTimeout(() => response.destroy(), 20));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const mirror = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mirror`;

test.before.each(() => {
  requests.length = 0;
  Object.assign(behaviour, { cutAfter: Number.POSITIVE_INFINITY, etag: '"1"' });
});
test.after(() => {
  server.closeAllConnections();
  server.close();
  spawnSync('gpgconf', ['--kill', 'all'], { env });
  rmSync(folder, { recursive: true, force: true });
});

const hasGpg = spawnSync('gpg', ['--version']).status === 0;
const withGpg = hasGpg ? test : test.skip;

/** Makes a key. @returns its fingerprint */
function makeKey(name: string): string {
  const words = [
    '--batch',
    '--passphrase',
    '',
    '--pinentry-mode',
    'loopback',
    '--quick-generate-key',
    name,
    'ed25519',
    'sign',
  ];
  const made = spawnSync('gpg', [...words, '0'], { env, encoding: 'utf8' });
  assert.is(made.status, 0, made.stderr);
  const { stdout } = spawnSync('gpg', ['--batch', '--with-colons', '--list-keys', name], { env, encoding: 'utf8' });
  return /^fpr:+([0-9A-F]{40}):/m.exec(stdout)?.[1] ?? '';
}

function sign(bytes: Buffer, key: string): Buffer {
  const words = ['--batch', '--armor', '--detach-sign', '--local-user', key, '--output', '-'];
  const { status, stdout, stderr } = spawnSync('gpg', words, { env, input: bytes });
  assert.is(status, 0, String(stderr));
  return stdout;
}

const [publisher, stranger] = hasGpg ? [makeKey('publisher@example.com'), makeKey('stranger@example.com')] : ['', ''];

/** Makes the archive of a release: a program that says its version, beside something large. */
function archive(version: string, member = 'reth'): Buffer {
  const from = mkdtempSync(join(folder, 'from-'));
  writeFileSync(join(from, member), `#!/bin/sh\necho "reth Version: ${version}"\n`);
  // It does not compress well, so that it can be cut.
  writeFileSync(join(from, 'large'), Buffer.from(Array.from({ length: 400_000 }, (_, n) => (n * n * 31 + n) % 251)));
  const { status, stdout } = spawnSync('tar', ['-C', from, '-cz', member, 'large'], { maxBuffer: 1 << 26 });
  assert.is(status, 0);
  return stdout;
}

const [reth] = readClients('ethereum').filter(({ client }) => client === 'reth');
/** The recipe of reth, as if the test's key signed it. */
const signed: ClientRecipe = {
  ...(reth as ClientRecipe),
  origin: { ...(reth as ClientRecipe).origin, fingerprint: publisher },
};
const options = { version: '2.11.0', mirror, arch: 'x64', env, clock: systemClock };
const name = 'reth-v2.11.0-x86_64-unknown-linux-gnu.tar.gz';
const serve = (bytes: Buffer, proof: Buffer): void => {
  served.set(name, bytes);
  served.set(`${name}.asc`, proof);
};
let count = 0;
async function fetch(
  recipe = signed,
  own = options,
): Promise<Readonly<{ path: string; code: string | null; left: string[] }>> {
  count += 1;
  return fetchInto(join(folder, `bin-${count}`), recipe, own);
}
async function fetchInto(bin: string, recipe = signed, own = options) {
  const path = join(bin, 'reth');
  let code: string | null = null;
  try {
    await fetchRelease(releaseOf(recipe, own), path, own);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    code = error.code;
  }
  return { path, code, left: readdirSync(bin).sort() };
}

withGpg('a release that its publisher signed is unpacked, and nothing else is left (needs gpg)', async () => {
  const bytes = archive('2.11.0');
  serve(bytes, sign(bytes, publisher));
  const { path, code, left } = await fetch();
  assert.equal([code, left], [null, ['reth']]);
  assert.is(statSync(path).mode & 0o777, 0o755);
  assert.match(readFileSync(path, 'utf8'), 'reth Version: 2.11.0');
});

withGpg('a release that was changed, signed by another key, or not signed is not kept (needs gpg)', async () => {
  const bytes = archive('2.11.0');
  const changed = Buffer.from(bytes);
  changed[1000] = (changed[1000] ?? 0) ^ 1;
  for (const [proof, what] of [
    [sign(changed, publisher), 'changed'],
    [sign(bytes, stranger), 'by a stranger'],
    [Buffer.concat([sign(bytes, publisher), sign(bytes, stranger)]), 'by both'],
    [Buffer.from('no signature'), 'not signed'],
  ] as const) {
    serve(bytes, proof);
    const { code, left } = await fetch();
    assert.equal([code, left], ['signature_wrong', []], what);
  }
});

withGpg(
  'without the key, the download is kept until the key is there, and is not fetched again (needs gpg)',
  async () => {
    const bytes = archive('2.11.0');
    serve(bytes, sign(bytes, publisher));
    const empty = join(folder, 'no-keys');
    mkdirSync(empty, { mode: 0o700 });
    const bin = join(folder, 'bin-key');
    const without = await fetchInto(bin, signed, { ...options, env: { ...env, GNUPGHOME: empty } });
    assert.equal([without.code, without.left], ['key_missing', [`${name}.download`]]);
    requests.length = 0;
    const done = await fetchInto(bin);
    assert.equal([done.code, done.left, requests], [null, ['reth'], [`${name}.asc`]]);
  },
);

withGpg('an archive that is signed and lacks the program, and a client that nobody signs (needs gpg)', async () => {
  const bytes = archive('2.11.0', 'other');
  serve(bytes, sign(bytes, publisher));
  const { code, left } = await fetch();
  assert.equal([code, left], ['archive_lacks_program', []]);
  const [geth] = readClients('ethereum').filter(({ client }) => client === 'geth');
  assert.throws(() => releaseOf(geth as ClientRecipe, options), /no signed download of geth is known: get it by hand/);
  assert.throws(() => releaseOf(signed, { ...options, arch: 'mips' }), /not published for mips/);
  assert.match(
    releaseOf(reth as ClientRecipe, { ...options, mirror: null }).url,
    `https://github.com/paradigmxyz/reth/releases/download/v2.11.0/${name}`,
  );
});

test('a download goes on where it was, within a run and in the next one, unless the file is another by then', async () => {
  const bytes = Buffer.alloc(2_000_000, 'quayside 1');
  served.set('file', bytes);
  const file = join(folder, 'file');
  const half = Math.ceil(bytes.length / 2);
  const run = (stopAt = Number.POSITIVE_INFINITY) =>
    downloadFile({
      url: `${mirror}/file`,
      file,
      bytesMax: 1 << 24,
      clock: systemClock,
      beforeWrite: (received) => {
        if (received > stopAt) throw new Error('ended');
      },
    });
  behaviour.cutAfter = half;
  assert.equal(await run(), { bytes: bytes.length, kept: 0 });
  assert.equal(requests, ['file', `file ${half}`]);
  assert.ok(readFileSync(file).equals(bytes));

  rmSync(file);
  behaviour.cutAfter = Number.POSITIVE_INFINITY;
  await run(half).catch((error: Error) => assert.is(error.message, 'ended'));
  assert.is(existsSync(file), false, 'no part has the name of the whole');
  const kept = statSync(`${file}.part`).size;
  assert.ok(kept > 0 && kept <= half, `${kept}`);
  requests.length = 0;
  assert.equal(await run(), { bytes: bytes.length, kept });
  assert.ok(requests.includes(`file ${kept}`), `${requests}`);
  assert.ok(readFileSync(file).equals(bytes));

  rmSync(file);
  await run(half).catch(() => {});
  behaviour.etag = '"2"';
  const other = Buffer.alloc(1_900_000, 'quayside 2');
  served.set('file', other);
  assert.equal(await run(), { bytes: other.length, kept: 0 });
  assert.ok(readFileSync(file).equals(other));
  assert.equal(
    readdirSync(folder).filter((one) => one.startsWith('file.')),
    [],
  );

  const small = downloadFile({
    url: `${mirror}/file`,
    file: join(folder, 'small'),
    bytesMax: 1000,
    clock: systemClock,
  });
  await small.then(
    () => assert.unreachable('it is too large'),
    (error: Fault) => assert.is(error.code, 'download_too_large'),
  );
});

withGpg('the commands download, and refuse what is signed by another key than the recipe’s (needs gpg)', async () => {
  const bytes = archive('2.11.0');
  serve(bytes, sign(bytes, stranger));
  served.set('lighthouse-v8.3.3-x86_64-unknown-linux-gnu.tar.gz', bytes);
  const [dir, bin, units] = [join(folder, 'nodes'), join(folder, 'programs'), join(folder, 'units')];
  const places = ['--dir', dir, '--bin', bin, '--unit-dir', units, '--download', '--mirror', mirror];
  const words = [
    'node',
    'install',
    'ethereum',
    '--clients',
    'reth,lighthouse',
    '--checkpoint-url',
    'https://b.example',
    ...places,
  ];
  const variables = { GNUPGHOME, PATH: process.env.PATH ?? '' };
  if (process.arch !== 'x64') return;
  const shown = await runQuayside([...words, '--dry-run'], variables);
  assert.is(shown.code, 0, shown.err);
  assert.match(shown.out, `${bin}/reth: would be downloaded (${mirror}/${name})`);
  assert.equal([existsSync(bin), requests], [false, []]);
  const { code, err } = await runQuayside(words, variables);
  assert.is(code, 1);
  assert.match(err, 'is not by 50FB7CC55B2E8AFA59FE03B7AA5ED56A7FBF253E');
  assert.equal([readdirSync(bin), existsSync(units)], [[], false]);

  // An installed client, whose program says an older version.
  mkdirSync(units, { recursive: true });
  writeFileSync(join(bin, 'reth'), '#!/bin/sh\necho "reth Version: 2.10.0"\n');
  chmodSync(join(bin, 'reth'), 0o755);
  writeFileSync(join(units, 'quayside-ethereum-reth.service'), `[Service]\nExecStart=${bin}/reth node\n`);
  const upgrade = ['node', 'upgrade', 'ethereum', 'reth', '--dir', dir, '--unit-dir', units, '--mirror', mirror];
  const asked = requests.length;
  const planned = await runQuayside([...upgrade, '--download', '2.11.0', '--dry-run'], variables);
  assert.equal([planned.code, requests.length], [0, asked]);
  assert.match(planned.out, `with ${mirror}/${name}`);
  const refused = await runQuayside([...upgrade, '--download', '2.11.0'], variables);
  assert.is(refused.code, 1);
  assert.match(refused.err, 'is not by 50FB7CC55B2E8AFA59FE03B7AA5ED56A7FBF253E');
  assert.match(readFileSync(join(bin, 'reth'), 'utf8'), '2.10.0');
  assert.is((await runQuayside([...upgrade, '--download', 'latest'], variables)).code, 2);
  assert.is((await runQuayside([...upgrade, '--download', '2.11.0', '--rollback'], variables)).code, 2);
});

test.run();

/**
 * The files of `deploy/`, checked by the programs that it is for, where they are installed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { otherVariables } from '../../src/config/variables.ts';
import { settingPaths, variableOf } from '../config/operator-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-deploy-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const files = readdirSync('deploy', { recursive: true, encoding: 'utf8' })
  .map((name) => `deploy/${name}`)
  .filter((path) => statSync(path).isFile());
const read = (path: string): string => readFileSync(path, 'utf8');
const run = (program: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
};
/** A test that is skipped, by its name, where the program is not installed. */
const needs = (program: string, ...words: string[]) =>
  spawnSync(program, words.length > 0 ? words : ['--version']).status === 0 ? test : test.skip;

const units = ['quayside', 'quayside-signer'].map((name) => `deploy/systemd/${name}.service`);
const standbyUnits = ['quayside-litestream.service', 'quayside-backup.service', 'quayside-backup.timer'];
/** The most that `systemd-analyze security` may say, in tenths. */
const exposures: Readonly<Record<string, number>> = { quayside: 20, 'quayside-signer': 10 };

/** Copies a unit so that its program and its user exist on the machine that tests. */
function placedUnit(path: string, change = (text: string) => text): string {
  const copy = join(folder, path.split('/').at(-1) ?? '');
  writeFileSync(
    copy,
    change(
      read(path)
        .replace(/^(User|Group)=.*/gm, '')
        .replaceAll('/usr/bin/node', process.execPath),
    ),
  );
  return copy;
}

needs('systemd-analyze')('systemd accepts the units, and finds what is wrong in one (needs systemd-analyze)', () => {
  for (const unit of units) assert.equal(run('systemd-analyze', 'verify', '--man=no', placedUnit(unit)).text, '', unit);
  for (const name of standbyUnits) {
    const unit = placedUnit(`deploy/standby/${name}`, (own) => own.replace(/^(Exec\w+)=.*/gm, '$1=/bin/true'));
    assert.equal(run('systemd-analyze', 'verify', '--man=no', unit).text, '', unit);
  }
  const wrong = placedUnit('deploy/systemd/quayside.service', (text) =>
    text.replace('TimeoutStopSec=', 'TimeoutStopSecs='),
  );
  assert.match(run('systemd-analyze', 'verify', '--man=no', wrong).text, /TimeoutStopSecs/);
});

needs('systemd-analyze')('the units expose little (needs systemd-analyze)', () => {
  const rate = (path: string, most: number) =>
    run('systemd-analyze', 'security', '--offline=true', '--no-pager', `--threshold=${most}`, path);
  for (const unit of units) {
    const most = exposures[unit.split('/').at(-1)?.replace('.service', '') ?? ''] ?? 0;
    const { status, text } = rate(
      placedUnit(unit, (own) => own.replace('[Service]', '[Service]\nUser=1')),
      most,
    );
    assert.is(status, 0, text);
  }
  const open = placedUnit('deploy/systemd/quayside-signer.service', (text) => text.replace('PrivateNetwork=yes', ''));
  assert.is.not(rate(open, 10).status, 0, 'a signer with a network is noticed');
});

test('units and containers start programs that exist, and set variables that exist', () => {
  const variables = settingPaths().map((path) => variableOf(path.map((part) => (part === '*' ? 'ethereum' : part))));
  const known = new Set([...variables, ...otherVariables]);
  const set = files
    .filter((path) => !path.endsWith('.md'))
    .flatMap((path) => [...read(path).matchAll(/^[^#\n]*\b(QUAYSIDE_\w+)(?:=|: )/gm)].map(([, name = '']) => name));
  assert.ok(set.length >= 8, `${set.length}`);
  assert.equal(
    set.filter((name) => !known.has(name)),
    [],
  );
  const programs = files.flatMap((path) =>
    [...read(path).matchAll(/\bdist\/(src\/[\w/]+)\.js/g)].map(([, name]) => name),
  );
  assert.equal([...new Set(programs)].sort(), ['src/main', 'src/signer/main']);
  for (const name of programs) assert.ok(existsSync(`${name}.ts`), name);
  const { options } = /const options = \{(?<options>.*)\};/.exec(read('src/signer/main.ts'))?.groups ?? {};
  for (const path of ['deploy/systemd/quayside-signer.service', 'deploy/compose.yaml']) {
    const given = [...read(path).matchAll(/(?:- | )--((?:dir|unlock|secret-key)[\w-]*)/g)].map(([, name]) => name);
    assert.equal(given.sort(), ['dir', 'secret-key-file', 'unlock'], path);
    for (const name of given) assert.match(options ?? '', name ?? '');
  }
});

test('the image copies what exists and what its build may see, and runs as nobody', () => {
  const text = read('deploy/Containerfile');
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, words = '']) => words.split(' '));
  assert.ok(copied.length >= 11, `${copied.length}`);
  const seen = read('deploy/Containerfile.dockerignore').split('\n');
  assert.is(seen[0], '*');
  for (const path of copied) {
    assert.ok(existsSync(path), path);
    assert.ok(
      seen.some((line) => line === `!${path}` || (line.startsWith('!') && path.startsWith(`${line.slice(1)}/`))),
      `${path} is hidden from the build`,
    );
  }
  assert.match(text, /^USER 10001:10001$/m);
  assert.match(text, /^CMD \["node", /m);
  const { engines } = JSON.parse(read('package.json'));
  const [, version = ''] = /^ARG NODE_VERSION=(\S+)$/m.exec(text) ?? [];
  assert.ok(version.localeCompare(engines.node.replace('>=', ''), 'en', { numeric: true }) >= 0, version);
});

/** Splits the services of a compose file, with their lines. */
function services(text: string): ReadonlyMap<string, string> {
  const part = text.slice(text.indexOf('\nservices:'), text.indexOf('\nnetworks:'));
  const found = part.split(/^ {2}(?=[\w-]+:$)/m).slice(1);
  return new Map(found.map((lines) => [lines.slice(0, lines.indexOf(':')), lines] as const));
}

test('containers have pinned images, no rights and no open ports; the signer has no network', () => {
  const text = read('deploy/compose.yaml');
  const images = [...text.matchAll(/^\s+image: (\S+)$/gm)].map(([, name = '']) => name);
  assert.is(images.length, 3);
  for (const name of images) assert.match(name, /:(v?\d+\.\d+\.\d+)\}?$/);
  const hardened = text.slice(text.indexOf('x-hardened'), text.indexOf('\nservices:'));
  const all = services(text);
  assert.equal([...all.keys()], ['server', 'signer', 'prometheus', 'grafana']);
  for (const [name, lines] of all) {
    const own = lines.includes('<<: *hardened') ? hardened + lines : lines;
    for (const wanted of ['read_only: true', 'cap_drop: [ALL]', 'no-new-privileges:true', 'profiles: ['])
      assert.ok(own.includes(wanted), `${name}: ${wanted}`);
    for (const [, port] of lines.matchAll(/^\s+- (\S*:\d+:\d+|\d+:\d+)$/gm)) assert.match(port ?? '', /^127\.0\.0\.1:/);
  }
  assert.match(all.get('signer') ?? '', /network_mode: none/);
  const limits = /mem_limit: (?<memory>.*)\n *memswap_limit: (?<both>.*)/.exec(all.get('signer') ?? '')?.groups ?? {};
  assert.is(limits.both, limits.memory ?? 'a limit', 'keys are not swapped');
  assert.match(all.get('server') ?? '', /signer:\/var\/lib\/quayside-signer:ro/);
});

test('in containers, metrics are served only on the network that Prometheus and Grafana share with the server', () => {
  const text = read('deploy/compose.yaml');
  const all = services(text);
  const host = /QUAYSIDE_METRICS_HOST: (\S+)/.exec(all.get('server') ?? '')?.[1];
  const own = /\n {6}metrics:\n {8}ipv4_address: (\S+)\n/.exec(all.get('server') ?? '')?.[1];
  const subnet = /\n {2}metrics:\n {4}internal: true\n(?: .*\n)*? +- subnet: (\S+)\.0\/24\n/.exec(text)?.[1];
  assert.equal({ host, subnet: own?.replace(/\.\d+$/, '') }, { host: own, subnet: subnet ?? 'a subnet' });
  const others = [...all].filter(([name, lines]) => name !== 'server' && /networks:.*\bmetrics\b/.test(lines));
  assert.equal(
    others.map(([name]) => name),
    ['prometheus', 'grafana'],
  );
});

needs('docker-compose')('docker-compose accepts every profile (needs docker-compose)', () => {
  const profiles = ['core', 'signer', 'monitoring'].flatMap((name) => ['--profile', name]);
  const { status, text } = run('docker-compose', '-f', 'deploy/compose.yaml', ...profiles, 'config', '-q');
  assert.is(status, 0, text);
});

needs('caddy', 'version')('Caddy accepts its file (needs caddy)', () => {
  const args = ['--adapter', 'caddyfile', '--config'];
  assert.match(run('caddy', 'validate', ...args, 'deploy/proxy/Caddyfile').text, /Valid configuration/);
  const wrong = join(folder, 'Caddyfile');
  writeFileSync(wrong, read('deploy/proxy/Caddyfile').replace('flush_interval', 'flush_never'));
  assert.is.not(run('caddy', 'validate', ...args, wrong).status, 0);
});

needs('nginx', '-v')('nginx accepts its file (needs nginx)', () => {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const subject = ['-subj', '/CN=pay.example.com', '-days', '2', '-nodes'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', ...subject, '-keyout', key, '-out', certificate];
  execFileSync('openssl', made, { stdio: 'ignore' });
  const check = (change = (text: string) => text) => {
    const own = read('deploy/proxy/nginx.conf')
      .replace(/ssl_certificate_key .*;/g, `ssl_certificate_key ${key};`)
      .replace(/ssl_certificate \/.*;/g, `ssl_certificate ${certificate};`)
      .replaceAll('listen 443', `listen unix:${join(folder, 'nginx.sock')}`);
    const whole = join(folder, 'nginx.conf');
    const paths = `pid ${join(folder, 'nginx.pid')}; error_log stderr;`;
    writeFileSync(whole, `${paths}\nevents {}\nhttp { access_log off;\n${change(own)}\n}\n`);
    return run('nginx', '-t', '-p', folder, '-c', whole);
  };
  const { status, text } = check();
  assert.is(status, 0, text);
  assert.is.not(check((own) => own.replace('proxy_buffering', 'proxy_bufering')).status, 0);
});

needs('shellcheck')('shellcheck finds nothing in the scripts (needs shellcheck)', () => {
  assert.is(run('shellcheck', 'deploy/install.sh', 'deploy/standby/check-litestream.sh').text, '');
});

test('a litestream is refused if its SQLite may corrupt the database, or if it has none', () => {
  const check = (content: string) => {
    const program = join(folder, 'litestream');
    writeFileSync(program, `\n${content}\n`);
    return run('deploy/standby/check-litestream.sh', program);
  };
  const hash = 'a'.repeat(64);
  assert.is(check(`2026-04-09 11:41:38 ${hash}`).status, 0);
  assert.is(check(`2024-01-01 00:00:00 ${hash}\n2026-03-13 10:38:09 ${hash}`).status, 0);
  const { status, text } = check(`2026-01-09 17:27:48 ${hash}`);
  assert.equal([status, /has an SQLite of 2026-01-09.*install litestream 0\.5\.17/.test(text)], [1, true]);
  assert.is(check('no library').status, 1);
});

/** A checkout that was built, with no packages. */
function builtCheckout(): string {
  const checkout = join(folder, 'checkout');
  for (const path of ['dist/src', 'node_modules', 'config', 'scripts', 'docs'])
    mkdirSync(join(checkout, path), { recursive: true });
  cpSync('deploy', join(checkout, 'deploy'), { recursive: true });
  for (const path of [
    'scripts/quayside.mjs',
    'scripts/quayside-signer.mjs',
    'scripts/build.mjs',
    'docs/operate.md',
    'LICENSE',
    'CHANGELOG.md',
    'SECURITY.md',
  ])
    cpSync(path, join(checkout, path));
  writeFileSync(join(checkout, 'dist/src/main.js'), '// first\n');
  writeFileSync(join(checkout, 'config/default.json'), '{}');
  const name = { name: 'quayside', version: '0.1.0' };
  writeFileSync(join(checkout, 'package.json'), JSON.stringify({ ...name, type: 'module' }));
  writeFileSync(
    join(checkout, 'package-lock.json'),
    JSON.stringify({ ...name, lockfileVersion: 3, packages: { '': name } }),
  );
  return checkout;
}

test('the installer shows its steps, then does them, and an upgrade keeps settings and the old program', () => {
  const checkout = builtCheckout();
  const installer = join(checkout, 'deploy/install.sh');
  const root = join(folder, 'root');
  const shown = run(installer, '--root', root);
  assert.is(shown.status, 0, shown.text);
  assert.is(existsSync(root), false, 'nothing is written without --apply');
  assert.match(shown.text, 'nothing was changed: run this again with --apply');

  const done = run(installer, '--apply', '--root', root);
  assert.is(done.status, 0, done.text);
  const steps = (text: string) => text.split('\n').filter((line) => /^[+-] /.test(line));
  assert.equal(steps(done.text), steps(shown.text), 'it does what it has shown');
  for (const step of ['useradd --system', 'chown -R root:root', 'systemctl daemon-reload'])
    assert.ok(
      steps(done.text).some((line) => line.startsWith('- not below --root: ') && line.includes(step)),
      step,
    );
  assert.is(read(join(root, 'opt/quayside/dist/src/main.js')), '// first\n');
  for (const tool of ['quayside', 'quayside-signer'])
    assert.is(readlinkSync(join(root, 'usr/local/bin', tool)), `/opt/quayside/scripts/${tool}.mjs`);
  assert.is(statSync(join(root, 'etc/quayside/quayside.json')).mode & 0o777, 0o640);
  assert.is(statSync(join(root, 'etc/quayside/credentials')).mode & 0o777, 0o700);
  assert.equal(readdirSync(join(root, 'etc/systemd/system')).sort(), ['quayside-signer.service', 'quayside.service']);

  writeFileSync(join(root, 'etc/quayside/quayside.json'), '{"mine": true}');
  writeFileSync(join(checkout, 'dist/src/main.js'), '// second\n');
  // Left by an installation that was interrupted.
  mkdirSync(join(root, 'opt/quayside.new/dist'), { recursive: true });
  writeFileSync(join(root, 'opt/quayside.new/dist/stale.js'), '');
  assert.is(run(installer, '--apply', '--root', root).status, 0);
  assert.is(read(join(root, 'opt/quayside/dist/src/main.js')), '// second\n');
  assert.is(read(join(root, 'opt/quayside.previous/dist/src/main.js')), '// first\n');
  assert.is(existsSync(join(root, 'opt/quayside/dist/stale.js')), false);
  assert.is(read(join(root, 'etc/quayside/quayside.json')), '{"mine": true}');

  mkdirSync(join(checkout, 'src'));
  writeFileSync(join(checkout, 'tsconfig.build.json'), '{ "include": ["src"], "exclude": [] }');
  writeFileSync(join(checkout, 'tsconfig.json'), '{}');
  const stale = run(installer, '--apply', '--root', root);
  assert.equal([stale.status, /is of other sources: .*npm ci/.test(stale.text)], [2, true]);
  rmSync(join(checkout, 'dist'), { recursive: true });
  const unbuilt = run(installer, '--root', root);
  assert.equal([unbuilt.status, /there is no build in .*npm ci/.test(unbuilt.text)], [2, true]);
  assert.is(run(installer, '--aply').status, 2);
});

test.run();

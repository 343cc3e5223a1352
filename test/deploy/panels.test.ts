/**
 * The templates for panels: their settings are accepted, and their containers may do no more than those of
 * `compose.yaml`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../src/config/config.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { XPUB } from '../e2e/evm.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-panels-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const read = (path: string): string => readFileSync(path, 'utf8');
const { version } = JSON.parse(read('package.json'));
const APP = 'deploy/panels/1panel/quayside';
const texts = {
  stack: read('deploy/panels/stack.yaml'),
  coolify: read('deploy/panels/coolify.yaml'),
  panel: read(`${APP}/${version}/docker-compose.yml`),
};
type Answers = Readonly<Record<string, string>>;

/** The fields of 1Panel's form, with what it fills in. */
const fields: Answers = Object.fromEntries(
  read(`${APP}/${version}/data.yml`)
    .split('- envKey: ')
    .slice(1)
    .map((field) => [field.slice(0, field.indexOf('\n')), /^ +default: (.*)$/m.exec(field)?.[1] ?? '']),
);

/** Loads the settings of a template, once its variables and what is in <> are replaced. */
function configOf(text: string, answers: Answers) {
  const filled = text
    .replace(/\$\{(\w+)(?::\?([^}]*))?\}/g, (_, name, example) => answers[name] ?? example ?? '')
    .replace(/xpub6…/g, XPUB)
    .replace(/[<>]/g, '');
  const set = [...filled.matchAll(/^ +- (QUAYSIDE_\w+)=(.*)$/gm)].map(([, name, value = '']) => [
    name,
    value.replace('/opt/quayside', installationFolder),
  ]);
  return loadConfig({ env: { ...Object.fromEntries(set), QUAYSIDE_DATA_DIR: folder }, cwd: folder });
}

for (const name of ['stack', 'coolify'] as const) {
  test(`the settings of ${name}.yaml are accepted, with what it names replaced`, () => {
    const { networks, baseUrl, dashboardUrl, trustedProxies } = configOf(texts[name], {});
    assert.equal(
      networks.map(({ key }) => key),
      ['live:ethereum'],
    );
    assert.equal([baseUrl, dashboardUrl], ['https://pay.example.com', 'https://dashboard.example.com']);
    assert.ok(trustedProxies.length >= 3);
  });
}

test('the form of 1Panel asks for what its compose file takes, and each of its networks is accepted', () => {
  const taken = [...texts.panel.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
  assert.equal([...new Set(taken)].sort(), ['CONTAINER_NAME', ...Object.keys(fields)].sort());
  const offered = [...read(`${APP}/${version}/data.yml`).matchAll(/value: (\w+) \}/g)].map(([, name = '']) => name);
  assert.ok(offered.length >= 3);
  for (const network of offered) {
    const { networks } = configOf(texts.panel, { ...fields, NETWORK: network, XPUB });
    assert.equal(
      networks.map(({ key }) => key),
      [`live:${network.toLowerCase()}`],
    );
  }
});

test('the app of 1Panel is named like its folder, and its logo is small', () => {
  assert.match(read(`${APP}/data.yml`), /^ {2}key: quayside$/m);
  assert.ok(readdirSync(APP).includes('README.md'));
  const logo = readFileSync(`${APP}/logo.png`);
  assert.ok(logo.length < 10_000);
  assert.equal([logo.readUInt32BE(16), logo.readUInt32BE(20)], [180, 180]);
});

test('their containers are those of compose.yaml: the same image, the same rights, no port for other machines', () => {
  const compose = read('deploy/compose.yaml');
  const hardened = compose.slice(compose.indexOf('x-hardened'), compose.indexOf('\n  logging'));
  const rights = hardened.split('\n').filter((line) => /^ {2}(?!image|build|#)\w+: /.test(line));
  assert.ok(rights.length >= 8, rights.join('\n'));
  for (const [name, text] of Object.entries(texts)) {
    for (const line of rights) assert.ok(text.includes(`\n  ${line}\n`), `${name}: ${line}`);
    assert.match(text, `image: quayside:${version}\n`);
    for (const [, port = ''] of text.matchAll(/^ +- (\S*:\d+)$/gm)) assert.match(port, /^127\.0\.0\.1:|^quayside:/);
    assert.match(text, /- data:\/var\/lib\/quayside$/m);
  }
});

const hasCompose = spawnSync('docker-compose', ['--version']).status === 0;
(hasCompose ? test : test.skip)('docker-compose accepts the templates (needs docker-compose)', () => {
  const paths = ['deploy/panels/stack.yaml', 'deploy/panels/coolify.yaml', `${APP}/${version}/docker-compose.yml`];
  const answers = {
    ...fields,
    XPUB,
    CONTAINER_NAME: 'quayside',
    ETHEREUM_URL: 'ws://10.0.0.5:8546',
    ETHEREUM_XPUB: XPUB,
  };
  for (const path of paths) {
    const { status, stderr } = spawnSync('docker-compose', ['-f', path, 'config', '-q'], {
      encoding: 'utf8',
      env: { ...process.env, ...answers },
    });
    assert.is(status, 0, `${path}: ${stderr}`);
  }
});

test.run();

/** A program's message on a Node that is too old, and on a machine for which SQLite has no binary. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeRefusal, sqliteRefusal } from '../../src/lib/runtime.ts';
import { built } from '../support/built.ts';

const test = suite('runtime');
const folder = mkdtempSync(join(tmpdir(), 'quayside-runtime-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAMS = [
  'src/main.ts',
  'src/server.ts',
  'src/sandbox/main.ts',
  'src/signer/main.ts',
  'src/webhooks/main.ts',
  'indexers/evm.ts',
  'indexers/nightly.ts',
  'indexers/solana.ts',
  'indexers/tron.ts',
  'scripts/demo.ts',
  'scripts/quayside.ts',
  'scripts/quayside-signer.ts',
];

/** Runs a program in a process that `preload` changes before the program's first module is loaded. */
function runWith(preload: string, program: string) {
  const file = join(folder, 'preload.cjs');
  writeFileSync(file, preload);
  const dataDir = join(folder, 'data');
  const env = { PATH: process.env.PATH, QUAYSIDE_DATA_DIR: dataDir, NODE_OPTIONS: `--require ${file}` };
  const { status, stdout, stderr } = spawnSync(process.execPath, [built(program), 'status'], {
    env,
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, stdout, stderr, hasMadeData: existsSync(dataDir) };
}

test('every program refuses a Node that is too old before it does anything', () => {
  const oldNode = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' });
    process.dlopen = () => process.abort();`;
  for (const program of PROGRAMS) {
    assert.equal(
      runWith(oldNode, program),
      {
        status: 2,
        stdout: '',
        stderr:
          'quayside: this is Node 20.20.2, and Quayside needs Node 22 or later: ' +
          'install Node 24 from https://nodejs.org and start again.\n',
        hasMadeData: false,
      },
      program,
    );
  }
});

test('a machine without a binary of SQLite is named with what would do', () => {
  const otherProcessor = "Object.defineProperty(process, 'arch', { value: 'riscv64' });";
  for (const program of ['src/main.ts', 'scripts/quayside.ts', 'src/signer/main.ts']) {
    const { status, stderr, hasMadeData } = runWith(otherProcessor, program);
    assert.is(status, 2, program);
    assert.match(stderr, /^quayside: SQLite has no binary that runs on this machine \(linux-riscv64: .*\n$/);
    assert.match(stderr, /glibc 2\.34 or later or with musl, macOS or Windows, on x64 or arm64/);
    assert.is(hasMadeData, false, program);
  }
});

test('Node 22 and later are accepted', () => {
  assert.is(nodeRefusal('22.0.0'), null);
  assert.is(nodeRefusal('26.12.1'), null);
  assert.match(nodeRefusal('21.7.3') ?? '', /this is Node 21\.7\.3/);
});

test('only the first line of why a binary cannot be loaded is shown', () => {
  const load = () => {
    throw new Error("version `GLIBC_2.34' not found\nRequire stack:\n- index.js");
  };
  assert.match(sqliteRefusal('linux-x64', load) ?? '', /\(linux-x64: version `GLIBC_2\.34' not found\)/);
  assert.is(
    sqliteRefusal('linux-x64', () => {}),
    null,
  );
});

test.run();

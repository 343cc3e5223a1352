/** A program's message on a Node that is too old. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { built } from '../support/built.ts';

const test = suite('runtime');
const folder = mkdtempSync(join(tmpdir(), 'quayside-runtime-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAMS = [
  'src/main.ts',
  'src/signer/main.ts',
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

test('every program that a person starts refuses a Node that is too old before it does anything', () => {
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

test.run();

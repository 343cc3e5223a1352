/**
 * `quayside node plan`: what is said about machines that fit, and that lack one thing each; and the measurements.
 */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { measureDisk } from '../../scripts/nodes/disk-speed.ts';
import { type Machine, machineFindings, monthsLeft, readMachine } from '../../scripts/nodes/machine.ts';
import { type MachineNeeds, readRecipes } from '../../scripts/nodes/recipe.ts';
import { runQuayside } from '../support/quayside-process.ts';

const needs: MachineNeeds = {
  run: 'a client',
  cores: 8,
  memory_gib: 32,
  disk_gib: [300, 100],
  growth_gib_month: [10, 20],
  read_us_max: 300,
  arch: 'x64',
  cpu_flag: 'avx2',
  ports: [8545, 30303],
  source: { text: 'this test', date: '2026-11-23' },
};
const fine: Machine = {
  cores: 8,
  memoryGib: 31.2,
  arch: 'x64',
  cpuFlags: new Set(['sse', 'avx2']),
  isClockSynced: true,
  takenPorts: new Set(),
  freeGib: 1_000,
  speed: { writeMibPerS: 500, medianUs: 80, p99Us: 299 },
};
const judge = (changes: Partial<Machine>): string[] =>
  machineFindings({ ...fine, ...changes }, needs).flatMap(({ severity, area, next }) => {
    assert.is(next === undefined, severity === 'ok', `${area} says what to do exactly if something is wrong`);
    return severity === 'ok' ? [] : [`${severity} ${area}`];
  });

test('a machine that has what is needed fits, and each thing that is missing is named', () => {
  assert.equal(judge({}), []);
  assert.equal(judge({ cores: 7 }), ['error cores']);
  assert.equal(judge({ memoryGib: 23.4 }), ['error memory']);
  assert.equal(judge({ freeGib: 499 }), ['error disk']);
  assert.equal(judge({ freeGib: 500 }), []);
  assert.equal(judge({ speed: { writeMibPerS: 90, medianUs: 80, p99Us: 301 } }), ['error speed']);
  assert.equal(judge({ speed: null }), ['warning speed']);
  assert.equal(judge({ arch: 'arm64' }), ['error cpu']);
  assert.equal(judge({ cpuFlags: new Set(['sse']) }), ['error cpu']);
  assert.equal(judge({ cpuFlags: null }), []);
  assert.equal(judge({ takenPorts: new Set([8545, 1]) }), ['warning ports']);
  assert.equal(
    [judge({ isClockSynced: false }), judge({ isClockSynced: null })],
    [['warning clock'], ['warning clock']],
  );
});

test('the months that a disk lasts are counted at the fastest growth', () => {
  assert.is(monthsLeft(needs, 1_000), 30);
  assert.is(monthsLeft(needs, 100), 0);
  assert.is(monthsLeft({ ...needs, growth_gib_month: [0, 0] }, 1_000), null);
});

test('a port is taken if anything listens on it, on whichever address', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const machine = await readMachine([port], { freeGib: 1, speed: null });
    assert.equal([...machine.takenPorts], [port]);
    assert.ok(machine.cores > 0 && machine.memoryGib > 0.1);
  } finally {
    server.close();
  }
  assert.is((await readMachine([port], { freeGib: 1, speed: null })).takenPorts.size, 0);
});

test('the disk is measured, and nothing is left on it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-node-plan-'));
  try {
    const speed = measureDisk(folder, 4 << 20);
    if (speed) assert.ok(speed.medianUs > 0 && speed.p99Us >= speed.medianUs && speed.writeMibPerS > 0);
    assert.equal(readdirSync(folder), []);
    assert.throws(() => measureDisk(join(folder, 'missing'), 4 << 20), /ENOENT/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('every network with a recipe is planned, with its source; an unknown one is refused', async () => {
  const { code, out } = await runQuayside(['node', 'plan', '--without-speed', '--json'], {});
  const { ways } = JSON.parse(out);
  assert.equal(
    [...new Set(ways.map(({ network }: { network: string }) => network))],
    readRecipes().map(({ network }) => network),
  );
  assert.ok(ways.every((way: { source: { date: string }; disk_gib: number }) => way.source.date && way.disk_gib > 0));
  assert.is(code, 1, 'no machine that runs tests has room for Polygon and 256 GiB of memory');
  const text = (await runQuayside(['node', 'plan', 'tron', '--without-speed'], {})).out;
  assert.match(text, '36 to 36 GiB more each month');
  assert.match(text, 'Java 8');
  assert.is((await runQuayside(['node', 'plan', 'dogecoin'], {})).code, 2);
});

test.run();

/** The standby's copy of the database: restored by a command of the settings, checked, and watched. */
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkStandby, readStandbyReport } from '../../src/app/standby.ts';
import { watchUpkeep } from '../../src/app/watches/upkeep.ts';
import { copyDatabase } from '../../src/database/engine/inspection.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { closing } from '../support/closing.ts';
import { handClock } from '../support/hand-clock.ts';
import { rawly } from '../support/raw.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { openToolBench } from '../support/tool-bench.ts';
import { watched } from '../support/watched.ts';

const clock = handClock(1_790_000_000_000);
const bench = await openToolBench({ clock });
test.after(bench.close);
const { dataDir } = bench.config;
const copies = mkdtempSync(join(tmpdir(), 'quayside-standby-'));
test.after(() => rmSync(copies, { recursive: true, force: true }));
const copy = join(copies, 'copy.db');

/** Checks what this command restores. */
const check = (...command: string[]) => checkStandby({ config: bench.config, command, env: process.env, clock });

/** Makes the copy that the standby would have now. */
function replicate(): void {
  rmSync(copy, { force: true });
  copyDatabase(join(dataDir, 'quayside.db'), copy);
}

test('a copy is whole, and as far behind as the last report that it has', async () => {
  await bench.chain.mine([{ to: bench.keys[0] ?? '', currency: 'USDT', units: 1_000_000n }]);
  await bench.chain.report('following');
  replicate();
  const fresh = await check('cp', copy, '{file}');
  assert.equal({ behind_ms: fresh.behind_ms, problems: fresh.problems }, { behind_ms: 0, problems: [] });
  clock.advance(7 * MINUTE_MS);
  await bench.chain.report('following');
  const late = await check('cp', copy, '{file}');
  assert.equal({ behind_ms: late.behind_ms, problems: late.problems }, { behind_ms: 7 * MINUTE_MS, problems: [] });
  assert.equal(readStandbyReport(dataDir), late);
  assert.equal(
    readdirSync(dataDir).filter((name) => name.startsWith('restored')),
    [],
    'nothing of it is left',
  );
});

test('a copy that is damaged, lacks entries, or was not restored cannot be used', async () => {
  replicate();
  const damaged = join(copies, 'damaged.db');
  copyFileSync(copy, damaged);
  rawly(damaged, 'DELETE FROM blocks');
  assert.ok((await check('cp', damaged, '{file}')).problems.length > 0);
  writeFileSync(damaged, 'no database');
  assert.ok((await check('cp', damaged, '{file}')).problems.length > 0);
  const [why] = (await check('/bin/sh', '-c', 'echo no such replica >&2; exit 4')).problems;
  assert.match(why ?? '', /exit code 4 no such replica/);
  assert.is((await check('/nowhere/litestream')).behind_ms, null);
});

test('a copy that is behind, cannot be used, or was not checked for hours raises an alarm that ends by itself', async () => {
  const { database } = closing(openTempDatabase());
  const backup = { ...bench.config.backup, standby: ['cp', copy, '{file}'] };
  const { look, after, open } = watched(
    watchUpkeep(database.blocks, { ...bench.config, backup, sandbox: true }),
    database,
    clock,
  );
  replicate();
  await check('cp', copy, '{file}');
  assert.equal(await look(), []);
  clock.advance(10 * MINUTE_MS);
  await bench.chain.report('following');
  await check('cp', copy, '{file}');
  assert.equal(await look(), ['standby_behind']);
  assert.match((await open())[0]?.message ?? '', '10 min behind');
  replicate();
  await check('cp', copy, '{file}');
  assert.equal(await after(3 * MINUTE_MS, MINUTE_MS), []);
  assert.equal(await after(4 * HOUR_MS), ['standby_behind']);
  await check('false');
  await after(2 * MINUTE_MS);
  assert.match((await open())[0]?.message ?? '', 'cannot be used');
});

test.run();

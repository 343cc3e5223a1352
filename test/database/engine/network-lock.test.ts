/** Every command of money out reads its network's row first, with the tag of a lock. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Freeze } from '../../../src/database/payouts/holds.ts';
import { allot, bringOut, name, network, payer, plan, refund, sent } from '../../conformance/database/payout-scene.ts';
import { act, renewal, T0_MS } from '../../conformance/database/place.ts';
import { closing } from '../../support/closing.ts';
import { counted } from '../../support/nonces.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

/** Returns the text of each statement that runs during `work`. */
async function textsRun(work: () => Promise<unknown>): Promise<readonly string[]> {
  const client = new Sqlite(':memory:');
  const statement = Object.getPrototypeOf(client.prepare('SELECT 1'));
  client.close();
  const { get, all, run } = statement;
  const texts: string[] = [];
  for (const [method, real] of Object.entries({ get, all, run }))
    statement[method] = function (this: Sqlite.Statement, ...values: unknown[]) {
      texts.push(this.source);
      return real.apply(this, values);
    };
  try {
    await work();
  } finally {
    Object.assign(statement, { get, all, run });
  }
  return texts;
}

/** The first statement of each body that writes. */
const firstOf = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text, at) => (text === 'BEGIN IMMEDIATE' ? (texts.slice(at + 1).find(isOfBody) ?? '') : []));
const isOfBody = (text: string): boolean => !/^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|SELECT total_changes)/.test(text);

test('money out begins with the network’s row', async () => {
  const { database } = closing(openTempDatabase());
  const { payouts, engines, holds, wallets, sweeps } = database;
  await plan(database, refund('r1'), refund('r2'));
  const [why, at] = [{ code: 'x', message: 'y' }, { nowMs: T0_MS }];
  const freeze: Freeze = { network, code: 'operator', reason: 'a', frozenBy: 'ann', sinceMs: T0_MS };
  const seen = { state: 'waiting', generation: 7, attemptCount: 0 } as const;
  const wait = { wait: why, nextLookAtMs: T0_MS, ...at };
  const pool = { family: 'evm', mode: 'test' } as const;
  const commands: Readonly<Record<string, () => Promise<unknown>>> = {
    fence: () => engines.nextFence(network, 0),
    nonce: () => payouts.offerNonce(network, payer, counted(0), T0_MS),
    allot: () => allot(database, 'r2'),
    withdraw: () => payouts.withdraw({ ...name('r2'), ...wait }),
    'allot, signed and sent': () => bringOut(database, refund('r1'), 1),
    sent: () => sent(database, 'r1'),
    wait: () => payouts.recordWait({ ...name('r1'), ...wait }),
    fault: () => payouts.recordFault({ ...name('r1'), fault: why, ...at }),
    renew: () => payouts.renew({ ...name('r9'), ...renewal, ...at }),
    settle: () => payouts.settle({ ...name('r9'), outcome: { kind: 'failed', ...why }, ...at }),
    stick: () => payouts.stick({ ...name('r9'), why, freezes: true, ...at }),
    conclude: () =>
      payouts.conclude({ id: 'r1', seen, conclusion: { kind: 'look' }, act: act('payout resume'), ...at }),
    cancel: () => payouts.cancel('r2', T0_MS),
    adopt: () => payouts.adopt(network, { signatures: [], servedFence: null, ...at }),
    reconcile: () => payouts.passNonces(network, payer, 5),
    'settle in': () => engines.settleIn([network], T0_MS),
    beat: () => engines.beat(network, T0_MS),
    report: () => engines.report(network, why),
    settled: () => engines.settle(network, null),
    freeze: () => holds.freeze(freeze, act('payout freeze')),
    'freeze every network': () => holds.freeze({ ...freeze, network: null }, null),
    thaw: () => holds.thaw({ freezes: [freeze], transfers: [] }, act('payout thaw')),
    sweep: () => sweeps.plan({ pool, network, treasury: 'f'.repeat(40), sweeps: [], ...at }),
    'withdraw a sweep': () => sweeps.withdraw('s9', true, T0_MS),
    'compare books': () => wallets.compareBooks({ network, heldUnits: 1n, ...at }),
  };
  for (const [command, run] of Object.entries(commands)) {
    const first = firstOf(await textsRun(run));
    assert.ok(first.length > 0, command);
    for (const text of first) assert.match(text, /^SELECT key FROM networks .*\/\* lock \*\/$/, `${command}: ${text}`);
  }
});

test.run();

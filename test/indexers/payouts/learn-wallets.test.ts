/** Following without knowing our own wallets: what left them before might be paid a second time. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { learnWallets } from '../../../indexers/payouts/learn-wallets.ts';
import { permanent, transient } from '../../../src/core/fault.ts';
import type { SignerWallets } from '../../../src/signer/signer.ts';
import { type Bench, network, onBench } from './engine-bench.ts';

const wallets: SignerWallets = {
  refund: 'aa'.repeat(20),
  gas: 'bb'.repeat(20),
  treasury: 'cc'.repeat(20),
  former: [],
  feeUnitsMax: 1n,
};

/** Starts beside a signer that fails with these faults before it answers. @returns how long that took */
async function startBeside(
  { database, clock }: Bench,
  faults: () => Error | null,
  wasFollowed = true,
): Promise<number> {
  const fromMs = clock.nowMs();
  const signer = {
    async wallets() {
      const fault = faults();
      if (fault) throw fault;
      return wallets;
    },
  };
  const sleepy = { ...clock, sleep: async (ms: number) => clock.advance(ms) };
  const parts = { network: { key: network } as const, database, signer, clock: sleepy, log: { info: () => {} } };
  await learnWallets(parts, wasFollowed, new AbortController().signal);
  return clock.nowMs() - fromMs;
}
const absent = () => transient('signer_unreachable', 'the signer does not answer');
const known = async ({ database }: Bench) => (await database.listOwnWallets(network)).map(({ key }) => key);

test(
  'a signer that comes within a minute is waited for where refunds may have been paid, and nothing is frozen',
  onBench(async (bench) => {
    await bench.plan('r1');
    const readyAtMs = bench.clock.nowMs() + 50_000;
    await startBeside(bench, () => (bench.clock.nowMs() < readyAtMs ? absent() : null));
    assert.ok((await known(bench)).includes(wallets.refund));
    assert.equal([await bench.database.listFreezes(), await bench.alarms()], [[], []]);
  }),
);

test(
  'a signer that stays away: the network is followed, and what may be paid already is not paid before a person has looked',
  onBench(async (bench) => {
    await bench.plan('r1');
    assert.ok((await startBeside(bench, absent)) >= 60_000);
    const [freeze, ...more] = await bench.database.listFreezes();
    assert.equal([freeze?.network, freeze?.code, more], [network, 'wallets_unknown', []]);
    assert.equal(
      (await bench.database.audit.list(10)).map(({ command }) => command),
      ['payout freeze'],
    );
    await startBeside(bench, absent);
    assert.is((await bench.database.alarms.list(10)).filter(({ code }) => code === 'wallets_unknown').length, 1);
    await startBeside(bench, () => permanent('signer_refused', 'its policy does not name the network'));
    for (let pass = 0; pass < 3; pass++) assert.is((await bench.pass())?.code, 'payouts_frozen');
    assert.equal(await bench.database.listPayoutAttempts('r1'), []);
  }),
);

test(
  'where no refund was ever requested, or the network is new, a signer that is away is waited for ten seconds only',
  onBench(async (bench) => {
    assert.ok((await startBeside(bench, absent)) < 11_000);
    await bench.plan('r1');
    assert.ok((await startBeside(bench, absent, false)) < 11_000);
    assert.equal(await bench.database.listFreezes(), []);
  }),
);

test.run();

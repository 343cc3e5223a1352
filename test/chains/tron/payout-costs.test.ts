/** The costs that the payout client computes and those that the simulated java-tron charges are the same. */
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  bytesCost,
  energyCost,
  paidBytes,
  readAllowances,
  readPrices,
  readStakeShare,
  stakeFor,
} from '../../../src/chains/tron/payout-costs.ts';
import { Fault } from '../../../src/core/fault.ts';
import { chargeBytes, chargeEnergy, ENERGY_SUN } from '../../../src/sandbox/tron-resources.ts';

const origin = { path: '/wallet/any', host: 'test' };
const prices = {
  perEnergy: BigInt(ENERGY_SUN),
  perByte: 1_000n,
  newAccount: 1_100_000n,
  freeBytes: 600n,
  energyStep: 2_000n,
};
const energy = fc.bigInt({ min: 1n, max: 500_000n });
const allowance = fc.bigInt({ min: 0n, max: 600_000n });

test('the quoted limit and balance suffice, and the cost is the quoted one', () => {
  fc.assert(
    fc.property(energy, allowance, (needed, allowed) => {
      const { feeLimit, burned, neededBalance } = energyCost(needed, allowed, prices);
      const charged = chargeEnergy(Number(needed), { allowed: Number(allowed), balance: neededBalance, feeLimit });
      assert.ok(charged.isEnough);
      assert.is(BigInt(charged.sun), burned);
    }),
  );
});

test('a wallet that burns its energy can pay for a quarter more, and for nothing beyond', () => {
  fc.assert(
    fc.property(energy, (needed) => {
      const { feeLimit, neededBalance } = energyCost(needed, 0n, prices);
      const charge = (more: bigint) =>
        chargeEnergy(Number(more), { allowed: 0, balance: neededBalance, feeLimit }).isEnough;
      const more = (needed * 5n + 3n) / 4n;
      assert.ok(charge(more));
      assert.not.ok(charge(more + 1n));
    }),
  );
});

/** Energy of a busy token's transfer after 0, 1, 2 and 3 maintenances: measured on java-tron 4.8.0, step 20 %. */
const BUSY = [13_408n, 15_899n, 19_158n, 23_048n] as const;

test('the limit covers a maintenance between the quote and the block, and a larger step where the chain has one', () => {
  const covered = (energyStep: bigint, energy: bigint) =>
    energyCost(energy, 0n, { ...prices, energyStep }).feeLimit / prices.perEnergy;
  for (const [at, after] of BUSY.slice(1).entries()) {
    assert.ok(covered(2_000n, BUSY[at] ?? 0n) >= after, `${BUSY[at]}, then ${after}`);
  }
  assert.ok(19_158n * 10n > 15_899n * 12n, 'a fifth would not do');
  assert.is(covered(0n, 10_000n), 12_500n);
  assert.is(covered(3_000n, 10_000n), 13_500n);
});

test('the computed stake gives the energy and a quarter more, in whole TRX and rounded down', () => {
  const share = { daily: fc.bigInt({ min: 1n, max: 10n ** 12n }), staked: fc.bigInt({ min: 1n, max: 10n ** 12n }) };
  fc.assert(
    fc.property(energy, fc.record(share), (needed, all) => {
      const trx = stakeFor(needed, all, prices) / 1_000_000n;
      assert.ok((trx * all.daily) / all.staked >= (needed * 5n) / 4n);
    }),
  );
});

test('bytes are free if one allowance covers all of them', () => {
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 500 }), fc.integer({ min: 0, max: 600 }), (bytes, freeBytes) => {
      const charged = BigInt(chargeBytes(bytes, freeBytes).sun);
      const left = { energy: 0n, stakedBytes: 0n, freeBytes: BigInt(freeBytes) };
      assert.is(bytesCost(BigInt(bytes), left, prices), charged);
      const staked = { energy: 0n, stakedBytes: BigInt(freeBytes), freeBytes: 0n };
      assert.is(bytesCost(BigInt(bytes), staked, prices), charged);
    }),
  );
  const halves = { energy: 0n, stakedBytes: 200n, freeBytes: 200n };
  assert.is(bytesCost(345n, halves, prices), 345_000n, 'never from both');
});

test('the transactions of a loan take more bytes than a payout, so lending bandwidth would cost more than it saves', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 17n }), fc.bigInt({ min: 0n, max: 15_000_000_000n }), (sun, limit) => {
      assert.ok(paidBytes('delegate', sun) + paidBytes('undelegate', sun) > paidBytes('trigger', limit));
    }),
  );
  assert.ok(paidBytes('trigger', 15_000_000_000n) <= prices.freeBytes, 'an address sweeps once a day for nothing');
});

test('the energy step counts where it is allowed; a stake that nobody has is none; nonsense is refused', () => {
  const rows = [
    { key: 'getTransactionFee', value: 1000 },
    { key: 'getEnergyFee', value: 100 },
    { key: 'getCreateNewAccountFeeInSystemContract', value: 1_000_000 },
    { key: 'getCreateAccountFee' },
    { key: 'getFreeNetLimit', value: 600 },
    { key: 'getDynamicEnergyIncreaseFactor', value: 2_000 },
  ];
  const stepOf = (more: object) => readPrices({ chainParameter: [...rows, more] }, origin).energyStep;
  assert.is(stepOf({ key: 'getAllowDynamicEnergy', value: 1 }), 2_000n);
  assert.is(stepOf({ key: 'getAllowDynamicEnergy' }), 0n, 'it is off');
  assert.is(readStakeShare({ EnergyUsed: 9, EnergyLimit: 5, TotalEnergyLimit: 7 }, origin), null, 'nobody has staked');
  for (const wrong of [
    () => readPrices({ chainParameter: rows.slice(1) }, origin),
    () => readPrices({ chainParameter: rows.map((row) => ({ ...row, value: -1 })) }, origin),
    () => readPrices(null, origin),
    () => readAllowances({ EnergyLimit: '5' }, true, prices, origin),
    () => readStakeShare([], origin),
  ]) {
    assert.throws(wrong, (error: unknown) => error instanceof Fault && error.code === 'node_nonsense');
  }
});

test.run();

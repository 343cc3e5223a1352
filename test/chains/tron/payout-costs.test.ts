/** The costs that the payout client computes and those that the simulated java-tron charges are the same. */
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  bytesCost,
  energyCost,
  readAllowances,
  readEnergyShare,
  readPrices,
  stakeFor,
} from '../../../src/chains/tron/payout-costs.ts';
import { Fault } from '../../../src/core/fault.ts';
import { chargeBytes, chargeEnergy, ENERGY_SUN } from '../../../src/sandbox/tron-resources.ts';

const origin = { path: '/wallet/any', host: 'test' };
const prices = { perEnergy: BigInt(ENERGY_SUN), perByte: 1_000n, newAccount: 1_100_000n, freeBytes: 600n };
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

test('the computed stake gives the energy and a quarter more, in whole TRX and rounded down', () => {
  const share = { energy: fc.bigInt({ min: 1n, max: 10n ** 12n }), staked: fc.bigInt({ min: 1n, max: 10n ** 12n }) };
  fc.assert(
    fc.property(energy, fc.record(share), (needed, all) => {
      const trx = stakeFor(needed, all) / 1_000_000n;
      assert.ok((trx * all.energy) / all.staked >= (needed * 5n) / 4n);
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

test('parameters and resources are read as java-tron writes them, and none is invented', () => {
  const rows = [
    { key: 'getTransactionFee', value: 1000 },
    { key: 'getEnergyFee', value: 100 },
    { key: 'getCreateNewAccountFeeInSystemContract', value: 1_000_000 },
    { key: 'getCreateAccountFee' },
    { key: 'getFreeNetLimit', value: 600 },
  ];
  assert.equal(readPrices({ chainParameter: rows }, origin), { ...prices, newAccount: 1_000_000n });
  const resources = { freeNetUsed: 100, freeNetLimit: 600, EnergyUsed: 9, EnergyLimit: 5, TotalEnergyLimit: 7 };
  assert.equal(readAllowances(resources, true, prices, origin), { energy: 0n, stakedBytes: 0n, freeBytes: 500n });
  assert.is(readAllowances({}, false, prices, origin).freeBytes, 600n);
  assert.is(readEnergyShare(resources, origin), null, 'nobody has staked');
  for (const wrong of [
    () => readPrices({ chainParameter: rows.slice(1) }, origin),
    () => readPrices({ chainParameter: rows.map((row) => ({ ...row, value: -1 })) }, origin),
    () => readPrices(null, origin),
    () => readAllowances({ EnergyLimit: '5' }, true, prices, origin),
    () => readEnergyShare([], origin),
  ]) {
    assert.throws(wrong, (error: unknown) => error instanceof Fault && error.code === 'node_nonsense');
  }
});

test.run();

/**
 * Computes the cost of a transaction on TRON. Contracts need energy, bytes need bandwidth. Both are first taken from
 * the account's allowance, and then paid by burning TRX. Pure; amounts are sun.
 *
 * Sources: https://developers.tron.network/docs/resource-model, java-tron `BandwidthProcessor`,
 * `VMActuator.getTotalEnergyLimit`.
 */

import { isFields } from '../../core/fields.ts';
import { divideCeil } from '../../core/money.ts';
import { nonsense, type Origin, readWhole } from './answer.ts';
import type { ContractKind } from './transaction-bytes.ts';

/** The chain's prices. */
export type Prices = Readonly<{
  perEnergy: bigint;
  perByte: bigint;
  /** Cost of a transfer that creates the payee's account, instead of the cost of its bytes. */
  newAccount: bigint;
  /** Free bytes a day of every account. */
  freeBytes: bigint;
  /** Largest rise of a busy contract's energy in one maintenance, in ten-thousandths; mostly 2000. */
  energyStep: bigint;
}>;

/** Resources that an account may use before it burns TRX. Bytes come from one of two allowances, never from both. */
export type Allowances = Readonly<{ energy: bigint; stakedBytes: bigint; freeBytes: bigint }>;

/** Yield of all stakes for energy: `daily` energy a day for `staked` TRX. */
export type StakeShare = Readonly<{ daily: bigint; staked: bigint }>;

/** Signed size, without the varint of a call's fee limit or of another kind's amount. */
const SIGNED_BYTES: Readonly<Record<ContractKind, bigint>> = {
  trigger: 277n,
  transfer: 200n,
  delegate: 210n,
  undelegate: 212n,
};
/** The space that the result may need counts as part of a transaction. */
const RESULT_BYTES = 64n;
const SUN_PER_TRX = 1_000_000n;
/** Parts of the energy, in ten-thousandths, as java-tron counts steps. */
const TEN_THOUSAND = 10_000n;
const RESERVE_MIN = 2_500n;
const ROUNDING = 500n;

/**
 * Returns how many bytes are paid for.
 * @param number the fee limit of a call, the amount of the others
 */
export function paidBytes(kind: ContractKind, number: bigint): bigint {
  return SIGNED_BYTES[kind] + BigInt(Math.ceil(number.toString(2).length / 7)) + RESULT_BYTES;
}

/** Returns the TRX burned for bytes. */
export function bytesCost(bytes: bigint, { stakedBytes, freeBytes }: Allowances, { perByte }: Prices): bigint {
  return stakedBytes >= bytes || freeBytes >= bytes ? 0n : bytes * perByte;
}

/**
 * Returns the cost of a call's energy. The limit is at least a quarter above the present need, because the state may
 * differ in the transaction's block. It also limits the energy taken from an allowance. Unused energy is not charged.
 * @param energy of the call if it ran now
 */
export function energyCost(
  energy: bigint,
  allowed: bigint,
  { perEnergy, energyStep }: Prices,
): Readonly<{ feeLimit: bigint; burned: bigint; neededBalance: bigint }> {
  const short = energy > allowed ? energy - allowed : 0n;
  return {
    feeLimit: withReserve(energy, energyStep) * perEnergy,
    burned: short * perEnergy,
    neededBalance: withReserve(short, energyStep) * perEnergy,
  };
}

/**
 * Returns the stake that yields this much energy a day, with the reserve of `withReserve`. java-tron counts whole TRX
 * and rounds their yield down.
 * @returns sun
 */
export const stakeFor = (
  energy: bigint,
  { daily, staked }: StakeShare,
  { energyStep }: Pick<Prices, 'energyStep'>,
): bigint => (divideCeil(withReserve(energy, energyStep) * staked, daily) + 1n) * SUN_PER_TRX;

/**
 * Adds a quarter, or more where the chain allows a larger step. A node's answer includes the contract's present factor.
 * One maintenance may come before the transaction's block, and it multiplies the factor by at most one step, no matter
 * how busy the contract was (java-tron `ContractStateCapsule.catchUpToCycle`). Each instruction's energy is rounded
 * down (`VM.play`), so their sum can rise by a little more. With a step of 20 %, it rises by up to 20.5 %.
 */
function withReserve(energy: bigint, energyStep: bigint): bigint {
  const reserve = energyStep + ROUNDING > RESERVE_MIN ? energyStep + ROUNDING : RESERVE_MIN;
  return divideCeil(energy * (TEN_THOUSAND + reserve), TEN_THOUSAND);
}

/**
 * Reads the answer to `/wallet/getchainparameters`.
 * @throws Fault transient `node_nonsense`
 */
export function readPrices(value: unknown, origin: Origin): Prices {
  const rows: readonly unknown[] = isFields(value) && Array.isArray(value.chainParameter) ? value.chainParameter : [];
  const find = (name: string): bigint | null => {
    const row = rows.find((one) => isFields(one) && one.key === name);
    return row === undefined ? null : readWhole(row, 'value', origin);
  };
  const read = (name: string): bigint => {
    const value = find(name);
    if (value === null) throw nonsense(origin, `answered without the chain parameter ${name}`);
    return value;
  };
  return {
    // The chain's dynamic energy is off, or the node is older than it.
    energyStep: find('getAllowDynamicEnergy') ? (find('getDynamicEnergyIncreaseFactor') ?? 0n) : 0n,
    perEnergy: read('getEnergyFee'),
    perByte: read('getTransactionFee'),
    newAccount: read('getCreateNewAccountFeeInSystemContract') + read('getCreateAccountFee'),
    freeBytes: read('getFreeNetLimit'),
  };
}

/**
 * Reads the answer to `/wallet/getaccountresource`.
 * @param isThere whether the account exists; only then does it have free bytes
 * @throws Fault transient `node_nonsense`
 */
export function readAllowances(value: unknown, isThere: boolean, prices: Prices, origin: Origin): Allowances {
  if (!isThere) return { energy: 0n, stakedBytes: 0n, freeBytes: prices.freeBytes };
  const left = (limit: string, used: string): bigint => {
    const rest = readWhole(value, limit, origin) - readWhole(value, used, origin);
    return rest > 0n ? rest : 0n;
  };
  return {
    energy: left('EnergyLimit', 'EnergyUsed'),
    stakedBytes: left('NetLimit', 'NetUsed'),
    freeBytes: left('freeNetLimit', 'freeNetUsed'),
  };
}

/**
 * Reads the yield of stakes for energy from the resources of any account; null if nobody has staked.
 * @throws Fault transient `node_nonsense`
 */
export function readStakeShare(value: unknown, origin: Origin): StakeShare | null {
  const daily = readWhole(value, 'TotalEnergyLimit', origin);
  const staked = readWhole(value, 'TotalEnergyWeight', origin);
  return daily > 0n && staked > 0n ? { daily, staked } : null;
}

/**
 * What a simulated TRON charges: energy for what contracts do, bandwidth for bytes, both first out of allowances and
 * then burned from TRX at the chain parameters' prices. Amounts are sun.
 *
 * Sources: https://developers.tron.network/docs/resource-model, java-tron `BandwidthProcessor`, `EnergyProcessor`,
 * `VMActuator`.
 *
 * @module
 */
import type { Accounts } from './accounts.ts';

export const ENERGY_SUN = 100;
export const BYTE_SUN = 1_000;
/** An account that is not there yet is made by the first TRX that it is sent, at this price. */
export const NEW_ACCOUNT_SUN = 1_000_000;
/** For the bytes of a transaction that makes an account. */
export const NEW_ACCOUNT_BYTES_SUN = 100_000;
/** Bytes a day of each account. */
export const FREE_BYTES = 600;
/** What a result may add to a transaction counts as part of it. */
export const RESULT_BYTES = 64;
export const TOTAL_ENERGY = 180_000_000_000;
/** TRX that are staked for energy by everybody. */
export const TOTAL_ENERGY_WEIGHT = 18_000_000_000;
export const SUN_PER_TRX = 1_000_000n;

/** A transfer to whom holds the token already, to whom does not, and a call that reverts. */
const ENERGY_TO_HOLDER = 64_285;
const ENERGY_TO_OTHERS = 130_285;
export const ENERGY_OF_REVERT = 2_763;

/** A field of java-tron's JSON, which leaves out what has its default value. */
export const unlessZero = (name: string, value: number): Readonly<Record<string, number>> =>
  value === 0 ? {} : { [name]: value };

/** Sun as java-tron's JSON has them; all TRX there are fit. */
export const jsonSun = (sun: bigint): number => Number(sun);

export const transferEnergy = (accounts: Accounts, token: string, to: string): number =>
  accounts.token(token, to) > 0n ? ENERGY_TO_HOLDER : ENERGY_TO_OTHERS;

/** What the stakes that an account may use give it in a day. */
export const energyLimit = (accounts: Accounts, account: string): number =>
  Math.floor((Number(accounts.usable(account) / SUN_PER_TRX) * TOTAL_ENERGY) / TOTAL_ENERGY_WEIGHT);

/** What is left of the account's allowances. */
export function allowances(accounts: Accounts, account: string, timeS: number) {
  const { energy, bytes } = accounts.usedUp(account, timeS);
  return {
    energy: Math.max(0, energyLimit(accounts, account) - energy),
    bytes: accounts.isKnown(account) ? Math.max(0, FREE_BYTES - bytes) : 0,
  };
}

/** Bytes are free as long as the allowance covers all of them. */
export function chargeBytes(bytes: number, allowed: number): Readonly<{ allowedBytes: number; sun: number }> {
  return allowed >= bytes ? { allowedBytes: bytes, sun: 0 } : { allowedBytes: 0, sun: bytes * BYTE_SUN };
}

/**
 * @param needed by the call
 * @param balance what the sender has to burn
 * @returns what was used, which is all there is where that is too little
 */
export function chargeEnergy(
  needed: number,
  { allowed, balance, feeLimit }: Readonly<{ allowed: number; balance: bigint; feeLimit: bigint }>,
): Readonly<{ isEnough: boolean; energy: number; allowedEnergy: number; sun: number }> {
  const price = BigInt(ENERGY_SUN);
  const payable = BigInt(allowed) + balance / price;
  // The limit also caps what comes out of the allowance.
  const limit = Number(payable < feeLimit / price ? payable : feeLimit / price);
  const energy = Math.min(needed, limit);
  const allowedEnergy = Math.min(energy, allowed);
  return { isEnough: limit >= needed, energy, allowedEnergy, sun: (energy - allowedEnergy) * ENERGY_SUN };
}

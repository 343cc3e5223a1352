/**
 * Charges of a simulated TRON: energy for contracts, bandwidth for bytes, both first taken from allowances and then
 * paid by burning TRX at the chain parameters' prices. Amounts are sun.
 *
 * Sources: https://developers.tron.network/docs/resource-model, java-tron `BandwidthProcessor`, `EnergyProcessor`,
 * `VMActuator`.
 */
import type { Accounts } from './accounts.ts';

export const ENERGY_SUN = 100;
export const BYTE_SUN = 1_000;
/** An account is created by the first TRX sent to it, at this price. */
export const NEW_ACCOUNT_SUN = 1_000_000;
/** For the bytes of a transaction that creates an account. */
export const NEW_ACCOUNT_BYTES_SUN = 100_000;
/** Bytes a day of each account. */
export const FREE_BYTES = 600;
/** The space that a result may need counts as part of a transaction. */
export const RESULT_BYTES = 64;
export const TOTAL_ENERGY = 180_000_000_000;
/** TRX staked for energy by all accounts. */
export const TOTAL_ENERGY_WEIGHT = 18_000_000_000;
export const SUN_PER_TRX = 1_000_000n;

/** A transfer to an account that already holds the token, to one that does not, and a call that reverts. */
const ENERGY_TO_HOLDER = 64_285;
const ENERGY_TO_OTHERS = 130_285;
export const ENERGY_OF_REVERT = 2_763;

/** Returns the part of a call's energy that a busy contract adds. */
export const energyPenalty = (energy: number): number => Math.floor((energy * 3) / 4);

/** Returns a field of java-tron's JSON, which omits default values. */
export const unlessZero = (name: string, value: number | bigint): Readonly<Record<string, number | bigint>> =>
  value === 0 || value === 0n ? {} : { [name]: value };

/** Returns an amount of sun as java-tron's JSON has it; all existing TRX fit. */
export const jsonSun = (sun: bigint): number => Number(sun);

export const transferEnergy = (accounts: Accounts, token: string, to: string): number =>
  accounts.token(token, to) > 0n ? ENERGY_TO_HOLDER : ENERGY_TO_OTHERS;

/** Returns the energy a day of the stakes that an account may use. */
export const energyLimit = (accounts: Accounts, account: string): number =>
  Math.floor((Number(accounts.usable(account) / SUN_PER_TRX) * TOTAL_ENERGY) / TOTAL_ENERGY_WEIGHT);

/** Returns what is left of the account's allowances. */
export function allowances(accounts: Accounts, account: string, timeS: number) {
  const { energy, bytes } = accounts.usedUp(account, timeS);
  return {
    energy: Math.max(0, energyLimit(accounts, account) - energy),
    bytes: accounts.isKnown(account) ? Math.max(0, FREE_BYTES - bytes) : 0,
  };
}

/** Bytes are free if the allowance covers all of them. */
export function chargeBytes(bytes: number, allowed: number): Readonly<{ allowedBytes: number; sun: number }> {
  return allowed >= bytes ? { allowedBytes: bytes, sun: 0 } : { allowedBytes: 0, sun: bytes * BYTE_SUN };
}

/**
 * Charges energy.
 * @param needed by the call
 * @param balance what the sender can burn
 * @returns what was used, which is everything if that is too little
 */
export function chargeEnergy(
  needed: number,
  { allowed, balance, feeLimit }: Readonly<{ allowed: number; balance: bigint; feeLimit: bigint }>,
): Readonly<{ isEnough: boolean; energy: number; allowedEnergy: number; sun: number }> {
  const price = BigInt(ENERGY_SUN);
  const payable = BigInt(allowed) + balance / price;
  // The limit also caps what is taken from the allowance.
  const limit = Number(payable < feeLimit / price ? payable : feeLimit / price);
  const energy = Math.min(needed, limit);
  const allowedEnergy = Math.min(energy, allowed);
  return { isEnough: limit >= needed, energy, allowedEnergy, sun: (energy - allowedEnergy) * ENERGY_SUN };
}

/**
 * Reads accounts as `getMultipleAccounts` returns them with `encoding: base64`, and token accounts among them. Pure.
 *
 * Layout of a token account's 165 bytes: spl-token, `state.rs` (mint 0, owner 32, amount 64, state 108).
 */
import { base58 } from '@scure/base';
import { isFields } from '../../core/fields.ts';
import { nonsense, type Origin } from '../json-rpc.ts';
import { solanaAddress } from './address.ts';
import { TOKEN_PROGRAM } from './wire.ts';

/** `owner` is the program that owns the account, base58. */
export type ChainAccount = Readonly<{ lamports: bigint; owner: string; data: Buffer }>;

/** An account of the classic token program; `mint` and `owner` are base58. */
type TokenAccount = Readonly<{ mint: string; owner: string; units: bigint; isFrozen: boolean }>;

const TOKEN_ACCOUNT_BYTES = 165;
const AT_OWNER = 32;
const AT_AMOUNT = 64;
const AT_STATE = 108;
const FROZEN = 2;

/**
 * Reads one account.
 * @param value null if there is no account
 * @throws Fault transient `node_nonsense`
 */
export function readAccount(value: unknown, origin: Origin): ChainAccount | null {
  if (value === null) return null;
  const { lamports, owner, data } = isFields(value) ? value : {};
  const text = Array.isArray(data) && data[1] === 'base64' ? data[0] : null;
  // Above 2^53 `JSON.parse` rounds them, by less than a hundred. They are only compared with small sums.
  if (
    typeof lamports !== 'number' ||
    !Number.isInteger(lamports) ||
    lamports < 0 ||
    typeof owner !== 'string' ||
    typeof text !== 'string'
  ) {
    throw nonsense(origin, 'answered with an account without lamports, owner or data');
  }
  return { lamports: BigInt(lamports), owner, data: Buffer.from(text, 'base64') };
}

/**
 * Returns the units in a token account; 0 if it now belongs to another owner.
 * @param key address key of the owner
 */
export function unitsHeldBy(key: string, account: ChainAccount | null): bigint {
  const held = readTokenAccount(account);
  return held && solanaAddress.parse(held.owner) === key ? held.units : 0n;
}

/** Reads an account as a token account; null if it is not one. */
export function readTokenAccount(account: ChainAccount | null): TokenAccount | null {
  if (account?.owner !== TOKEN_PROGRAM || account.data.length !== TOKEN_ACCOUNT_BYTES) return null;
  const { data } = account;
  return {
    mint: base58.encode(data.subarray(0, AT_OWNER)),
    owner: base58.encode(data.subarray(AT_OWNER, AT_AMOUNT)),
    units: data.readBigUInt64LE(AT_AMOUNT),
    isFrozen: data[AT_STATE] === FROZEN,
  };
}

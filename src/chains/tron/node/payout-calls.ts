/**
 * Queries of accounts and contracts at the node's head.
 */
import { type Fields, isFields } from '../../../core/fields.ts';
import { BALANCE_SELECTOR, FROZEN_SELECTORS, transferData, word } from '../../erc20.ts';
import { wireAddress } from '../address.ts';
import { errorFault, isUnknown, messageText, nonsense, readWhole } from '../answer.ts';
import { WORD } from '../wire.ts';
import type { TronRpc } from './rpc.ts';

const ACCOUNT_PATH = '/wallet/getaccount';
const CONSTANT_PATH = '/wallet/triggerconstantcontract';
/** In the state of the solidified chain. */
export const SOLID_CONSTANT_PATH = '/walletsolidity/triggerconstantcontract';

/** Returns the account of a key; null if it does not exist. A key without an account may still hold tokens. */
async function askAccount({ ask, host }: TronRpc, key: string): Promise<Fields | null> {
  const value = await ask({ path: ACCOUNT_PATH, body: { address: wireAddress(key) } });
  if (isUnknown(value)) return null;
  if (isFields(value) && value.address === wireAddress(key)) return value;
  throw nonsense({ path: ACCOUNT_PATH, host }, 'answered with an account other than the requested one');
}

/**
 * Returns the kind of a key's account; null if there is none.
 * @throws Fault transient
 */
export async function readKind(node: TronRpc, key: string): Promise<'wallet' | 'contract' | null> {
  const account = await askAccount(node, key);
  return account && (account.type === 'Contract' ? 'contract' : 'wallet');
}

/**
 * Returns the TRX of a key's account, in sun; null if there is none. The answer is at most 2^53 − 1, and 0 for a
 * balance below zero, which the black hole has.
 * @throws Fault transient
 */
export async function readNative(node: TronRpc, key: string): Promise<bigint | null> {
  const account = await askAccount(node, key);
  if (account === null) return null;
  const { balance = 0 } = account;
  if (Number.isInteger(balance)) return BigInt(Math.min(Math.max(Number(balance), 0), Number.MAX_SAFE_INTEGER));
  throw nonsense({ path: ACCOUNT_PATH, host: node.host }, 'answered with a malformed balance');
}

/**
 * The result of a call that changes nothing. `value` is null if the contract reverted. `why` is the reason, as text.
 */
type Tried = Readonly<{ value: string | null; energy: bigint; why: string }>;

/**
 * Runs a contract's function without a transaction.
 * @param owner address key of the caller
 * @param contract its key
 * @param data selector and arguments, hex
 * @throws Fault transient
 */
async function tryCall(
  { ask, host }: TronRpc,
  owner: string,
  contract: string,
  data: string,
  path = CONSTANT_PATH,
): Promise<Tried> {
  const origin = { path, host };
  const body = { owner_address: wireAddress(owner), contract_address: wireAddress(contract), data };
  const answer = await ask({ path, body });
  if (!isFields(answer) || !isFields(answer.result)) throw nonsense(origin, 'answered with no result');
  const { result, message } = answer.result;
  if (result !== true) throw errorFault(messageText(message), origin);
  const { constant_result: returned, transaction } = answer;
  const [ret] = isFields(transaction) && Array.isArray(transaction.ret) ? transaction.ret : [];
  const hasFailed = (message !== undefined && message !== '') || (isFields(ret) && ret.ret === 'FAILED');
  const [word] = Array.isArray(returned) ? returned : [];
  const value = hasFailed ? null : String(word ?? '');
  return { value, energy: readWhole(answer, 'energy_used', origin), why: hasFailed ? messageText(message) : '' };
}

/**
 * Returns an account's balance of a token, in base units.
 * @param path `SOLID_CONSTANT_PATH`, or absent for the head
 * @throws Fault transient
 */
export async function readHeld(node: TronRpc, token: string, key: string, path = CONSTANT_PATH): Promise<bigint> {
  const { value } = await tryCall(node, key, token, BALANCE_SELECTOR + word(key), path);
  if (value !== null && WORD.test(value)) return BigInt(`0x${value}`);
  throw nonsense({ path, host: node.host }, 'answered without a token balance');
}

/**
 * Returns whether the issuer has frozen an account.
 * @throws Fault transient
 */
export async function isFrozen(node: TronRpc, token: string, key: string): Promise<boolean> {
  const lists = await Promise.all(FROZEN_SELECTORS.map((it) => tryCall(node, key, token, it + word(key))));
  return lists.some(({ value }) => value !== null && WORD.test(value) && BigInt(`0x${value}`) !== 0n);
}

/**
 * Simulates a transfer at the head.
 * @throws Fault transient
 */
export const tryTransfer = (node: TronRpc, token: string, owner: string, to: string, units: bigint): Promise<Tried> =>
  tryCall(node, owner, token, transferData(to, units));

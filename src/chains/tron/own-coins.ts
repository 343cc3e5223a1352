/**
 * The TRX that left our own wallets, read from a block's transactions: what they sent, the stake that they lent, and
 * the fees of those that failed.
 */
import { isFields } from '../../core/fields.ts';
import type { ChainTransfer } from '../../core/transfer.ts';
import type { Watched } from '../chain.ts';
import { readKey } from './address.ts';

/** A transaction as the block lists it; `rawData` is not checked. */
export type Listed = Readonly<{ id: string; succeeded: boolean; rawData: unknown }>;

/** Whose transfers are wanted: those that pay a watched address, and those out of our own wallets. */
export type Wanted = Readonly<{ watched: Watched; own: ReadonlySet<string> }>;

/** Contracts that lend a stake, or take it back. */
const LOAN = /^(Un)?DelegateResourceContract$/;

/** Returns a transaction's contract: its type and its fields; null if it is in another form. */
function readContract({ rawData }: Listed) {
  const [contract] = isFields(rawData) && Array.isArray(rawData.contract) ? rawData.contract : [];
  const { type, parameter } = isFields(contract) ? contract : {};
  return isFields(parameter) && isFields(parameter.value) ? { type: String(type), value: parameter.value } : null;
}

const readSun = (value: unknown): bigint =>
  Number.isSafeInteger(value) && Number(value) > 0 ? BigInt(Number(value)) : 0n;

/**
 * Returns the TRX that one of our wallets sent, or the stake that it lent to, or took back from, another or a watched
 * address. What it sent to others is all that left it, with the fee.
 * @param index of the transaction in its block
 * @param fee according to its info, in sun
 */
export function readCoins(listed: Listed, index: number, fee: unknown, { watched, own }: Wanted): ChainTransfer[] {
  const contract = readContract(listed);
  if (!listed.succeeded || !contract) return [];
  const { payee, sun, isLoan } = readPayee(contract);
  const [from, to, units] = [readKey(contract.value.owner_address) ?? '', readKey(payee), readSun(sun)];
  if (to === null || !own.has(from) || from === to || units === 0n) return [];
  const moved = { tx: listed.id, index, currency: 'native', from, to, isOutgoing: true } as const;
  if (own.has(to) || watched(to)) return [{ ...moved, units }];
  // A loan moves no coin.
  return isLoan ? [] : [{ ...moved, units: units + readSun(fee) }];
}

/** Returns who receives the coins or the loan of a contract, and how much in sun; nothing of other contracts. */
function readPayee({ type, value }: NonNullable<ReturnType<typeof readContract>>) {
  if (LOAN.test(type)) return { payee: value.receiver_address, sun: value.balance, isLoan: true };
  if (type === 'TransferContract') return { payee: value.to_address, sun: value.amount, isLoan: false };
  // A call may carry coins to its contract; none of ours does.
  const sun = type === 'TriggerSmartContract' ? value.call_value : 0;
  return { payee: value.contract_address, sun, isLoan: false };
}

/** Returns the fee of a failed transaction of one of our wallets, as sent by the wallet to itself; see `readCoins`. */
export function readFailedFee(listed: Listed, index: number, fee: unknown, own: ReadonlySet<string>): ChainTransfer[] {
  const from = readKey(readContract(listed)?.value.owner_address);
  const units = readSun(fee);
  if (listed.succeeded || from === null || !own.has(from) || units === 0n) return [];
  return [{ tx: listed.id, index, currency: 'native', from, to: from, units, isOutgoing: true }];
}

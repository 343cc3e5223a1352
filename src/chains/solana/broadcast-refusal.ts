/**
 * Reads why a node refuses a transaction. Agave gives the reason twice. The name in `data.err` (`TransactionError` as
 * JSON) does not change; gateways pass the words on more often. Pure.
 *
 * Error numbers: `SystemError` of the System program, `TokenError` of spl-token.
 */
import { isFields } from '../../core/fields.ts';
import type { RpcError } from '../json-rpc.ts';
import type { Broadcast } from '../spend.ts';
import { readTransactionBytes } from './message.ts';
import { SYSTEM, TOKEN_ACCOUNTS, TOKENS } from './programs.ts';

/** By a program's key: the step of a payout that calls it, and the meaning of its error numbers. */
const programs: Readonly<Record<string, Readonly<{ step: string; codes: Readonly<Record<number, string>> }>>> = {
  [SYSTEM]: { step: 'the lock', codes: { 0: 'account_in_use', 1: 'native_short' } },
  // The error number is the System program's, which this program calls.
  [TOKEN_ACCOUNTS]: { step: 'the receiving token account', codes: { 1: 'native_short' } },
  [TOKENS]: {
    step: 'the token transfer',
    codes: { 1: 'token_short', 3: 'token_mismatch', 17: 'account_frozen', 18: 'token_mismatch' },
  },
};

/** Errors by name, and the words for each. */
const names: readonly Readonly<{ name: string; words: RegExp; code: string }>[] = [
  { name: 'AlreadyProcessed', words: /already (been )?processed/i, code: 'known' },
  { name: 'BlockhashNotFound', words: /blockhash not found/i, code: 'blockhash_not_found' },
  { name: 'SignatureFailure', words: /signature verification/i, code: 'signature_wrong' },
  { name: 'AccountNotFound', words: /no record of a prior credit/i, code: 'native_short' },
  { name: 'InsufficientFundsForFee', words: /insufficient funds for fee/i, code: 'native_short' },
];
const computeErrors = ['ProgramFailedToComplete', 'ComputationalBudgetExceeded'];

const INSTRUCTION_WORDS = /instruction (\d+): (?:custom program error: 0x([0-9a-f]+)|(program failed to complete)?)/i;
const RENT_WORDS = /account \((\d+)\) with insufficient funds for rent/i;

/** An error of an instruction: its number, or a name. */
type InstructionError = Readonly<{ at: number; custom: number | null; name: string }>;

function readInstructionError(err: unknown, message: string): InstructionError | null {
  if (isFields(err) && Array.isArray(err.InstructionError)) {
    const [at, cause] = err.InstructionError;
    const custom = isFields(cause) && Number.isSafeInteger(cause.Custom) ? Number(cause.Custom) : null;
    return { at: Number(at), custom, name: typeof cause === 'string' ? cause : '' };
  }
  const words = err === undefined ? INSTRUCTION_WORDS.exec(message) : null;
  if (!words) return null;
  const [, at, custom, failed] = words;
  return {
    at: Number(at),
    custom: custom === undefined ? null : Number.parseInt(custom, 16),
    name: failed === undefined ? '' : 'ProgramFailedToComplete',
  };
}

/** Returns the index of an account that would keep less than its deposit; null for any other error. */
function readRentError(err: unknown, message: string): number | null {
  if (isFields(err) && isFields(err.InsufficientFundsForRent))
    return Number(err.InsufficientFundsForRent.account_index);
  const words = err === undefined ? RENT_WORDS.exec(message) : null;
  return words ? Number(words[1]) : null;
}

/**
 * Returns the meaning of a refusal. "Already processed" is as good as accepted. No other answer proves anything.
 * @param bytes the transaction that was sent
 */
export function readRefusal({ code, message, data }: RpcError, bytes: Uint8Array): Broadcast {
  const err = isFields(data) ? data.err : undefined;
  const rejected = (name: string, where = ''): Broadcast => ({
    kind: 'rejected',
    code: name,
    message: message + where,
  });
  const named = names.find(({ name, words }) => (err === undefined ? words.test(message) : err === name));
  if (named) return named.code === 'known' ? { kind: 'known' } : rejected(named.code);
  const poor = readRentError(err, message);
  // The fee payer is the first account.
  if (poor !== null) return rejected(poor === 0 ? 'native_short' : 'rent_short');
  const failed = readInstructionError(err, message);
  if (!failed) return rejected(`error_${code}`);
  const called = readTransactionBytes(bytes)?.signed.instructions[failed.at]?.program;
  const program = programs[called ?? ''];
  const where = program ? ` (in ${program.step})` : '';
  if (computeErrors.includes(failed.name)) return rejected('compute_exceeded', where);
  return rejected((failed.custom !== null && program?.codes[failed.custom]) || 'instruction_failed', where);
}

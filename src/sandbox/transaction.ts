/**
 * Transactions of a simulated chain, in terms that every chain family can render: who paid whom, in which token, and
 * whether it succeeded. Accounts and contracts are address keys (lower-case hex, as in `AddressCodec`).
 */
import { permanent } from '../core/fault.ts';
import { digest } from './digest.ts';

/** An event of a token contract. Approvals look much like transfers on the wire and must never be counted. */
export type Entry = Readonly<{
  kind: 'transfer' | 'approval';
  token: string;
  from: string;
  to: string;
  units: bigint;
}>;

export type WorldTransaction = Readonly<{
  /** 64 hex digits. */
  id: string;
  sender: string;
  /** The contract that the sender called: a token, or one that calls tokens. */
  target: string;
  /** A failed transaction is included in its block, but its entries did not happen. */
  succeeded: boolean;
  entries: readonly Entry[];
  /** Native coin that it transfers besides tokens; no token contract reports it. */
  native?: readonly NativeTransfer[];
  /**
   * Native coin whose resources an account may use from now on, or (below zero) no longer; a stake is lent to its
   * owner.
   */
  lent?: readonly NativeTransfer[];
  /** Set if a wallet signed and sent it, absent on payments that the world made up. */
  signed?: SignedPart;
}>;

/** `makes`: the transaction fails unless it is the first to make data in the account `to`. */
export type NativeTransfer = Readonly<{ from: string; to: string; units: bigint; makes?: 'data' }>;

type SignedPart = Readonly<{
  /** As received, hex. */
  bytes: string;
  /** The sender's nonce; null if the family has none. */
  sequence: number | null;
  /** The sender's fee in native coin, even if it fails. */
  feeUnits: bigint;
  /** The last block number that may include it, if the family determines that in advance. */
  lastNumber?: number;
  /** How it was executed in its block, if the family has daily allowances. */
  execution?: Execution;
}>;

/** The resources that a transaction used; the rest of its energy and bytes was paid for in native coin. */
type Execution = Readonly<{
  /** The family's name for the result. */
  result: string;
  energy: number;
  /** The energy and bytes taken from the sender's allowances. */
  allowedEnergy: number;
  allowedBytes: number;
  /** Of its block. */
  timeS: number;
}>;

export type SignedTransaction = WorldTransaction & Readonly<{ signed: SignedPart }>;

/**
 * - `direct`: the sender calls the token.
 * - `contract`: another contract moves the sender's tokens; an approval follows each transfer.
 * - `failed`: as `direct`, but reverted.
 * - `lookalike`: a worthless contract that calls itself by the token's name.
 * - `fee`: the token keeps 0.2 % (USDT's highest possible fee) and reports the net amount, then its own share.
 * - `delegated`: an account that the payer approved before calls the token's `transferFrom`.
 */
export const paymentKinds = ['direct', 'contract', 'failed', 'lookalike', 'fee', 'delegated'] as const;
export type PaymentKind = (typeof paymentKinds)[number];

/** One recipient of a payment; `units` may be zero, as address poisoners send. */
export type Output = Readonly<{ token: string; to: string; units: bigint }>;

/** The content of one transaction; with several outputs a contract makes the transfers. */
export type Payment = Readonly<{ kind: PaymentKind; from: string; outputs: readonly Output[] }>;

const OUTPUTS_MAX = 1000;
const FEE_PER_10_000 = 20n;

/** Returns the key of a contract that every sandbox network has: always the same for the same name. */
const contractKey = (name: string, keyBytes: number): string => digest('sandbox contract', name).slice(0, keyBytes * 2);

export const routerKey = (keyBytes: number): string => contractKey('router', keyBytes);
/** Returns the account that payers allow to move their tokens. */
const delegateKey = (keyBytes: number): string => contractKey('delegate', keyBytes);
export const lookalikeKey = (token: string): string => contractKey(`lookalike of ${token}`, token.length / 2);
const feeCollectorKey = (token: string): string => contractKey(`owner of ${token}`, token.length / 2);

/** Builds a transaction that creates native coin, to spend or already staked. */
export function buildFunding(
  to: string,
  units: bigint,
  isStaked: boolean,
  identify: (content: string) => string,
): WorldTransaction {
  const sender = contractKey('faucet', to.length / 2);
  const moved = isStaked ? { lent: [{ from: to, to, units }] } : { native: [{ from: sender, to, units }] };
  return { id: identify(`${to} ${units}`), sender, target: to, succeeded: true, entries: [], ...moved };
}

/**
 * Builds a payment.
 * @param identify turns the content into the transaction's id
 * @throws Fault permanent `sandbox_request_invalid` if there are no outputs or too many
 */
export function buildTransaction(payment: Payment, identify: (content: string) => string): WorldTransaction {
  const [first] = payment.outputs;
  if (!first || payment.outputs.length > OUTPUTS_MAX) {
    throw permanent('sandbox_request_invalid', `a sandbox payment has 1 to ${OUTPUTS_MAX} outputs`);
  }
  const entries = payment.outputs.flatMap((output) => entriesOf(payment, output));
  const callsToken = payment.outputs.length === 1 && payment.kind !== 'contract';
  const token = payment.kind === 'lookalike' ? lookalikeKey(first.token) : first.token;
  const keyBytes = payment.from.length / 2;
  const content = {
    sender: payment.kind === 'delegated' ? delegateKey(keyBytes) : payment.from,
    target: callsToken ? token : routerKey(keyBytes),
    succeeded: payment.kind !== 'failed',
    entries,
  };
  const text = JSON.stringify(content, (_, value) => (typeof value === 'bigint' ? value.toString() : value));
  return { id: identify(text), ...content };
}

function entriesOf({ kind, from }: Payment, { token, to, units }: Output): Entry[] {
  const transfer: Entry = { kind: 'transfer', token, from, to, units };
  switch (kind) {
    case 'direct':
    case 'failed':
    case 'delegated':
      return [transfer];
    case 'contract':
      return [transfer, { kind: 'approval', token, from, to: routerKey(from.length / 2), units: 0n }];
    case 'lookalike':
      return [{ ...transfer, token: lookalikeKey(token) }];
    case 'fee': {
      const fee = (units * FEE_PER_10_000) / 10_000n;
      const net: Entry = { ...transfer, units: units - fee };
      return fee === 0n ? [net] : [net, { ...transfer, to: feeCollectorKey(token), units: fee }];
    }
  }
}

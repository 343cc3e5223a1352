/**
 * The transaction pool of a simulated EVM node and the rules of its blocks. Rules and texts are those of go-ethereum
 * (`core/txpool`).
 *
 * @module
 */
import { readTransferCall } from './abi.ts';
import { BASE_FEE_WEI, GAS_BASE, GAS_LIMIT, gasOf, priceOf } from './evm-gas.ts';
import { idOf, type RawTransaction, readRaw, senderOf } from './evm-raw.ts';
import { serverError } from './json-rpc.ts';
import { type Admit, isSigned } from './mempool.ts';
import type { SignedTransaction, WorldTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** By how much a replacement must raise both fees. */
const PRICE_BUMP_PER_100 = 10n;

const costMax = ({ value, gasLimit, maxFee }: RawTransaction): bigint => value + gasLimit * maxFee;

/** The effect of a transaction: tokens move by `transfer` only, and any other call of a token reverts. */
function effectOf(
  { to, value, data }: RawTransaction,
  sender: string,
  tokens: readonly string[],
): Pick<WorldTransaction, 'succeeded' | 'entries' | 'native'> {
  const call = to !== null && tokens.includes(to) ? readTransferCall(data) : null;
  if (to === null || (tokens.includes(to) && (!call || value > 0n))) return { succeeded: false, entries: [] };
  if (call) return { succeeded: true, entries: [{ kind: 'transfer', token: to, from: sender, ...call }] };
  return { succeeded: true, entries: [], native: [{ from: sender, to, units: value }] };
}

export type EvmPool = Readonly<{
  /**
   * Returns the transaction as it would be pending, and which one it would replace.
   * @param bytes hex digits
   * @throws RpcError with go-ethereum's text
   */
  check(bytes: string): Readonly<{ transaction: SignedTransaction; replaces?: string }>;
  /** The account's next sequence number after all pending transactions that can be mined. */
  nextSequence(account: string): number;
}>;

export function openEvmPool(world: World, chainId: number, tokens: readonly string[]): EvmPool {
  const waitingOf = (sender: string): SignedTransaction[] =>
    world
      .pending()
      .filter(isSigned)
      .filter((transaction) => transaction.sender === sender);

  function check(bytes: string): Readonly<{ transaction: SignedTransaction; replaces?: string }> {
    const raw = readRaw(bytes);
    const id = idOf(bytes);
    const sender = senderOf(raw);
    if (raw.chainId !== BigInt(chainId)) throw serverError('invalid chain id for signer');
    if (raw.gasLimit > BigInt(GAS_LIMIT)) throw serverError('exceeds block gas limit');
    if (raw.tip > raw.maxFee) throw serverError('max priority fee per gas higher than max fee per gas');
    if (raw.gasLimit < BigInt(GAS_BASE)) {
      throw serverError(`intrinsic gas too low: gas ${raw.gasLimit}, minimum needed ${GAS_BASE}`);
    }
    const waiting = waitingOf(sender);
    if (waiting.some((other) => other.id === id)) throw serverError('already known');
    const accounts = world.accounts();
    const next = accounts.sequence(sender);
    if (raw.nonce < next) throw serverError(`nonce too low: next nonce ${next}, tx nonce ${raw.nonce}`);
    const [balance, cost] = [accounts.native(sender), costMax(raw)];
    if (balance < cost) {
      throw serverError(
        `insufficient funds for gas * price + value: balance ${balance}, tx cost ${cost}, overshot ${cost - balance}`,
      );
    }
    const rival = waiting.find(({ signed }) => signed.sequence === raw.nonce);
    if (rival && !outbids(raw, readRaw(rival.signed.bytes))) throw serverError('replacement transaction underpriced');
    const effect = effectOf(raw, sender, tokens);
    const needed = BigInt(gasOf(effect));
    const gasUsed = raw.gasLimit < needed ? raw.gasLimit : needed;
    const transaction: SignedTransaction = {
      id,
      sender,
      target: raw.to ?? sender,
      ...effect,
      succeeded: effect.succeeded && raw.gasLimit >= needed,
      signed: { bytes, sequence: raw.nonce, feeUnits: gasUsed * priceOf(raw) },
    };
    return rival ? { transaction, replaces: rival.id } : { transaction };
  }

  return {
    check,
    nextSequence(account) {
      let next = world.accounts().sequence(account);
      const waiting = new Set(waitingOf(account).map(({ signed }) => signed.sequence));
      while (waiting.has(next)) next += 1;
      return next;
    },
  };
}

function outbids(offer: RawTransaction, before: RawTransaction): boolean {
  const beats = (fee: bigint, old: bigint) => fee > old && fee * 100n >= old * (100n + PRICE_BUMP_PER_100);
  return beats(offer.maxFee, before.maxFee) && beats(offer.tip, before.tip);
}

/** A block includes what has the next number, offers the base fee and can be paid for. */
export const evmAdmit: Admit = ({ sender, succeeded, entries, signed }, accounts) => {
  const raw = readRaw(signed.bytes);
  const next = accounts.sequence(sender);
  if (raw.nonce < next) return 'drop';
  if (raw.nonce > next || raw.maxFee < BASE_FEE_WEI) return 'wait';
  if (accounts.native(sender) < costMax(raw)) return 'drop';
  const isCovered = entries.every(({ token, from, units }) => accounts.token(token, from) >= units);
  return succeeded && isCovered ? 'take' : 'fail';
};

/**
 * The transaction pool of a simulated EVM node and the rules of its blocks. Rules and texts are those of go-ethereum
 * (`core/txpool`).
 */
import { readTransferCall } from './abi.ts';
import type { EvmDialect } from './evm-dialect.ts';
import { baseFeeOf, gasOf, priceOf, smaller } from './evm-gas.ts';
import { type RawTransaction, readRaw } from './evm-raw.ts';
import { serverError } from './json-rpc.ts';
import { type Admit, isSigned } from './mempool.ts';
import type { SignedTransaction, WorldTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** By how much a replacement must raise both fees. */
const PRICE_BUMP_PER_100 = 10n;

const costMax = ({ valueWei, gas, maxFeeWei }: RawTransaction): bigint => valueWei + gas * maxFeeWei;

/** The effect of a transaction: tokens move by `transfer` only, and any other call of a token reverts. */
function effectOf(
  { to, valueWei, data, sender }: RawTransaction,
  tokens: readonly string[],
): Pick<WorldTransaction, 'succeeded' | 'entries' | 'native'> {
  const call = to !== null && tokens.includes(to) ? readTransferCall(data) : null;
  if (to === null || (tokens.includes(to) && (!call || valueWei > 0n))) return { succeeded: false, entries: [] };
  if (call) return { succeeded: true, entries: [{ kind: 'transfer', token: to, from: sender, ...call }] };
  return { succeeded: true, entries: [], native: [{ from: sender, to, units: valueWei }] };
}

export function openEvmPool(
  world: World,
  { chainId, dialect, tokens }: Readonly<{ chainId: number; dialect: EvmDialect; tokens: readonly string[] }>,
) {
  const waitingOf = (sender: string): SignedTransaction[] =>
    world
      .pending()
      .filter(isSigned)
      .filter((transaction) => transaction.sender === sender);

  /**
   * Returns the transaction as it would be pending, and which one it would replace.
   * @param bytes hex digits
   * @throws RpcError with go-ethereum's text
   */
  function check(bytes: string): Readonly<{ transaction: SignedTransaction; replaces?: string }> {
    const raw = readRaw(bytes);
    const { id, sender } = raw;
    const nonce = Number(raw.nonce);
    if (raw.chainId !== BigInt(chainId)) {
      throw serverError(`invalid sender: invalid chain id for signer: have ${raw.chainId} want ${chainId}`);
    }
    const waiting = waitingOf(sender);
    if (waiting.some((other) => other.id === id)) throw serverError('already known');
    const accounts = world.accounts();
    const next = accounts.sequence(sender);
    if (nonce < next) throw serverError(`nonce too low: next nonce ${next}, tx nonce ${nonce}`);
    const rival = waiting.find(({ signed }) => signed.sequence === nonce);
    checkCovered(accounts.native(sender), costMax(raw), queuedCost(waiting.filter((other) => other !== rival)));
    if (rival && !outbids(raw, readRaw(rival.signed.bytes))) throw serverError('replacement transaction underpriced');
    const effect = effectOf(raw, tokens);
    const needed = BigInt(gasOf(effect));
    const gasUsed = smaller(raw.gas, needed);
    const transaction: SignedTransaction = {
      id,
      sender,
      target: raw.to ?? sender,
      ...effect,
      succeeded: effect.succeeded && raw.gas >= needed,
      signed: {
        bytes,
        sequence: nonce,
        feeUnits: gasUsed * priceOf(raw, baseFeeOf(world.tip(), dialect)),
      },
    };
    return rival ? { transaction, replaces: rival.id } : { transaction };
  }

  return {
    check,
    /** Returns the account's next nonce after all pending transactions that can be mined. */
    nextSequence(account: string): number {
      let next = world.accounts().sequence(account);
      const waiting = new Set(waitingOf(account).map(({ signed }) => signed.sequence));
      while (waiting.has(next)) next += 1;
      return next;
    },
  };
}

const queuedCost = (waiting: readonly SignedTransaction[]): bigint =>
  waiting.reduce((sum, { signed }) => sum + costMax(readRaw(signed.bytes)), 0n);

/** @throws RpcError if a wallet cannot pay for a transaction besides those that wait */
function checkCovered(balance: bigint, cost: bigint, queued: bigint): void {
  const missing = queued + cost - balance;
  if (missing <= 0n) return;
  const others = queued > 0n ? `queued cost ${queued}, ` : '';
  throw serverError(
    `insufficient funds for gas * price + value: balance ${balance}, ${others}tx cost ${cost}, overshot ${missing}`,
  );
}

function outbids(offer: RawTransaction, before: RawTransaction): boolean {
  const beats = (fee: bigint, old: bigint) => fee > old && fee * 100n >= old * (100n + PRICE_BUMP_PER_100);
  return beats(offer.maxFeeWei, before.maxFeeWei) && beats(offer.tipWei, before.tipWei);
}

/** A block includes what has the next number, offers the base fee and can be paid for. */
export const evmAdmit: Admit = (candidate, accounts, { price = 0n }) => {
  const { sender, succeeded, entries, signed } = candidate;
  const raw = readRaw(signed.bytes);
  const next = BigInt(accounts.sequence(sender));
  if (raw.nonce < next) return 'drop';
  if (raw.nonce > next || raw.maxFeeWei < price) return 'wait';
  if (accounts.native(sender) < costMax(raw)) return 'drop';
  const isCovered = entries.every(({ token, from, units }) => accounts.token(token, from) >= units);
  const gasUsed = smaller(raw.gas, BigInt(gasOf(candidate)));
  return {
    ...candidate,
    succeeded: succeeded && isCovered,
    signed: { ...signed, feeUnits: gasUsed * priceOf(raw, price) },
  };
};

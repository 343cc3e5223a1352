/** Quotes a payout: whether it would succeed now, how much gas it needs, and the price of the gas. */

import { excerpt } from '../../../core/excerpt.ts';
import { invariant } from '../../../core/fault.ts';
import { type Fields, isFields } from '../../../core/fields.ts';
import { isPayback } from '../../../core/intent.ts';
import { unitsOf } from '../../../core/ledger.ts';
import { divideCeil } from '../../../core/money.ts';
import type { Quote, Refused, Terms } from '../../../core/spend.ts';
import { BALANCE_SELECTOR, FROZEN_SELECTORS, transferData, word } from '../../erc20.ts';
import { nonsense, type RpcAnswer, type RpcError } from '../../json-rpc.ts';
import { frozen, refuse, short, unpayable } from '../../quote-refusals.ts';
import type { SpendDraft } from '../../spend.ts';
import type { RpcCall } from '../../transport/rpc-client.ts';
import { evmAddress, WEI_DECIMALS } from '../address.ts';
import { feesToOffer, type GasPrice, goingTip, larger } from '../payout-fees.ts';
import { hex, readUnits, WORD } from '../wire.ts';
import { type EvmRpc, errorFault, expectChain, quantity, readAmount, readCount, resultOf } from './rpc.ts';

const ZERO_KEY = '0'.repeat(40);

/** Number of newest blocks whose tips are read, and the percentile of each that suffices to get into a block. */
const TIP_BLOCKS = 20;
const TIP_PERCENTILE = 25;

type QuoteQuestion = Readonly<{
  draft: SpendDraft;
  /** Null takes the wallet's next nonce at the head, for planning only. */
  nonce: number | null;
  outbid: readonly Terms[];
  chainId: string;
  /** Address keys of the network's tokens. */
  tokenKeys: readonly string[];
}>;

/** Extra gas of writing an empty storage slot instead of a used one (EIP-2929, EIP-3529). */
const FRESH_SLOT_GAS = 17_100n;

/**
 * Returns the gas limit. It is more than the gas needed now, because the state may differ in the transaction's block. A
 * payee may have emptied their wallet by then, as exchanges do all day. Unused gas is not charged. A replacement gets
 * no less than the attempt it replaces.
 */
function gasLimitOf(gas: bigint, { intent }: SpendDraft, outbid: readonly Terms[]): bigint {
  const atWorst = isPayback(intent) ? gas + FRESH_SLOT_GAS : gas;
  return outbid.map((terms) => BigInt(terms.gas_limit ?? 0)).reduce(larger, divideCeil(atWorst * 5n, 4n));
}

/** Returns the call of a contract's function that takes one address, at the head or in the state of a block. */
const viewCall = (contract: string, selector: string, account: string, block = 'latest'): RpcCall => ({
  method: 'eth_call',
  params: [{ to: contract, data: `0x${selector}${word(account)}` }, block],
});

/** @param block a number in hex, or a tag */
export const balanceCall = (token: string, holder: string, block = 'latest'): RpcCall =>
  viewCall(token, BALANCE_SELECTOR, holder, block);

/** The state at the head that a quote is based on. */
type State = Readonly<{
  /** The payer's balance of the native coin. */
  native: bigint;
  /** The payer's next nonce. */
  next: number;
  price: GasPrice;
  /** The owner's balance of the draft's token, and whether the issuer has frozen the payee; absent for native coin. */
  held?: bigint;
  isFrozen?: boolean;
}>;

/** @throws Fault transient */
async function askState({ rpc, host }: EvmRpc, { draft, chainId }: QuoteQuestion, owner: string): Promise<State> {
  const { payer, to, token } = draft;
  const ofToken = token && [
    balanceCall(token.address, owner),
    ...FROZEN_SELECTORS.map((selector) => viewCall(token.address, selector, to)),
  ];
  const [chain, balance, count, history, tip, gasPrice, held, ...lists] = await rpc.batch([
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getBalance', params: [`0x${payer}`, 'latest'] },
    { method: 'eth_getTransactionCount', params: [`0x${payer}`, 'latest'] },
    { method: 'eth_feeHistory', params: [quantity(TIP_BLOCKS), 'latest', [TIP_PERCENTILE]] },
    { method: 'eth_maxPriorityFeePerGas', params: [] },
    { method: 'eth_gasPrice', params: [] },
    ...(ofToken ?? []),
  ]);
  expectChain(chain, chainId, host);
  return {
    native: readAmount(balance, { method: 'eth_getBalance', host }),
    next: readCount(count, { method: 'eth_getTransactionCount', host }),
    price: readPrice({ history, tip, gasPrice }, host),
    ...(held && {
      held: readAmount(held, { method: 'eth_call', host }),
      isFrozen: lists.some((answer) => isListed(answer, host)),
    }),
  };
}

/** @throws Fault transient */
export async function askQuote(node: EvmRpc, question: QuoteQuestion): Promise<Quote> {
  const { draft, nonce, outbid, tokenKeys } = question;
  const { intent, payer, to, token } = draft;
  const [owner] = draft.owners;
  invariant(owner, 'a draft has an owner');
  if (to === ZERO_KEY || to === owner || tokenKeys.includes(to)) {
    return unpayable(evmAddress.format(to));
  }
  const units = unitsOf(intent);
  const value = token ? 0n : units;
  const { native, next, price, held = 0n, isFrozen } = await askState(node, question, owner);
  if (token && isFrozen) return frozen(token.symbol, evmAddress.format(to));
  if (token && held < units) return short('token_short', evmAddress.format(owner), units - held, token);
  if (native < value) return nativeShort(payer, value - native);
  const gas = await askGas(node, draft, owner, units);
  if (typeof gas !== 'bigint') return refuse('would_fail', gas.why);

  const fees = feesToOffer(price, outbid);
  const gasLimit = gasLimitOf(gas, draft, outbid);
  const feeUnitsMax = gasLimit * fees.maxFee;
  const missing = value + feeUnitsMax - native;
  if (missing > 0n) {
    const poor = nativeShort(payer, missing);
    return value > 0n ? poor : { ...poor, missing: { units: missing, costUnits: feeUnitsMax } };
  }
  const terms = {
    nonce: String(nonce ?? next),
    gas_limit: gasLimit.toString(),
    max_fee_per_gas: fees.maxFee.toString(),
    max_priority_fee_per_gas: fees.tip.toString(),
  };
  return { terms, feeUnits: gas * (price.baseFee + fees.tip), feeUnitsMax };
}

/**
 * Returns the gas that the transaction would use now, or why it would fail.
 * @throws Fault transient
 */
async function askGas(
  { rpc, host }: EvmRpc,
  { to, token }: SpendDraft,
  owner: string,
  units: bigint,
): Promise<bigint | Readonly<{ why: string }>> {
  const origin = { method: 'eth_estimateGas', host };
  const call = token
    ? { from: `0x${owner}`, to: token.address, data: `0x${transferData(to, units)}` }
    : { from: `0x${owner}`, to: `0x${to}`, value: quantity(units) };
  const answer = await rpc.attempt(origin.method, [call, 'latest']);
  if (answer.ok) return readAmount(answer, origin);
  if (!isRefusal(answer.error)) throw errorFault(answer.error, origin);
  return { why: `according to ${host} it would fail now: ${excerpt(answer.error.message)}` };
}

const nativeShort = (wallet: string, missing: bigint): Refused =>
  short('native_short', evmAddress.format(wallet), missing, { symbol: 'native coin', decimals: WEI_DECIMALS });

/** Returns whether an error means that the call would fail. Other errors are problems of the node. */
const isRefusal = ({ code, message }: RpcError): boolean =>
  code === 3 ||
  /revert|invalid opcode|out of gas|exceeds allowance|always failing|insufficient (funds|balance)/i.test(message);

/** A token whose contract has no such function cannot freeze accounts. */
function isListed(answer: RpcAnswer, host: string): boolean {
  if (answer.ok) {
    const text = hex(answer.result);
    return WORD.test(text) && BigInt(text) !== 0n;
  }
  if (isRefusal(answer.error)) return false;
  throw errorFault(answer.error, { method: 'eth_call', host });
}

type PriceAnswers = Readonly<Record<'history' | 'tip' | 'gasPrice', RpcAnswer>>;

/** Returns the gas price for the next block. If the node suggests no tip, it is derived from the node's gas price. */
function readPrice({ history, tip, gasPrice }: PriceAnswers, host: string): GasPrice {
  const answered = resultOf(history, { method: 'eth_feeHistory', host });
  const { baseFeePerGas: baseFees, reward } = isFields(answered) ? answered : ({} as Fields);
  const baseFee = Array.isArray(baseFees) ? readUnits(baseFees.at(-1)) : null;
  if (baseFee === null)
    throw nonsense({ method: 'eth_feeHistory', host }, "answered without the next block's base fee");
  // Without percentiles from the node, its suggestion is taken as it is.
  const paid = (Array.isArray(reward) ? reward : []).flatMap((tips) => readUnits(tips?.[0]) ?? []);
  return { baseFee, tip: goingTip(readSuggestion(tip, gasPrice, baseFee, host), paid) };
}

function readSuggestion(tip: RpcAnswer, gasPrice: RpcAnswer, baseFee: bigint, host: string): bigint {
  const suggested = tip.ok ? readUnits(tip.result) : null;
  if (suggested !== null) return suggested;
  const whole = readAmount(gasPrice, { method: 'eth_gasPrice', host });
  return whole > baseFee ? whole - baseFee : 0n;
}

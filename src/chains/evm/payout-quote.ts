/**
 * What a payout takes now: whether it would succeed, how much gas it needs, and what the gas costs.
 * @module
 */
import { invariant } from '../../core/fault.ts';
import { unitsOf } from '../../core/ledger.ts';
import { divideCeil, formatUnits } from '../../core/money.ts';
import { nonsense, type RpcAnswer, type RpcError } from '../json-rpc.ts';
import type { Quote, RefusedCode, SpendDraft, Terms } from '../spend.ts';
import { feesToOffer, type GasPrice, larger } from './payout-fees.ts';
import { type EvmRpc, errorFault, expectChain, quantity, readCount, resultOf } from './rpc.ts';
import { hex, isFields, readUnits, transferCall, WORD, word } from './wire.ts';

const NATIVE_DECIMALS = 18;
/** `balanceOf(address)`. */
const BALANCE_SELECTOR = '70a08231';
/** `isBlackListed(address)` of USDT and `isBlacklisted(address)` of USDC; a token without either has no such list. */
const FROZEN_SELECTORS = ['e47d6060', 'fe575a87'];
const ZERO_KEY = '0'.repeat(40);

export type QuoteQuestion = Readonly<{
  draft: SpendDraft;
  /** Null takes the wallet's next number at the head, which is good for planning only. */
  nonce: number | null;
  outbid: readonly Terms[];
  chainId: string;
  /** Address keys of the network's tokens. */
  tokenKeys: readonly string[];
}>;

const refuse = (code: RefusedCode, message: string): Quote => ({ kind: 'refused', code, message });

/** What it costs more to write where nothing stood than to change what stands there (EIP-2929, EIP-3529). */
const FRESH_SLOT_GAS = 17_100n;

/**
 * What a transaction may use: more than now, because it meets another state in its block. A payee may have emptied their wallet by then, as
 * exchanges do all day. Gas that is left is not charged. A replacement gets no less than what it replaces.
 */
function gasLimitOf(gas: bigint, { intent }: SpendDraft, outbid: readonly Terms[]): bigint {
  const atWorst = intent.kind === 'refund' ? gas + FRESH_SLOT_GAS : gas;
  return outbid.map((terms) => BigInt(terms.gas_limit ?? 0)).reduce(larger, divideCeil(atWorst * 5n, 4n));
}

/** The call of `balanceOf`. */
export const balanceCall = (token: string, holder: string) => ({
  method: 'eth_call',
  params: [{ to: token, data: `0x${BALANCE_SELECTOR}${word(holder)}` }, 'latest'],
});

/** @throws Fault transient */
export async function askQuote({ rpc, host }: EvmRpc, question: QuoteQuestion): Promise<Quote> {
  const { draft, nonce, outbid, chainId, tokenKeys } = question;
  const { intent, payer, to, token } = draft;
  const [owner] = draft.owners;
  invariant(owner, 'money leaves somewhere');
  if (to === ZERO_KEY || to === owner || tokenKeys.includes(to)) {
    return refuse('destination_invalid', `0x${to} is nobody's wallet: the zero address, a token or the paying wallet`);
  }
  const units = unitsOf(intent);
  const fixed = [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getBalance', params: [`0x${payer}`, 'latest'] },
    { method: 'eth_getTransactionCount', params: [`0x${payer}`, 'latest'] },
    { method: 'eth_feeHistory', params: ['0x1', 'latest', []] },
    { method: 'eth_maxPriorityFeePerGas', params: [] },
    { method: 'eth_gasPrice', params: [] },
  ];
  const ofToken = token
    ? [
        balanceCall(token.address, owner),
        ...FROZEN_SELECTORS.map((selector) => ({
          method: 'eth_call',
          params: [{ to: token.address, data: `0x${selector}${word(to)}` }, 'latest'],
        })),
      ]
    : [];
  const answers = await rpc.batch([...fixed, ...ofToken]);
  const [chain, balance, count, history, tip, gasPrice, held, ...frozen] = answers;
  invariant(chain && balance && count && history && tip && gasPrice, 'a batch has an answer for each call');
  expectChain(chain, chainId, host);

  const amountOf = (answer: RpcAnswer, method: string): bigint => {
    const amount = readUnits(resultOf(answer, { method, host }));
    if (amount === null) throw nonsense({ method, host }, 'answered with no number');
    return amount;
  };

  if (token && held) {
    if (frozen.some((answer) => isListed(answer, host))) {
      return refuse('destination_frozen', `the issuer of ${token.symbol} has frozen 0x${to}: what it gets is lost`);
    }
    const missing = units - amountOf(held, 'eth_call');
    if (missing > 0n) return short('token_short', owner, missing, token.symbol, token.decimals);
  }
  const native = amountOf(balance, 'eth_getBalance');
  const value = token ? 0n : units;
  if (native < value) return short('native_short', payer, value - native, 'native coin', NATIVE_DECIMALS);

  const call = token
    ? { from: `0x${owner}`, to: token.address, data: transferCall(to, units) }
    : { from: `0x${owner}`, to: `0x${to}`, value: quantity(units) };
  const estimate = await rpc.attempt('eth_estimateGas', [call, 'latest']);
  if (!estimate.ok) {
    if (!isRefusal(estimate.error)) throw errorFault(estimate.error, { method: 'eth_estimateGas', host });
    return refuse('would_fail', `${host} says that it would fail now: ${estimate.error.message}`);
  }
  const gas = amountOf(estimate, 'eth_estimateGas');
  const price = readPrice({ history, tip, gasPrice }, host);
  const fees = feesToOffer(price, outbid);
  const gasLimit = gasLimitOf(gas, draft, outbid);
  const feeUnitsMax = gasLimit * fees.maxFee;
  const missing = value + feeUnitsMax - native;
  if (missing > 0n) return short('native_short', payer, missing, 'native coin', NATIVE_DECIMALS);
  const next = readCount(resultOf(count, { method: 'eth_getTransactionCount', host }), {
    method: 'eth_getTransactionCount',
    host,
  });
  return {
    kind: 'quoted',
    terms: {
      nonce: String(nonce ?? next),
      gas_limit: gasLimit.toString(),
      max_fee_per_gas: fees.maxFee.toString(),
      max_priority_fee_per_gas: fees.tip.toString(),
    },
    feeUnits: gas * (price.baseFee + fees.tip),
    feeUnitsMax,
  };
}

function short(
  code: 'token_short' | 'native_short',
  wallet: string,
  missing: bigint,
  name: string,
  decimals: number,
): Quote {
  const message = `wallet 0x${wallet} needs ${formatUnits(missing, decimals)} ${name} more: send it there`;
  return { kind: 'refused', code, message, missingUnits: missing };
}

/** How nodes say that a call would fail, apart from all that may be wrong with the node. */
const isRefusal = ({ code, message }: RpcError): boolean =>
  code === 3 ||
  /revert|invalid opcode|out of gas|exceeds allowance|always failing|insufficient (funds|balance)/i.test(message);

/** A list that the contract does not keep lists nobody. */
function isListed(answer: RpcAnswer, host: string): boolean {
  if (answer.ok) {
    const text = hex(answer.result);
    return WORD.test(text) && BigInt(text) !== 0n;
  }
  if (isRefusal(answer.error)) return false;
  throw errorFault(answer.error, { method: 'eth_call', host });
}

type PriceAnswers = Readonly<Record<'history' | 'tip' | 'gasPrice', RpcAnswer>>;

/** Of the next block. Where a node suggests no tip, what it calls the gas price holds one. */
function readPrice({ history, tip, gasPrice }: PriceAnswers, host: string): GasPrice {
  const answered = resultOf(history, { method: 'eth_feeHistory', host });
  const baseFees = isFields(answered) && Array.isArray(answered.baseFeePerGas) ? answered.baseFeePerGas : [];
  const baseFee = readUnits(baseFees.at(-1));
  if (baseFee === null)
    throw nonsense({ method: 'eth_feeHistory', host }, "answered without the next block's base fee");
  const suggested = tip.ok ? readUnits(tip.result) : null;
  if (suggested !== null) return { baseFee, tip: suggested };
  const whole = readUnits(resultOf(gasPrice, { method: 'eth_gasPrice', host }));
  if (whole === null) throw nonsense({ method: 'eth_gasPrice', host }, 'answered with no number');
  return { baseFee, tip: whole > baseFee ? whole - baseFee : 0n };
}

/**
 * Quotes a payout: whether it would succeed now, and the cost of its energy and bandwidth for the wallet that signs it.
 */
import { createHash } from 'node:crypto';
import type { BlockRef } from '../../../core/block.ts';
import { invariant } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import { type GasIntent, isPayback } from '../../../core/intent.ts';
import { unitsOf } from '../../../core/ledger.ts';
import { formatUnits } from '../../../core/money.ts';
import type { Missing, Quote, Refused, Terms } from '../../../core/spend.ts';
import { frozen, refuse, short, unpayable } from '../../quote-refusals.ts';
import type { SpendDraft } from '../../spend.ts';
import { SUN_DECIMALS, tronAddress, wireAddress } from '../address.ts';
import { isUnknown, nonsense, readWhole } from '../answer.ts';
import { expirySpreadMs } from '../expiry.ts';
import {
  type Allowances,
  bytesCost,
  energyCost,
  type Prices,
  paidBytes,
  readAllowances,
  readPrices,
  readStakeShare,
  type StakeShare,
  stakeFor,
} from '../payout-costs.ts';
import { BLOCK_PATH } from '../wire.ts';
import { referenceOf } from './payout-absence.ts';
import { isFrozen, readHeld, readKind, readNative, tryTransfer } from './payout-calls.ts';
import { expectChain, readHeaderAt, SOLID_BLOCK_PATH, type TronRpc } from './rpc.ts';

const RESOURCE_PATH = '/wallet/getaccountresource';
const PARAMETERS_PATH = '/wallet/getchainparameters';
const LENDABLE_PATH = '/wallet/getcandelegatedmaxsize';
const LOANS_PATH = '/wallet/getdelegatedresourcev2';
/** `ResourceCode` of energy. */
const ENERGY = 1;
const ZERO_KEY = '0'.repeat(40);

type QuoteQuestion = Readonly<{
  draft: SpendDraft;
  chainId: string;
  /** Address keys of the network's tokens. */
  tokenKeys: readonly string[];
  /** Returns a time at or after the given one, a different one for each quote. */
  stamp: (headMs: number) => number;
  /** Lifetime of the transaction in ms. */
  expiryMs: number;
}>;

/** The state at the head that a quote is based on. */
type State = Readonly<{
  head: BlockRef;
  solid: BlockRef;
  prices: Prices;
  /** The payer's TRX in sun; null if its account does not exist. */
  native: bigint | null;
  allowances: Allowances;
}>;

const nativeShort = (wallet: string, missing: bigint): Refused =>
  short('native_short', tronAddress.format(wallet), missing, { symbol: 'TRX', decimals: SUN_DECIMALS });

/**
 * Quotes a draft.
 * @throws Fault transient
 */
export async function askQuote(node: TronRpc, question: QuoteQuestion): Promise<Quote> {
  const { draft, tokenKeys } = question;
  const { to, token, intent } = draft;
  const [owner] = draft.owners;
  invariant(owner, 'a draft has an owner');
  const shown = tronAddress.format(to);
  if (to === ZERO_KEY || to === owner || tokenKeys.includes(to)) return unpayable(shown);
  await expectChain(node, question.chainId);
  if (intent.kind === 'gas') return quoteNative(node, question, intent);
  if (!token) return quoteNative(node, question, { form: 'transfer', units: unitsOf(intent) });
  const contract = tronAddress.parse(token.address);
  invariant(contract, `the token address ${token.address} is a valid TRON address`);
  const units = unitsOf(intent);
  const [isListed, destination, held] = await Promise.all([
    isFrozen(node, contract, to),
    readKind(node, to),
    readHeld(node, contract, owner),
  ]);
  if (isListed) return frozen(token.symbol, shown);
  if (isPayback(intent) && destination === 'contract') {
    return refuse('destination_invalid', `${shown} is a contract: money sent there may be lost`);
  }
  if (held < units) return short('token_short', tronAddress.format(owner), units - held, token);
  const [state, tried] = await Promise.all([
    askState(node, draft.payer),
    tryTransfer(node, contract, owner, to, units),
  ]);
  if (tried.value === null) return refuse('would_fail', `according to ${node.host} it would fail now: ${tried.why}`);

  const { prices, allowances } = state;
  const { feeLimit, burned, neededBalance } = energyCost(tried.energy, allowances.energy, prices);
  const bytes = paidBytes('trigger', feeLimit);
  const bytesSun = bytesCost(bytes, allowances, prices);
  const needed = neededBalance + bytesSun;
  const missing = missingNative(state, needed);
  if (missing > 0n) {
    const loan = isPayback(intent) ? null : await loanFor(node, contract, tried.energy, state, bytesSun);
    const poor = nativeShort(draft.payer, missing);
    return { ...poor, missing: { units: missing, costUnits: needed, ...(loan && { loan }) } };
  }
  const feeUnitsMax = feeLimit + bytes * prices.perByte;
  return { terms: termsOf(question, state, feeLimit), feeUnits: burned + bytesSun, feeUnitsMax };
}

/** Returns the loan with which a sweep would succeed; null if it has enough energy, or nobody has staked. */
async function loanFor(
  node: TronRpc,
  contract: string,
  energy: bigint,
  state: State,
  bytesSun: bigint,
): Promise<Missing['loan'] | null> {
  const { prices, allowances } = state;
  const share = await askStakeShare(node, contract);
  const short = energy - allowances.energy;
  if (!share || short <= 0n) return null;
  return { units: stakeFor(short, share, prices), coinUnits: missingNative(state, bytesSun) };
}

/**
 * Returns the yield of stakes; null if nobody has staked. The resources of every account contain it, but only the token
 * contract's account is sure to exist.
 */
async function askStakeShare({ ask, host }: TronRpc, contract: string): Promise<StakeShare | null> {
  const value = await ask({ path: RESOURCE_PATH, body: { address: wireAddress(contract) } });
  return readStakeShare(value, { path: RESOURCE_PATH, host });
}

/**
 * Returns the sun that the payer lacks. A payer without an account can sign nothing, even for free, and needs at least
 * 1 sun.
 */
function missingNative({ native }: State, needed: bigint): bigint {
  if (native === null) return needed > 0n ? needed : 1n;
  return needed > native ? needed - native : 0n;
}

async function quoteNative(
  node: TronRpc,
  question: QuoteQuestion,
  { form, units }: Pick<GasIntent, 'form' | 'units'>,
): Promise<Quote> {
  const { payer, to } = question.draft;
  const [state, receiver] = await Promise.all([askState(node, payer), readKind(node, to)]);
  const { prices, allowances } = state;
  if (form !== 'transfer') {
    const why = await whyNoLoan(node, payer, to, form, units, receiver);
    if (why !== null) return refuse('would_fail', why);
  }
  const bytes = paidBytes(form === 'reclaim' ? 'undelegate' : form, units);
  const makesAccount = form === 'transfer' && receiver === null;
  const feeUnits = makesAccount ? prices.newAccount : bytesCost(bytes, allowances, prices);
  const missing = missingNative(state, feeUnits + (form === 'transfer' ? units : 0n));
  if (missing > 0n) return nativeShort(payer, missing);
  const bytesUnitsMax = bytes * prices.perByte;
  const feeUnitsMax = form === 'transfer' ? bytesUnitsMax + prices.newAccount : bytesUnitsMax;
  return { terms: termsOf(question, state, 0n), feeUnits, feeUnitsMax };
}

/** Returns why a loan of energy cannot be made or reclaimed now; null if it can. */
async function whyNoLoan(
  { ask, host }: TronRpc,
  payer: string,
  to: string,
  form: 'delegate' | 'reclaim',
  units: bigint,
  receiver: Awaited<ReturnType<typeof readKind>>,
): Promise<string | null> {
  const [from, shown] = [tronAddress.format(payer), tronAddress.format(to)];
  if (form === 'delegate') {
    if (receiver === null) return `${shown} must be sent some TRX before it can be lent energy`;
    const value = await ask({ path: LENDABLE_PATH, body: { owner_address: wireAddress(payer), type: ENERGY } });
    const lendable = readWhole(value, 'max_size', { path: LENDABLE_PATH, host });
    if (lendable >= units) return null;
    const more = formatUnits(units - lendable, SUN_DECIMALS);
    return `wallet ${from} has too little unlent stake: stake ${more} TRX more`;
  }
  const body = { fromAddress: wireAddress(payer), toAddress: wireAddress(to) };
  const value = await ask({ path: LOANS_PATH, body });
  const loans = isFields(value) && Array.isArray(value.delegatedResource) ? value.delegatedResource : [];
  const lent = loans.reduce((sum: bigint, loan: unknown) => {
    return sum + readWhole(loan, 'frozen_balance_for_energy', { path: LOANS_PATH, host });
  }, 0n);
  return lent >= units
    ? null
    : `wallet ${from} has not lent ${shown} that much energy: it may have been reclaimed already`;
}

/**
 * Reads the state at the head.
 * @throws Fault transient
 */
async function askState(node: TronRpc, payerKey: string): Promise<State> {
  const { ask, host } = node;
  const [head, solid, parameters, native, resources] = await Promise.all([
    readHeaderAt(node, BLOCK_PATH, null),
    readHeaderAt(node, SOLID_BLOCK_PATH, null),
    ask({ path: PARAMETERS_PATH, body: {} }),
    readNative(node, payerKey),
    ask({ path: RESOURCE_PATH, body: { address: wireAddress(payerKey) } }),
  ]);
  if (!head || !solid) throw nonsense({ path: SOLID_BLOCK_PATH, host }, 'knows no newest block');
  const prices = readPrices(parameters, { path: PARAMETERS_PATH, host });
  const isThere = native !== null && !isUnknown(resources);
  const allowances = readAllowances(resources, isThere, prices, { path: RESOURCE_PATH, host });
  return { head: head.ref, solid: solid.ref, prices, native, allowances };
}

/**
 * Returns terms that refer to a block that is never replaced. Two payments of one amount to one payee must be different
 * transactions, or the second would be mistaken for the first. Within this process each has a time of its own. After a
 * restart, the expiration distinguishes intents.
 */
function termsOf({ draft, stamp, expiryMs }: QuoteQuestion, { head, solid }: State, feeLimit: bigint): Terms {
  const headMs = head.timeS * 1000;
  const spread = createHash('sha256').update(draft.intent.id).digest().readUInt32BE() % expirySpreadMs(expiryMs);
  return {
    ref_block_number: String(solid.number),
    ref_block_hash: referenceOf(solid),
    timestamp_ms: String(stamp(headMs)),
    expiration_ms: String(headMs + expiryMs + spread),
    fee_limit: feeLimit.toString(),
  };
}

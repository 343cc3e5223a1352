/**
 * Quotes a Solana payout: whether it would succeed now, its blockhash, and its cost.
 *
 * Deposits of accounts are requested each time, because the price of a byte is being lowered in steps (SIMD-0437).
 */
import { isFields } from '../../../core/fields.ts';
import { isPayback } from '../../../core/intent.ts';
import { unitsOf } from '../../../core/ledger.ts';
import { formatUnits } from '../../../core/money.ts';
import type { Quote } from '../../../core/spend.ts';
import type { Token } from '../../../core/transfer.ts';
import { nonsense } from '../../json-rpc.ts';
import { refuse } from '../../quote-refusals.ts';
import type { SpendDraft } from '../../spend.ts';
import { type ChainAccount, readTokenAccount, unitsHeldBy } from '../account.ts';
import { LAMPORT_DECIMALS, solanaAddress } from '../address.ts';
import { LOCK_BYTES } from '../lock.ts';
import { isSpendable } from '../offline-keys.ts';
import { SYSTEM } from '../programs.ts';
import { tokenAddress } from '../token-account.ts';
import type { SolanaRpc } from './payout-rpc.ts';
import { isSet, lockAddressOf } from './refund-lock.ts';

const TOKEN_ACCOUNT_BYTES = 165;
const LAMPORTS_PER_SIGNATURE = 5_000n;
const MICRO = 1_000_000n;
/**
 * Compute units: twice the use on a local Solana VM (`test/chains/solana/spend-svm.test.ts`), because the number of
 * steps to find a token account's address varies. Unused units cost only their share of the priority fee.
 */
const REFUND_UNITS = 90_000n;
const SWEEP_UNITS_PER_OWNER = 15_000n;
/** The highest price offered for a compute unit, in micro-lamports. No payout is more urgent. */
const UNIT_PRICE_MAX = 200_000n;

const sol = (lamports: bigint): string => `${formatUnits(lamports, LAMPORT_DECIMALS)} SOL`;

/**
 * Quotes a draft.
 * @throws Fault transient
 */
export async function askQuote(node: SolanaRpc, draft: SpendDraft): Promise<Quote> {
  const { intent, payer, owners, to, token } = draft;
  if (intent.kind === 'gas') return refuse('would_fail', 'the gas wallet pays for sweeps here: no address needs coins');
  const isRefund = isPayback(intent);
  if (!isSpendable(to))
    return refuse('destination_invalid', `${solanaAddress.format(to)} is not an address that a wallet can have`);
  await node.expectChain();
  const accountsOf = (keys: readonly string[]) => (token ? keys.map((key) => tokenAddress(key, token.address)) : []);
  const sources = accountsOf(owners);
  const targets = accountsOf([to]);
  const locks = isRefund ? [lockAddressOf(draft)] : [];
  const named = [solanaAddress.format(payer), solanaAddress.format(to), ...locks, ...targets, ...sources];
  const [accounts, block, accountDeposit, lockDeposit, unitPrice] = await Promise.all([
    node.accounts(named, 'confirmed'),
    latestBlock(node),
    node.whole('getMinimumBalanceForRentExemption', [TOKEN_ACCOUNT_BYTES]),
    node.whole('getMinimumBalanceForRentExemption', [LOCK_BYTES]),
    askUnitPrice(node, [...targets, ...sources]),
  ]);
  const [wallet = null, payee = null, ...rest] = accounts;
  const [target = null, ...held] = rest.slice(locks.length);

  const [lock] = locks;
  if (lock !== undefined && isSet(rest[0] ?? null)) {
    return refuse(
      'refund_lock_set',
      `the lock of refund ${intent.id} is set on the chain: the refund was paid before. Look in an explorer for the transaction that ` +
        `set ${lock}, then run \`quayside payout resolve ${intent.id} --paid TRANSACTION\``,
    );
  }
  const ofAccount = BigInt(lockDeposit);
  const bad = refuseDestination(draft, payee, target, ofAccount) ?? (token && refuseHoldings(draft, token, held));
  if (bad) return bad;

  const unitLimit = isRefund ? REFUND_UNITS : SWEEP_UNITS_PER_OWNER * BigInt(owners.length);
  const signatures = BigInt(isRefund ? 1 : owners.length + 1);
  const depositUnits = isRefund ? ofAccount + (target || !token ? 0n : BigInt(accountDeposit)) : 0n;
  const feeUnitsMax = signatures * LAMPORTS_PER_SIGNATURE + (unitLimit * unitPrice + MICRO - 1n) / MICRO + depositUnits;
  // An account whose balance falls below its own deposit would be deleted.
  const needed = feeUnitsMax + ofAccount + (token ? 0n : unitsOf(intent));
  const coins = wallet?.lamports ?? 0n;
  if (coins < needed) {
    return refuse(
      'native_short',
      `${solanaAddress.format(payer)} holds ${sol(coins)} but needs ${sol(needed)} for fee and deposits: send ${sol(needed - coins)} to it`,
      { units: needed - coins },
    );
  }
  return {
    terms: {
      blockhash: block.hash,
      last_valid_block_height: String(block.lastValidHeight),
      compute_unit_limit: unitLimit.toString(),
      compute_unit_price: unitPrice.toString(),
      ...(isRefund && { lock_deposit_lamports: String(lockDeposit) }),
    },
    feeUnits: feeUnitsMax,
    feeUnitsMax,
  };
}

/**
 * Refuses a draft whose paying accounts hold too little or are frozen.
 * @param held the accounts that pay, in the order of `draft.owners`
 */
function refuseHoldings(
  { intent, owners }: SpendDraft,
  token: Token,
  held: readonly (ChainAccount | null)[],
): Quote | null {
  const wanted = intent.kind === 'sweep' ? intent.from.map(({ units }) => units) : [intent.units];
  const missing = held.findIndex((account, at) => unitsHeldBy(owners[at] ?? '', account) < (wanted[at] ?? 0n));
  if (missing >= 0) {
    const units = unitsHeldBy(owners[missing] ?? '', held[missing] ?? null);
    const text = (amount: bigint) => formatUnits(amount, token.decimals, 2);
    const missingUnits = (wanted[missing] ?? 0n) - units;
    return refuse(
      'token_short',
      `${solanaAddress.format(owners[missing] ?? '')} holds ${text(units)} ${token.symbol} but must pay ${text(wanted[missing] ?? 0n)}: send ${text(missingUnits)} ${token.symbol} to it`,
      { units: missingUnits },
    );
  }
  const frozen = held.findIndex((account) => readTokenAccount(account)?.isFrozen === true);
  if (frozen >= 0) return refuse('would_fail', `the issuer has frozen ${solanaAddress.format(owners[frozen] ?? '')}`);
  return null;
}

/** @param deposit the least that an account must hold, in lamports */
function refuseDestination(
  { intent, to, token }: SpendDraft,
  payee: ChainAccount | null,
  target: ChainAccount | null,
  deposit: bigint,
): Quote | null {
  const address = solanaAddress.format(to);
  if (payee && payee.owner !== solanaAddress.format(SYSTEM)) {
    return refuse(
      'destination_invalid',
      `${address} belongs to the program ${payee.owner}: it is not a wallet, and money sent to it may be lost`,
    );
  }
  if (!token) {
    if ((payee?.lamports ?? 0n) + unitsOf(intent) >= deposit) return null;
    return refuse('would_fail', `${address} would hold less than the ${sol(deposit)} that an account must hold`);
  }
  const account = readTokenAccount(target);
  if (account?.isFrozen)
    return refuse('destination_frozen', `the issuer has frozen the ${token.symbol} account of ${address}`);
  if (target && (account?.mint !== token.address || account.owner !== address)) {
    return refuse('destination_invalid', `the ${token.symbol} account of ${address} belongs to somebody else now`);
  }
  if (intent.kind === 'sweep' && !target) {
    return refuse(
      'destination_invalid',
      `the treasury ${address} has no ${token.symbol} account yet: send it a first ${token.symbol} from any wallet, which makes one`,
    );
  }
  return null;
}

async function latestBlock({ rpc, host }: SolanaRpc): Promise<Readonly<{ hash: string; lastValidHeight: number }>> {
  const origin = { method: 'getLatestBlockhash', host };
  const answer = await rpc.call(origin.method, [{ commitment: 'confirmed' }]);
  const { blockhash, lastValidBlockHeight } = isFields(answer) && isFields(answer.value) ? answer.value : {};
  if (
    typeof blockhash !== 'string' ||
    solanaAddress.parse(blockhash) === null ||
    !Number.isSafeInteger(lastValidBlockHeight)
  ) {
    throw nonsense(origin, 'answered without a block hash');
  }
  return { hash: blockhash, lastValidHeight: Number(lastValidBlockHeight) };
}

/** Returns the unit price that would have sufficed for these accounts in three quarters of the newest blocks. */
async function askUnitPrice({ rpc, host }: SolanaRpc, writable: readonly string[]): Promise<bigint> {
  const origin = { method: 'getRecentPrioritizationFees', host };
  const answer = await rpc.call(origin.method, [writable]);
  if (!Array.isArray(answer)) throw nonsense(origin, 'answered without a list of fees');
  const fees = answer.map((row) => (isFields(row) ? Number(row.prioritizationFee) : Number.NaN));
  if (!fees.every((fee) => Number.isSafeInteger(fee) && fee >= 0))
    throw nonsense(origin, 'answered with a malformed fee');
  const price = BigInt(fees.sort((a, b) => a - b)[Math.floor((fees.length * 3) / 4)] ?? 0);
  return price > UNIT_PRICE_MAX ? UNIT_PRICE_MAX : price;
}

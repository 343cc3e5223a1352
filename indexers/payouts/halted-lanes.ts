/**
 * What used the numbers of halted wallets: the transactions that are unknown here are read, and the payouts that they
 * paid are settled, so that nothing is paid a second time.
 */
import { type CoinNetwork, coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode, Spent } from '../../src/chains/spend.ts';
import { Fault, transient } from '../../src/core/fault.ts';
import type { Payout } from '../../src/core/payout.ts';
import type { Database } from '../../src/database/database.ts';
import type { HaltedLane } from '../../src/database/money-out.ts';
import { isPayment } from './exit-evidence.ts';
import { type ExitParts, settlePaid } from './exits.ts';

/** Numbers of a wallet that are read at once, besides those of its stuck payouts. */
export const NUMBERS_MAX = 200;
/** Open payouts that they are compared with, of each state. */
const COMPARED_MAX = 1_000;

/** What used one number of a halted wallet. */
export type UsedNumber = Readonly<{
  payer: string;
  nonce: number;
  spent: Spent | null;
  /** The payout that it paid, and that is settled by it. */
  settles: string | null;
  /** Why that was not possible. */
  refusal: string | null;
}>;

/** How far a halted wallet was read: `free` is the number after those that were, `left` how many it used from there. */
export type ReadLane = Readonly<{ payer: string; free: number; left: number }>;

export type LaneParts = Omit<ExitParts, 'node' | 'database'> &
  Readonly<{
    node: ExitParts['node'] & Pick<PayoutNode, 'count' | 'usedBy'>;
    database: ExitParts['database'] & Pick<Database, 'listPayouts'>;
  }>;

/**
 * Reads what used the first numbers of halted wallets that are unknown here, and settles what was paid by it.
 * @returns how far each wallet was read, and what used the numbers
 * @throws Fault transient if a node cannot be asked now
 */
export async function explainNumbers(parts: LaneParts, halted: readonly HaltedLane[]) {
  const lanes: ReadLane[] = [];
  const used: UsedNumber[] = [];
  for (const lane of halted) {
    const final = await finalNumber(parts, lane);
    const free = Math.max(lane.nextNonce, Math.min(final, lane.nextNonce + NUMBERS_MAX));
    lanes.push({ payer: lane.payer, free, left: Math.max(0, final - free) });
    for (const nonce of await strangeNumbers(parts, lane, free)) used.push(await settleNumber(parts, lane, nonce));
  }
  return { lanes, used };
}

/** Lets the wallets go on whose numbers were all read; the others stay halted, and begin after those that were. */
export async function passNumbers(
  database: Pick<Database, 'resumeLane' | 'raiseLane'>,
  network: HaltedLane['network'],
  lanes: readonly ReadLane[],
  nowMs: number,
): Promise<void> {
  for (const { payer, free, left } of lanes) {
    if (left === 0) await database.resumeLane(network, payer, free, nowMs);
    else await database.raiseLane(network, payer, free);
  }
}

/** Says that a wallet has used more numbers than were read. */
export const leftText = ({ payer, left }: ReadLane, { key, family }: Pick<CoinNetwork, 'key' | 'family'>): string =>
  `wallet ${chains[family].address.format(payer)} stays halted: ${left} more of its numbers are unknown here, and are ` +
  `read ${NUMBERS_MAX} at a time; run \`quayside payout resume ${key}\` again`;

/** @throws Fault transient `node_history_pruned` */
async function finalNumber({ node }: LaneParts, { network, payer }: HaltedLane): Promise<number> {
  const count = await node.count(payer);
  if (count?.final !== null) return count?.final ?? 0;
  const why = `the node of ${network} no longer has the final state, which counts the transactions of wallet ${payer}`;
  throw transient('node_history_pruned', `${why}: wait until finality no longer lags, or use an archive node`);
}

/** Returns the numbers of a wallet below a final one that no attempt here is known to have used, lowest first. */
async function strangeNumbers({ database }: LaneParts, lane: HaltedLane, free: number): Promise<number[]> {
  const { network, payer, nextNonce } = lane;
  const numbers = new Set<number>();
  for (const { id, wait } of await database.listPayouts({ network, state: 'stuck', limit: COMPARED_MAX })) {
    if (wait?.code !== 'payout_nonce_foreign') continue;
    for (const one of await database.listPayoutAttempts(id)) {
      if (one.payer === payer && one.nonce !== null && one.nonce < free && one.feeUnits === null)
        numbers.add(one.nonce);
    }
  }
  for (let nonce = nextNonce; nonce < free; nonce++) numbers.add(nonce);
  return [...numbers].sort((a, b) => a - b);
}

/** Reads what used a number, and settles the payout that it paid. */
async function settleNumber(parts: LaneParts, { network, payer }: HaltedLane, nonce: number): Promise<UsedNumber> {
  const spent = await parts.node.usedBy(payer, nonce);
  const used = { payer, nonce, spent, settles: null, refusal: null };
  if (!spent || (await parts.database.findAttemptOwner(spent.tx)) !== null) return used;
  const payout = await findPaid(parts, network, payer, spent);
  if (!payout) return used;
  try {
    await settlePaid(parts, payout, spent.tx, false);
    return { ...used, settles: payout.id };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...used, refusal: error.message };
  }
}

/** Returns the oldest open payout that a transaction has paid. */
async function findPaid({ database, wallets, rules }: LaneParts, network: string, payer: string, spent: Spent) {
  const open: Payout[] = [];
  for (const state of ['waiting', 'sent', 'stuck'] as const) {
    open.push(...(await database.listPayouts({ network: network as Payout['network'], state, limit: COMPARED_MAX })));
  }
  open.sort((a, b) => a.createdAtMs - b.createdAtMs);
  for (const payout of open) {
    const { intent } = payout;
    const wallet = rules.payer(intent);
    // A former wallet may have paid it.
    const isItsWallet = wallet.role !== 'collection' && (await wallets.ofRole(wallet.role)).includes(payer);
    const draft = await wallets.draft(intent, { payer: isItsWallet ? payer : undefined });
    if (draft.payer === payer && isPayment(spent, draft)) return payout;
  }
  return null;
}

/** Says what used a number that no payout explains. */
export function usedText({ payer, nonce, spent, refusal }: UsedNumber, network: CoinNetwork): string {
  const { key, family } = network;
  const { address } = chains[family];
  const number = `number ${nonce} of wallet ${address.format(payer)}`;
  if (!spent)
    return `${number}: used by a transaction that the node no longer finds; look for it in an explorer, or name an archive node in rpc_url and run this again`;
  const tokens = spent.tokens.map(
    ({ currency, to, units }) => `${coinText([network], key, currency, units)} to ${address.format(to)}`,
  );
  const { native } = spent;
  if (native) tokens.push(`${coinText([network], key, 'native', native.units)} to ${address.format(native.to)}`);
  const moved = tokens.length === 0 ? 'no money' : tokens.join(', ');
  return `${number}: ${spent.tx} moved ${moved}${refusal === null ? ', and no payout explains it' : `: ${refusal}`}`;
}

/**
 * Compares what deposit addresses hold on the chain with what their payments and sweeps leave by the database.
 *
 * @module
 */
import type { Node } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import { formatUnits } from '../../src/core/money.ts';
import type { Token } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Account, AccountSweep, Holder, NumberRange } from '../../src/database/evidence.ts';
import type { ListLine } from '../../src/evidence/block-list.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Difference } from './difference.ts';

/** Addresses that one query looks at, most of which hold nothing. */
const PAGE = 500;
/** Ours and the chain's clocks differ by less. A sweep that was final this long before a block is in an earlier one. */
const CLOCKS_APART_S_MAX = 900;
/** How long the follower has to read the block whose state the node showed. */
const READ_MS_MAX = 30_000;
const READ_POLL_MS = 250;
/** The node does not have the state, or does not show it. */
const LEFT_OUT: readonly string[] = ['node_history_pruned', 'node_method_missing', 'not_read_so_far'];

export type BalanceParts = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens'>;
  node: Pick<Node, 'holdings' | 'lookup'>;
  database: Pick<Database, 'holders' | 'accounts' | 'listNetworks'>;
  /** Whether this installation's signer sweeps. If not, money that left an address is no difference. */
  hasSigner: boolean;
  clock: Clock;
  /** Repeats what fails for an operating fault that may pass. */
  patiently<T>(read: () => Promise<T>): Promise<T>;
}>;

/** What was found on one page of addresses; `states` are the blocks between which the node's state was. */
export type BalancePage = Readonly<{
  lines: readonly Extract<ListLine, { kind: 'balance' }>[];
  differences: readonly Difference[];
  states: NumberRange;
}>;

/** Returns why balances cannot be compared at all, or null if the fault is another one. */
export const whyLeftOut = (error: unknown): string | null =>
  error instanceof Fault && LEFT_OUT.includes(error.code) ? error.message : null;

/**
 * Reads the balances of all addresses that hold something at the end of the range, or that something came to or left in
 * it.
 * @param at the last final block of the range: balances are those in its state where the node has it
 * @throws Fault one of `whyLeftOut` if the node does not have the state; other faults once the patience is over
 */
export async function* readBalances(
  parts: BalanceParts,
  range: NumberRange & Readonly<{ fromMs: number }>,
  at: BlockRef,
): AsyncGenerator<BalancePage> {
  const { network, database } = parts;
  const place = { network: network.key, pool: { family: network.family, mode: network.mode } };
  const found = createSweepFinder(parts, at);
  for (let after: number | null = 0; after !== null; ) {
    const page = await database.holders(place, range, after, PAGE);
    after = page.next;
    if (page.holders.length > 0) yield await readPage(parts, page.holders, at, found);
  }
}

async function readPage(
  parts: BalanceParts,
  holders: readonly Holder[],
  at: BlockRef,
  includedIn: SweepFinder,
): Promise<BalancePage> {
  const { network, node, database, patiently } = parts;
  const keys = holders.map(({ key }) => key);
  // Asking again does not bring a state back.
  const answer = await patiently(() =>
    node.holdings(keys, at).catch((error: unknown) => {
      if (error instanceof Fault && whyLeftOut(error) !== null) return error;
      throw error;
    }),
  );
  if (answer instanceof Fault) throw answer;
  const { units, ...states } = answer;
  await untilRead(parts, states.to);
  const accounts = new Map<string, Account>();
  for (const account of await database.accounts(network.key, holders, states.from)) {
    accounts.set(`${account.id} ${account.currency}`, account);
  }
  const lines: Extract<ListLine, { kind: 'balance' }>[] = [];
  const differences: Difference[] = [];
  for (const [row, { id, key }] of holders.entries()) {
    for (const token of network.tokens) {
      const account = accounts.get(`${id} ${token.symbol}`);
      const onChain = units[row]?.[token.symbol] ?? 0n;
      if (!account && onChain === 0n) continue;
      const allowed = account ? await balancesOf(account, states, includedIn) : [0n];
      const inLedger = allowed.find((one) => one === onChain) ?? allowed.at(-1) ?? 0n;
      const address = chains[network.family].address.format(key);
      lines.push({ kind: 'balance', address, currency: token.symbol, onChain, inLedger });
      const isExplained = onChain === inLedger || (onChain < inLedger && !parts.hasSigner);
      if (!isExplained) differences.push(differenceOf(address, token, states, onChain, inLedger));
    }
  }
  return { lines, differences, states };
}

function differenceOf(
  address: string,
  { symbol, decimals }: Token,
  { to }: NumberRange,
  onChain: bigint,
  inLedger: bigint,
): Difference {
  const isHigh = onChain > inLedger;
  const text = (units: bigint) => `${units < 0n ? '-' : ''}${formatUnits(units < 0n ? -units : units, decimals)}`;
  const apart = text(isHigh ? onChain - inLedger : inLedger - onChain);
  return {
    code: isHigh ? 'balance_high' : 'balance_low',
    message: `${address} holds ${text(onChain)} ${symbol} at block ${to}, ${apart} ${isHigh ? 'more' : 'less'} than its payments less its sweeps (${text(inLedger)})`,
  };
}

/** @throws Fault transient `not_read_so_far` */
async function untilRead({ network, database, clock }: BalanceParts, number: number): Promise<void> {
  const giveUpAtMs = clock.nowMs() + READ_MS_MAX;
  for (;;) {
    const read = (await database.listNetworks()).find((one) => one.network === network.key)?.cursor?.number ?? -1;
    if (read >= number) return;
    if (clock.nowMs() >= giveUpAtMs) {
      throw new Fault(
        'transient',
        'not_read_so_far',
        `the node only has the state of block ${number}, and the follower has read up to block ${read}`,
      );
    }
    await clock.sleep(READ_POLL_MS);
  }
}

/** Returns the number of the block that has a sweep; null if none has. A sweep long before counts as in block 0. */
type SweepFinder = (sweep: AccountSweep) => Promise<number | null>;

function createSweepFinder({ node, patiently }: BalanceParts, at: BlockRef): SweepFinder {
  /** Sweeps around the end of the range; each may have emptied many addresses. */
  const known = new Map<string, number | null>();
  const find = async (txs: readonly string[]): Promise<number | null> => {
    for (const tx of txs) {
      const report = await patiently(() => node.lookup(tx));
      if (report.kind === 'mined' && report.succeeded) return report.number;
    }
    return null;
  };
  return async ({ id, txs, settledAtMs }) => {
    if (settledAtMs !== null && settledAtMs < (at.timeS - CLOCKS_APART_S_MAX) * 1000) return 0;
    const before = known.get(id);
    if (before !== undefined) return before;
    const number = await find(txs);
    known.set(id, number);
    return number;
  };
}

/** Returns what an account held in each state from one block to another, oldest first; at least one amount. */
async function balancesOf(
  { received, later, sweeps }: Account,
  { from, to }: NumberRange,
  includedIn: SweepFinder,
): Promise<bigint[]> {
  let held = received;
  const steps = later.filter(({ number }) => number <= to).map(({ number, units }) => ({ number, units }));
  for (const sweep of sweeps) {
    const number = await includedIn(sweep);
    if (number === null || number > to) continue;
    if (number <= from) held -= sweep.units;
    else steps.push({ number, units: -sweep.units });
  }
  const all = [held];
  for (const { units } of steps.sort((one, other) => one.number - other.number)) {
    held += units;
    all.push(held);
  }
  return all;
}

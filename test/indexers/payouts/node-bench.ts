/**
 * A payout engine with its chain's own clients in front of a simulated node, a real signing service and a real
 * database. Time passes only when the test says so, and blocks come with it.
 */
import * as assert from 'uvu/assert';
import { matchContent } from '../../../indexers/follower/matcher.ts';
import { createPayer } from '../../../indexers/payouts/engine.ts';
import { createSweepWatch, readOwners } from '../../../indexers/payouts/sweep-watch.ts';
import { createSweeper, type SweeperOptions } from '../../../indexers/payouts/sweeper.ts';
import type { Family } from '../../../src/chains/chain.ts';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import { chains } from '../../../src/chains/index.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import type { PayoutNode } from '../../../src/chains/spend.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import { Fault } from '../../../src/core/fault.ts';
import type { HotRole } from '../../../src/core/intent.ts';
import { isRefused } from '../../../src/core/spend.ts';
import type { SweepPolicy } from '../../../src/core/sweep.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { openLog } from '../../../src/lib/log.ts';
import { approverOf, signApproval } from '../../../src/signer/approval.ts';
import { thawText } from '../../../src/signer/freeze.ts';
import { overSocket } from '../../sim/payout-engine.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { ingestStep } from '../../support/ingested-chain.ts';
import { networkReport } from '../../support/network-report.ts';
import { simulatedChains, startSimulatedNode } from '../../support/simulated-node.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { newSigner, refundOf, removeSigners, seed } from '../../support/temp-signer.ts';
import { testNetwork } from '../../support/test-network.ts';

export const network = 'test:one' as const;
const spendings = { evm: evmSpending, tron: tronSpending, solana: solanaSpending } as const;
/** Base units of one native coin. */
export const COIN = { evm: 10n ** 18n, tron: 1_000_000n, solana: 1_000_000_000n } as const;
/** How often balances are read, and a little more. */
export const READ_MS = 61_000;
const BLOCK_MS = { evm: 12_000, tron: 3_000, solana: 400 } as const;
const FEE_MAX = { evm: '0.05', tron: '50', solana: '0.05' } as const;
/** Final soon, as the follower reads only final blocks here. */
const FINAL_BLOCKS = 3;
const FIRST_BLOCKS = 5;

/** Keys that are not of the seed, one of each family. */
export const thief = {
  evm: 'dd'.repeat(20),
  tron: 'dd'.repeat(20),
  solana: solanaSpending.derive(new Uint8Array(64).fill(9), { role: 'gas' }).key,
} as const;

export type NodeBench = Awaited<ReturnType<typeof openNodeBench>>;

export type NodeBenchOptions = Readonly<{
  /** Which wallets pay, by the signer's policy; the first if absent. */
  wallets?: Readonly<{ refund: number; gas: number }>;
  /** `payout_expiry_s`, in ms. */
  expiryMs?: number;
  /** After a gap, the engine settles in. */
  settles?: true;
  /** When deposit addresses are swept by the engine, and at which cost. */
  sweep?: SweepPolicy;
  /** The price of gas in the next block. */
  price?: () => bigint;
  /** Between the engine and the chain's client. */
  through?: (node: PayoutNode) => PayoutNode;
}>;

const closers: (() => unknown)[] = [];

/** Closes all that was opened, the newest first. */
export async function closeBenches(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

/** Opens a real signing service without a socket, and the signer that asks it. */
function openSigner(family: Family, clock: HandClock, wallets?: NodeBenchOptions['wallets']) {
  const { chainId, tokens } = simulatedChains[family];
  const spending = spendings[family];
  const treasury = spending.derive(new Uint8Array(64).fill(3), { role: 'collection', index: 0 }).key;
  const settings = {
    family,
    chain_id: chainId,
    tokens: [...tokens],
    treasury: chains[family].address.format(treasury),
    fee_max: FEE_MAX[family],
    caps: Object.fromEntries(tokens.map(({ symbol }) => [symbol, { transaction: '100', hour: '100', day: '100' }])),
    gas_caps: { transaction: '1', day: '1' },
    ...(wallets && { wallets }),
  };
  const approvers = [{ name: 'Anna', key: approverOf(new Uint8Array(32).fill(1)) }];
  const { service, journal } = newSigner({
    settings: { version: 1, approvers, networks: { [network]: settings } },
    clock,
    spendings: new Map([[family, spending]]),
  });
  closers.push(removeSigners);
  return { service: service(), journal: journal(), signer: overSocket(service), treasury };
}

function sweepsOn(parts: SweeperOptions & Readonly<{ clock: HandClock }>) {
  const { network: settings, database } = parts;
  const sweeper = createSweeper(parts);
  /** Sleeping lets time pass at once. */
  const clock: Clock = {
    nowMs: parts.clock.nowMs,
    async sleep(ms) {
      parts.clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  /** Plans sweeps of what is due, without saving them. */
  const judgeSweeps = async (policy = settings.sweep) =>
    sweeper.plan(await readOwners(settings, database, clock), policy);
  return {
    sweeper,
    judgeSweeps,
    /** Plans sweeps, and saves them. @returns their ids */
    planSweeps: async (): Promise<readonly string[]> => sweeper.commit(await judgeSweeps()),
    /** Makes the watch that plans sweeps by itself. */
    sweepWatch: () => createSweepWatch({ network: settings, sweeper, database, clock, log: openLog('test', 'silent') }),
  };
}

const settingsOf = (family: Family, { sweep, expiryMs }: NodeBenchOptions) => ({
  ...testNetwork({ name: 'one', family, blockTimeMs: BLOCK_MS[family], ...(sweep && { sweep }) }),
  ...(expiryMs && { payoutExpiryMs: expiryMs }),
});

export async function openNodeBench(family: Family, options: NodeBenchOptions = {}) {
  const { wallets, expiryMs, settles, price, through } = options;
  const clock = handClock(1_795_000_000_000);
  const { chainId, tokens } = simulatedChains[family];
  const spending = spendings[family];
  const sim = await startSimulatedNode({
    family,
    seed: 'payouts',
    chainId,
    tokens,
    clock,
    finalityDistance: FINAL_BLOCKS,
    price,
  });
  closers.push(() => sim.close());
  for (let left = FIRST_BLOCKS; left > 0; left--) sim.world.mine();
  const { database, file, close } = openTempDatabase();
  closers.push(close);
  const { service, journal, signer, treasury } = openSigner(family, clock, wallets);
  const limits = { requestTimeoutMs: 5_000, responseBytesMax: 1 << 22 };
  const place = { url: sim.httpUrl, chainId, tokens };
  const payouts = await chains[family].payouts();
  const own = payouts.openPayoutNode({ ...place, ...limits, finalDepth: 10, ...(expiryMs && { expiryMs }) });
  const node = through?.(own) ?? own;
  const chainNode = (await chains[family].node()).openNode({
    ...place,
    ...limits,
    concurrencyMax: 4,
    idleMsMax: 60_000,
  });
  closers.push(
    () => own.close(),
    () => chainNode.close(),
  );
  const wire = await chains[family].wire();
  const settings = settingsOf(family, options);
  const rules = chains[family].spendRules;
  const start = () =>
    createPayer({
      network: settings,
      rules: settles ? rules : { ...rules, settleMs: undefined },
      node,
      chainNode,
      signer,
      secondOpinion: async () => [],
      database,
      clock,
      log: openLog('test', 'silent'),
    });
  let payer = start();

  const decimals = Object.fromEntries(tokens.map((token) => [token.symbol, token.decimals]));
  /** Keys of deposit addresses that the follower watches. */
  const deposits = new Set<string>();

  /** Saves the final blocks that are new, as a follower does. */
  async function follow(): Promise<void> {
    const final = await chainNode.finalized();
    const wallets = await database.wallets.listOwn(network);
    const keys = new Set(wallets.map(({ key }) => key));
    const matcher = {
      match: async (content: Parameters<typeof wire.decode>[0]) =>
        wire.decode(content, tokens, (key) => deposits.has(key), keys),
    };
    const [known] = await database.blocks.tail(network, 1);
    let tip = known ?? null;
    while (final && (tip?.number ?? 0) < final.number) {
      const from: number = (tip?.number ?? 0) + 1;
      const refs = await chainNode.range(from, Math.min(final.number, from + 99));
      const connect = [];
      for (const block of refs) {
        if (block.number <= final.number)
          connect.push({ block, transfers: await matchContent(chainNode, matcher, block) });
      }
      const at = { network, family, nowMs: clock.nowMs(), expectTip: tip?.hash ?? null, readThroughS: 0 };
      const ownWallet = Math.max(0, ...wallets.map(({ seq }) => seq));
      const floor = connect.at(-1)?.block.number ?? null;
      assert.is(await database.blocks.ingest(ingestStep({ ...at, ownWallet, decimals, connect, floor })), 'done');
      tip = refs.at(-1) ?? tip;
    }
  }

  /** Lets the engine run once. */
  async function look(): Promise<string | null> {
    await database.networks.report(networkReport(network, clock.nowMs()));
    const fault = await payer.look().catch((error: unknown) => {
      if (error instanceof Fault) return error;
      throw error;
    });
    return fault?.code ?? null;
  }

  /** Lets time pass, and as many blocks come as the chain makes meanwhile. */
  function advance(ms: number): void {
    for (let left = ms; left > 0; left -= BLOCK_MS[family]) {
      clock.advance(Math.min(left, BLOCK_MS[family]));
      sim.world.mine();
    }
  }

  const walletKey = (role: HotRole, index: number) => spending.derive(seed, { role, index });
  const depositKey = (index: number) => spending.derive(seed, { role: 'collection', index });

  /** Pays from the refund wallet, of which neither the database nor the signer's journal knows. @returns the id */
  async function payUnknown(id: string, to: string, units: bigint): Promise<string> {
    const payer = walletKey('refund', 0);
    const intent = refundOf(id, units, { network, to });
    const lock = spending.refundLock?.(payer, id);
    const token = tokens.find(({ symbol }) => symbol === intent.currency) ?? null;
    const draft = { intent, payer: payer.key, owners: [payer.key], to, token, ...(lock && { lock }) };
    const quote = await own.quote(draft, (await own.count(payer.key))?.head ?? null, []);
    assert.ok(!isRefused(quote), `it is quoted: ${Object(quote).message}`);
    const order = { network: { chainId, tokens, treasury, feeUnitsMax: 10n ** 30n }, intent, terms: quote.terms };
    const { tx, bytes } = spending.sign(order, [payer]);
    assert.equal(await own.broadcast(bytes), { kind: 'accepted' });
    return tx;
  }

  /** Lets time pass, saves what has become final, and lets the engine run once. @returns the code of what it reports */
  async function pass(ms: number): Promise<string | null> {
    advance(ms);
    await follow();
    return look();
  }

  // The last run has ended just now.
  await database.engines.beat(network, clock.nowMs());
  await database.engines.settle(network, null);
  // The chain of the start is read first.
  await look();
  assert.is(await pass(READ_MS), null);

  return {
    family,
    sim,
    database,
    file,
    signer,
    service,
    journal,
    node,
    clock,
    tokens,
    treasury,
    advance,
    look,
    pass,
    walletKey,
    ...sweepsOn({ network: settings, rules, node, signer, database, clock }),
    /** Lets minutes pass in which balances are read. @returns what the engine reported */
    async passMinutes(minutes: number): Promise<(string | null)[]> {
      const reported: (string | null)[] = [];
      for (let left = minutes; left > 0; left--) reported.push(await pass(READ_MS));
      return reported;
    },
    depositKey,
    /** Ends the signer's freeze, as its approver. */
    thawSigner(): void {
      const { fingerprint, freeze } = service.freezeState();
      if (!freeze) return;
      const untilS = Math.floor(clock.nowMs() / 1000) + 3600;
      service.thaw(signApproval(new Uint8Array(32).fill(1), thawText(fingerprint, freeze), untilS));
    },
    /** Starts another engine in place of the one that ran. */
    restart(): void {
      payer = start();
    },
    /** Adds deposit addresses to the database, and watches them. */
    async addDeposits(keys: readonly string[], firstIndex = 0): Promise<void> {
      await database.addresses.add({ family, mode: 'test', source: 'signer', firstIndex, keys });
      for (const key of keys) deposits.add(key);
    },
    payUnknown,
    /** Plans a refund to somebody. @returns its id */
    async planRefund(id: string, to: string, units: bigint, waitMs = 0): Promise<string> {
      const intent = refundOf(id, units, { network, to });
      const nowMs = clock.nowMs();
      await database.payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs + waitMs, nowMs }]);
      return id;
    },
    /** Returns what a wallet has paid to a payee, in units. */
    paid: (from: string, to: string): bigint[] =>
      sim.world.transfers().flatMap((one) => (one.from === from && one.to === to ? [one.units] : [])),
  };
}

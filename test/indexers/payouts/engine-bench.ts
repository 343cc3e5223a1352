/**
 * A payout engine on a simulated chain, for tests without crashes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createPayer, type Payer } from '../../../indexers/payouts/engine.ts';
import type { Node } from '../../../src/chains/chain.ts';
import { chains } from '../../../src/chains/index.ts';
import type { PayoutNode, SpendRules } from '../../../src/chains/spend.ts';
import { Fault } from '../../../src/core/fault.ts';
import type { Database } from '../../../src/database/database.ts';
import type { NetworkState } from '../../../src/database/networks.ts';
import { openLog } from '../../../src/lib/log.ts';
import type { PayingSigner } from '../../../src/signer/client.ts';
import { type Chain, createChain } from '../../sim/payout-chain.ts';
import { overSocket } from '../../sim/payout-engine.ts';
import { familyOf, keyOf, macOf, openSimSigner, tokens } from '../../sim/payout-signer.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { refundIntent } from '../../support/intents.ts';
import { networkReport } from '../../support/network-report.ts';
import { plainSweepPolicy } from '../../support/plain-policies.ts';
import { createRandom } from '../../support/random.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testsIn } from '../../support/tests-in.ts';

export const network = 'test:one' as const;
/** A follower's node that shows a chain up to this block. */
export function startOf(number: number): Pick<Node, 'head' | 'finalized'> {
  const block = { hash: `b${number}`, parent: '', number, timeS: 0 };
  return { head: async () => block, finalized: async () => block };
}
/** An engine that never settles in. */
export const rules: SpendRules = { ...chains[familyOf.sequence].spendRules, settleMs: undefined };

export type Bench = Readonly<{
  database: Database;
  clock: HandClock;
  chain: Chain;
  payer: Payer;
  report(state: NetworkState): Promise<void>;
  plan(...ids: readonly string[]): Promise<void>;
  /**
   * Lets time pass, mines a block, and lets the engine run once.
   * @returns what it reports
   */
  pass(): Promise<Fault | null>;
  /** Restarts the signer with a policy that names this refund wallet. */
  useWallet(index: number): void;
  alarms(): Promise<string[]>;
  /** The chain's own client, and the real signer. */
  own: Readonly<{ node: PayoutNode; signer: PayingSigner }>;
  /** Answers in place of theirs, from now on. */
  instead: { node: Partial<PayoutNode>; signer: Partial<PayingSigner>; opinion: readonly string[] };
}>;
type Change = Readonly<{
  chainNode?: Pick<Node, 'head' | 'finalized'>;
  /** After a gap, it waits. */
  settles?: true;
}>;

/** Returns what has the members of `own`, or at each moment those in its place. */
const through = <T extends object>(own: T, instead: () => Partial<T>): T =>
  new Proxy(own, { get: (_, name) => Reflect.get({ ...own, ...instead() }, name) });

type PayerParts = Parameters<typeof createPayer>[0];

/** An engine that never settles in, on a chain of no blocks, unless parts are named. */
export const openPayer = (
  parts: Pick<PayerParts, 'node' | 'signer' | 'database' | 'clock'> & Partial<PayerParts>,
): Payer =>
  createPayer({
    network: {
      key: network,
      family: 'evm',
      mode: 'test',
      tokens,
      blockTimeMs: 5000,
      reorgDepthMax: 3,
      sweep: plainSweepPolicy,
    },
    rules,
    chainNode: startOf(0),
    secondOpinion: async () => [],
    log: openLog('test', 'silent'),
    ...parts,
  });

/** An engine on a chain without trouble, until the test puts something in the place of its node or its signer. */
async function onBench(change: Change, work: (bench: Bench) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-payer-'));
  const temp = openTempDatabase();
  const clock = handClock();
  const signing = openSimSigner(join(folder, 'signer.db'), clock);
  const { database } = temp;
  const chain = createChain('sequence', createRandom('payer'), () => {});
  const serviceOf = (refund: number) => signing.service(network, 'sequence', { refund, gas: 0 });
  let service = serviceOf(0);
  const own = { node: chain.node(), signer: overSocket(() => service) };
  const instead: Bench['instead'] = { node: {}, signer: {}, opinion: [] };
  const payer = openPayer({
    ...(change.settles && { rules: chains[familyOf.sequence].spendRules }),
    ...(change.chainNode && { chainNode: change.chainNode }),
    node: through(own.node, () => instead.node),
    signer: through(own.signer, () => instead.signer),
    secondOpinion: async () => instead.opinion,
    database,
    clock,
  });
  const report = (state: NetworkState) => database.networks.report(networkReport(network, clock.nowMs(), { state }));
  try {
    await work({
      database,
      clock,
      chain,
      payer,
      report,
      async plan(...ids) {
        const nowMs = clock.nowMs();
        const plans = ids.map((id) => {
          const refund = refundIntent({ id, network, to: keyOf({ role: 'gas' }) });
          const intent = { ...refund, mac: macOf(refund) };
          return { intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs };
        });
        await database.payouts.plan(plans);
      },
      async pass() {
        clock.advance(10_000);
        chain.step();
        await report('following');
        return payer.look().catch((error: unknown) => {
          if (error instanceof Fault) return error;
          throw error;
        });
      },
      useWallet(index) {
        service = serviceOf(index);
      },
      alarms: async () => (await database.alarms.list(100)).map(({ code }) => code),
      own,
      instead,
    });
  } finally {
    temp.close();
    signing.close();
    rmSync(folder, { recursive: true });
  }
}

/** Registers tests that have such an engine each. */
export const benchTests = (change: Change = {}) =>
  testsIn((work: (bench: Bench) => Promise<void>) => onBench(change, work));

export async function untilSettled({ pass, database }: Bench, id: string): Promise<void> {
  for (let n = 0; n < 60; n++) {
    await pass();
    if ((await database.payouts.find(id))?.settledAtMs) return;
  }
  assert.unreachable(`${id} is ${JSON.stringify((await database.payouts.find(id))?.wait)}`);
}

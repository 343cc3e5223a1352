/**
 * A machine of a simulated history that can be put back to an earlier state, database and signer's journal together,
 * while the chain goes on. A follower of its own reads what is final, as the indexer does.
 *
 * @module
 */
import * as assert from 'uvu/assert';
import type { RunMark, RunMarks } from '../../indexers/payouts/run-mark.ts';
import { isPayback } from '../../src/core/intent.ts';
import type { ChainTransfer, NetworkKey } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { type Base, type Bench, copy } from './payout-bench.ts';
import { type Chain, type Mined, signedIntents } from './payout-chain.ts';
import type { SimSigner } from './payout-signer.ts';

export type Machine = Readonly<{
  marks: RunMarks;
  blocks(): Readonly<{ head: number; final: number }>;
  signer(): SimSigner;
  /** Saves the final blocks that the database does not have. */
  follow(): Promise<void>;
  /** Remembers the present state of the database and the journal. */
  keep(): void;
  /** Puts both back to the state that was remembered last. */
  putBack(): void;
  close(): void;
}>;

export function createMachine(bench: Bench, network: NetworkKey, chain: Chain, clock: Clock): Machine {
  let mark: RunMark | 'void' = { atMs: clock.nowMs(), journalId: 0, isClear: true, untilMs: null };
  let signer = bench.openSigner();
  let kept = signer.copy();
  copy(bench.main, bench.other, network);

  return {
    marks: {
      read: () => mark,
      write(next) {
        mark = next;
      },
    },
    blocks: () => ({ head: chain.blocks().length, final: chain.final().length }),
    signer: () => signer,
    follow: () => followFinal(bench.main, network, chain, clock.nowMs()),
    keep() {
      copy(bench.main, bench.other, network);
      kept = signer.copy();
    },
    putBack() {
      copy(bench.other, bench.main, network);
      signer.close();
      signer = bench.openSigner(kept);
      mark = 'void';
    },
    close: () => signer.close(),
  };
}

async function followFinal({ database }: Base, network: NetworkKey, chain: Chain, nowMs: number): Promise<void> {
  const [tip] = await database.tail(network, 1);
  const known = tip?.number ?? 0;
  if (chain.final().length <= known) return;
  const hashOf = (number: number) => (number === 0 ? '' : `${network} block ${number}`);
  const connect = chain
    .final()
    .slice(known)
    .map((mined, at) => {
      const number = known + at + 1;
      const block = { hash: hashOf(number), parent: hashOf(number - 1), number, timeS: Math.floor(nowMs / 1000) };
      return { block, transfers: mined.flatMap(transferOf) };
    });
  const wallets = await database.listOwnWallets(network);
  if (wallets.length === 0) return;
  const outcome = await database.ingest({
    ...{ network, family: 'evm', expectTip: tip?.hash ?? null, watchedThroughId: Number.MAX_SAFE_INTEGER },
    ...{ ownWalletId: Math.max(...wallets.map(({ id }) => id)), decimals: {}, dustFloorPar: 0n, drop: [] },
    ...{ connect, confirm: [], floor: connect.at(-1)?.block.number ?? null, readThroughS: 0, nowMs },
  });
  assert.is(outcome, 'done');
}

function transferOf({ tx, intentId, payer, paid }: Mined): ChainTransfer[] {
  const intent = paid ? signedIntents.get(intentId) : undefined;
  if (!intent || !isPayback(intent)) return [];
  const { currency, to, units } = intent;
  return [{ tx, index: 0, currency, from: payer, to, units, isOutgoing: true }];
}

/**
 * An engine's turn: its right to ask the signer for signatures on a network, and the proof that this database knows of every signature there is.
 * @module
 */
import { type Fault, permanent } from '../../src/core/fault.ts';
import { judgeRefusal } from '../../src/core/payout.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Signer } from '../../src/signer/signer.ts';
import type { Store } from '../../src/database/database.ts';

const PAGE = 100;

export interface PayoutTurn {
  readonly fence: number;
  /**
   * Reads what the signer's journal has beyond what is recorded here, and records it. After each signature, before its bytes are used.
   * @throws Fault permanent `payouts_not_adopted`
   */
  follow(): Promise<void>;
}

/** This database is not the one that the signer served last. Both say what a person must do. */
const notAdopted = (network: NetworkKey, why: string): Fault =>
  permanent(
    'payouts_not_adopted',
    `${why}, so this database is older than what was signed, or another one is in use. Nothing is paid out. Make sure that no other installation uses this signer, then \`quayside payouts adopt ${network}\``,
  );

/** The signer's journal is older than this database: it no longer knows all that it must not sign again. */
export const journalBehind = (why: string): Fault =>
  permanent(
    'signer_journal_behind',
    `the signer's journal was put back to an earlier state: ${why}. Nothing is paid out. Put the newest signer.db back`,
  );

/** True for faults that end a turn: whatever is signed next could be a second payment. */
export const endsTurn = ({ code }: Fault): boolean =>
  code === 'payouts_not_adopted' || code === 'signer_journal_behind' || judgeRefusal(code) === 'stop';

/**
 * Takes the next turn.
 * @throws Fault permanent `payouts_not_adopted`, `signer_journal_behind`; what the signer and the store throw
 */
export async function takeTurn(
  network: NetworkKey,
  signer: Signer,
  store: Pick<Store, 'nextFence' | 'listEngines' | 'recordSigned'>,
  nowMs: number,
): Promise<PayoutTurn> {
  const served = await signer.fence(network);
  const fence = await store.nextFence(network, served, nowMs);
  if (fence === null)
    throw notAdopted(network, `the signer has served turn ${served} of ${network}, which is unknown here`);
  let journalId = (await store.listEngines()).find((engine) => engine.network === network)?.journalId ?? 0;

  async function follow(): Promise<void> {
    for (;;) {
      const entries = await signer.journal(network, journalId, PAGE);
      const last = entries.at(-1);
      if (!last) return;
      const outcome = await store.recordSigned(network, entries);
      if (outcome.kind === 'stray') {
        const { id, intent, generation, attempt } = outcome.signature;
        const name = `${intent.kind} ${intent.id}, generation ${generation}, attempt ${attempt}`;
        throw notAdopted(
          network,
          `entry ${id} of the signer's journal (${name}) was not asked for here on these terms`,
        );
      }
      journalId = Math.max(journalId, last.id);
    }
  }

  if (journalId > 0) {
    const [known] = await signer.journal(network, journalId - 1, 1);
    if (known?.id !== journalId) throw journalBehind(`entry ${journalId} of ${network} is no longer there`);
  }
  await follow();
  return { fence, follow };
}

/**
 * Which wallets are ours, before blocks are read: what is read without knowing them is not searched for what leaves
 * them. Only a database that no signer has been beside yet lacks them: a new one, or a very old one that was restored.
 */
import { Fault } from '../../src/core/fault.ts';
import { watchedWallets } from '../../src/core/outgoing.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { WALLETS_UNKNOWN as CODE } from '../../src/database/freezes.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Signer } from '../../src/signer/signer.ts';

/** Payments come first: a signer that is not there yet is waited for only a moment. */
const WAIT_MS_MAX = 10_000;
/** Where an earlier run may have paid refunds that this database does not know to be paid. */
const WAIT_MS_MAX_WITH_REFUNDS = 60_000;
const RETRY_MS = 250;

type LearnWalletsParts = Readonly<{
  network: Readonly<{ key: NetworkKey }>;
  database: Pick<
    Database,
    'listOwnWallets' | 'recordOwnWallets' | 'listPayouts' | 'refunds' | 'freezePayouts' | 'alarms'
  >;
  /** Null if this network only receives. */
  signer?: Pick<Signer, 'wallets'> | null;
  clock: Clock;
  log: Pick<Log, 'info'>;
}>;

/**
 * Asks the signer for its wallets if the database does not know them, to be called before the network is followed. If
 * the signer does not answer in time and there are refunds, money out is frozen on the network: what has paid them may
 * be in the blocks that are read now.
 * @param wasFollowed whether the database knows blocks of the network
 * @throws Fault of the database
 */
export async function learnWallets(parts: LearnWalletsParts, wasFollowed: boolean, signal: AbortSignal): Promise<void> {
  const { network, database, signer, clock, log } = parts;
  if (!signer || (await database.listOwnWallets(network.key)).length > 0) return;
  const hasPayouts = wasFollowed && (await database.listPayouts({ network: network.key, limit: 1 })).length > 0;
  // Without a payout, a refund may be for another network.
  const hasRefunds = hasPayouts || (wasFollowed && (await database.refunds.list({ limit: 1 })).length > 0);
  const giveUpAtMs = clock.nowMs() + (hasRefunds ? WAIT_MS_MAX_WITH_REFUNDS : WAIT_MS_MAX);
  while (!signal.aborted) {
    try {
      await database.recordOwnWallets(network.key, watchedWallets(await signer.wallets(network.key)));
      return;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const isRefused = error.kind === 'permanent';
      if (isRefused || clock.nowMs() >= giveUpAtMs) {
        log.info({ code: error.code, reason: error.message }, 'our own wallets are not known yet');
        if (isRefused ? hasPayouts : hasRefunds) await freeze(parts);
        return;
      }
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

async function freeze({ network: { key }, database, clock }: LearnWalletsParts): Promise<void> {
  const nowMs = clock.nowMs();
  const reason = 'blocks are read before our own wallets are known here, so what left them may be missed';
  const act = { atMs: nowMs, operator: 'quayside', command: 'payout freeze', reason };
  if (!(await database.freezePayouts({ network: key, code: CODE, reason, frozenBy: 'quayside', sinceMs: nowMs }, act)))
    return;
  const message =
    `Money out is frozen on ${key}: the signer did not say in time which wallets are ours, and ${reason}. Start the signer, ` +
    `compare \`quayside payout list\` with the wallets' transactions on the chain, settle what is paid already ` +
    `(\`quayside payout resolve\`), then run \`quayside payout reconcile ${key} --reason …\``;
  await database.alarms.raise({ atMs: nowMs, code: CODE, message, network: key, sessionId: null });
}

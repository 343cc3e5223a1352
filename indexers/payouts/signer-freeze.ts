/**
 * Freezes the signer with the network: what left a wallet without a payout may mean that somebody else has its key or
 * the signer's socket, and a freeze in the database alone binds only this installation.
 *
 * It is asked for as long as the network is frozen: a signer that was restored from an older backup does not know its
 * freeze. So after a freeze the installation is thawed first, and the signer by an approver after it.
 */
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Holds } from '../../src/database/database.ts';
import type { Freeze } from '../../src/database/payouts/holds.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { PayingSigner } from '../../src/signer/client.ts';

/** Freezes by the program itself that may mean a stolen key. */
const mayBeTheft: readonly string[] = ['wallet_outflow_foreign', 'wallet_balance_short', 'payout_nonce_foreign'];
const FROZEN_BY = 'quayside';
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;
/** How often the signer is asked whether it is still frozen. */
const ASK_MS = 30_000;

export function createSignerFreezer(
  parts: Readonly<{
    network: NetworkKey;
    signer: Pick<PayingSigner, 'freezeState' | 'freeze'>;
    holds: Pick<Holds, 'list'>;
    clock: Pick<Clock, 'nowMs'>;
    log: Pick<Log, 'warn'>;
  }>,
) {
  const { network, signer, holds, clock, log } = parts;
  /** When the signer was last found frozen, or frozen, for the network's present freeze. */
  let frozenAtMs = Number.NEGATIVE_INFINITY;

  async function freezeFor({ code, reason }: Freeze): Promise<void> {
    const state = await signer.freezeState();
    if (state.freeze) return;
    if (state.approvers.length === 0) {
      const why = 'its policy names no approver who could end that; only this installation is frozen';
      log.warn({ code }, `the signer is not frozen: ${why}`);
      return;
    }
    log.warn({ code }, 'the signer is frozen, on every network, until an approver ends that');
    await signer.freeze(`${network}: ${reason}`.slice(0, REASON_CHARS_MAX), FROZEN_BY);
  }

  return {
    /**
     * Freezes the signer at once when the network is frozen, and again while it is.
     * @throws Fault of the signer
     */
    async renew(): Promise<void> {
      const freeze = (await holds.list()).find((one) => one.network === network && mayBeTheft.includes(one.code));
      if (!freeze) frozenAtMs = Number.NEGATIVE_INFINITY;
      else if (clock.nowMs() >= frozenAtMs + ASK_MS) {
        await freezeFor(freeze);
        frozenAtMs = clock.nowMs();
      }
    },
  };
}

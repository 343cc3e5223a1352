/**
 * Freezes the signer with the network. A transfer without a payout may mean that somebody else has the wallet's key or
 * access to the signer's socket. A freeze in the database stops only this installation.
 *
 * The request is repeated while the network is frozen, because a signer that was restored from an older backup does not
 * have the freeze. So an operator first ends the freeze of the installation, then an approver that of the signer.
 */
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Holds } from '../../src/database/database.ts';
import type { Freeze } from '../../src/database/payouts/holds.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { PayingSigner } from '../../src/signer/client.ts';

/** Codes of freezes that may mean a stolen key. */
const mayBeTheft: readonly string[] = ['wallet_outflow_foreign', 'wallet_balance_short', 'payout_nonce_foreign'];
const FROZEN_BY = 'quayside';
/** The signer takes no longer reason. */
const REASON_CHARS_MAX = 200;
/** Interval of the checks that the signer is still frozen. */
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
  /** Time of the last check for the network's present freeze. */
  let frozenAtMs = Number.NEGATIVE_INFINITY;

  async function freezeFor({ code, reason }: Freeze): Promise<void> {
    const state = await signer.freezeState();
    if (state.freeze) return;
    if (state.approvers.length === 0) {
      const why = 'its policy names no approver who could end the freeze. Only this installation is frozen';
      log.warn({ code }, `the signer is not frozen: ${why}`);
      return;
    }
    log.warn({ code }, 'freezing the signer, on every network, until an approver ends the freeze');
    await signer.freeze(`${network}: ${reason}`.slice(0, REASON_CHARS_MAX), FROZEN_BY);
  }

  return {
    /**
     * Freezes the signer when the network is frozen, and again while it stays frozen.
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

/**
 * Freezes the signer with the network: what left a wallet without a payout may mean that somebody else has its key or
 * the signer's socket, and a freeze in the database alone binds only this installation.
 *
 * It is asked for as long as the network is frozen: a signer that was restored from an older backup does not know its
 * freeze. So after a freeze the installation is thawed first, and the signer by an approver after it.
 *
 * It also reports whether the signer is frozen, for those who cannot ask it.
 */
import { Fault } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Engines, Holds } from '../../src/database/database.ts';
import type { Freeze } from '../../src/database/payouts/holds.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { PayingSigner } from '../../src/signer/client.ts';
import type { FreezeState } from '../../src/signer/protocol.ts';

/** Freezes by the program itself that may mean a stolen key. */
const mayBeTheft: readonly string[] = ['wallet_outflow_foreign', 'wallet_balance_short', 'payout_nonce_foreign'];
const FROZEN_BY = 'quayside';
/** As much of a reason as the signer keeps. */
const REASON_CHARS_MAX = 200;
/** How often the signer is asked whether it is frozen. */
const ASK_MS = 30_000;

export function createSignerFreezer(
  parts: Readonly<{
    network: NetworkKey;
    signer: Pick<PayingSigner, 'freezeState' | 'freeze'>;
    holds: Pick<Holds, 'list'>;
    engines: Pick<Engines, 'reportSignerFreeze'>;
    clock: Pick<Clock, 'nowMs'>;
    log: Pick<Log, 'warn'>;
  }>,
) {
  const { network, signer, holds, engines, clock, log } = parts;
  /** Whether the network was frozen at the last look. */
  let wasFrozen = false;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let reported: string | undefined;

  async function report({ freeze }: FreezeState): Promise<void> {
    const seen = freeze && { reason: freeze.reason, frozenBy: freeze.frozenBy, frozenAtMs: freeze.frozenAtMs };
    const text = JSON.stringify(seen);
    if (text !== reported) await engines.reportSignerFreeze(network, seen);
    reported = text;
  }

  async function freezeFor({ code, reason }: Freeze, state: FreezeState): Promise<FreezeState> {
    if (state.freeze) return state;
    if (state.approvers.length === 0) {
      const why = 'its policy names no approver who could end that; only this installation is frozen';
      log.warn({ code }, `the signer is not frozen: ${why}`);
      return state;
    }
    log.warn({ code }, 'the signer is frozen, on every network, until an approver ends that');
    return signer.freeze(`${network}: ${reason}`.slice(0, REASON_CHARS_MAX), FROZEN_BY);
  }

  return {
    /**
     * Freezes the signer at once when the network is frozen, and again while it is; and reports, now and then, whether
     * the signer is frozen.
     * @throws Fault of the signer, if it had to be frozen
     */
    async renew(): Promise<void> {
      const freeze = (await holds.list()).find((one) => one.network === network && mayBeTheft.includes(one.code));
      if ((!freeze || wasFrozen) && clock.nowMs() < askedAtMs + ASK_MS) return;
      askedAtMs = clock.nowMs();
      // A signer that does not answer is met by the payouts; only a freeze must reach it.
      const state = await signer.freezeState().catch((error: unknown) => {
        if (freeze || !(error instanceof Fault)) throw error;
        return null;
      });
      if (!state) return;
      await report(freeze ? await freezeFor(freeze, state) : state);
      wasFrozen = freeze !== undefined;
    },
  };
}

/**
 * The freeze of the signer. After a request on its socket, the signer signs nothing on any network, also after a
 * restart. Only an approver's signature of the text for exactly this freeze ends it.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { type ApprovalText, faultOfApproval } from './approval.ts';
import type { Journal } from './journal.ts';
import type { Policy } from './policy.ts';
import type { Approval, FreezeState, SignerFreeze } from './protocol.ts';
import { refused } from './rules.ts';

const NONCE_BYTES = 16;

/**
 * Returns the text that an approver signs to end a freeze. The freeze's number and nonce occur once, so the signature
 * ends no other freeze.
 * @param fingerprint of the signer's seed
 */
export const thawText =
  (fingerprint: string, { number, nonce, reason, frozenBy, frozenAtMs }: SignerFreeze): ApprovalText =>
  (untilS) => [
    'quayside signer thaw v1',
    `signer: ${fingerprint}`,
    `freeze: ${number}, ${nonce}`,
    `frozen: ${new Date(frozenAtMs).toISOString()} by ${frozenBy}`,
    `reason: ${reason}`,
    `valid until: ${untilS}`,
  ];

type FreezingOptions = Readonly<{
  policy: Policy;
  journal: Pick<Journal, 'fingerprint' | 'openFreeze' | 'freeze' | 'thaw'>;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
}>;

/** Returns the hash (SHA-256, hex) by which people compare policies: `sha256sum policy.json` prints it too. */
export const policyHashOf = (policyText: string): string => createHash('sha256').update(policyText).digest('hex');

/** Returns the signing service's calls about freezes. */
export function openFreezing({ policy, journal, clock, log }: FreezingOptions) {
  const { fingerprint } = journal;
  const { approvers } = policy;
  const freezeState = (): FreezeState => ({
    fingerprint,
    freeze: journal.openFreeze(),
    approvers: approvers.map(({ name }) => name),
  });
  return {
    freezeState,
    freeze(reason: string, frozenBy: string): FreezeState {
      if (!journal.openFreeze()) {
        journal.freeze({
          nonce: randomBytes(NONCE_BYTES).toString('hex'),
          reason,
          frozenBy,
          frozenAtMs: clock.nowMs(),
        });
        log.warn({ reason, frozenBy }, 'the signer is frozen, and signs nothing until an approver ends the freeze');
      }
      return freezeState();
    },
    thaw(approval: Approval): FreezeState {
      const freeze = journal.openFreeze();
      if (!freeze) throw refused('approval', 'the signer is not frozen');
      const nowMs = clock.nowMs();
      const text = thawText(fingerprint, freeze);
      const fault = faultOfApproval(approval, { text, what: `the thaw of freeze ${freeze.number}`, approvers, nowMs });
      if (fault !== null) throw refused('approval', fault);
      journal.thaw(freeze.number, approval, nowMs);
      log.warn({ freeze: freeze.number, approver: approval.approver }, 'an approver ended the freeze of the signer');
      return freezeState();
    },
    /** @throws Fault `signer_refused_frozen` */
    refuseIfFrozen(): void {
      const freeze = journal.openFreeze();
      if (!freeze) return;
      throw refused(
        'frozen',
        `the signer was frozen at ${new Date(freeze.frozenAtMs).toISOString()} by ${freeze.frozenBy} (${freeze.reason}). Only an approver can end the freeze: see \`quayside-signer thaw --help\``,
      );
    },
  };
}

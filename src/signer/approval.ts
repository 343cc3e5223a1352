/**
 * Approvals of refunds above the signer's caps: an ed25519 signature over what is paid to whom, and until when the
 * approval is valid. `quayside refunds approve` signs, the signer verifies. The secret half never reaches the server,
 * so somebody who takes it over cannot approve.
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { MacedRefund } from '../core/intent.ts';
import type { Approval } from './signer.ts';

/** The longest validity of an approval, so that an old one found in a database is useless. */
export const APPROVAL_S_MAX = 7 * 24 * 3600;

/** What an approval covers: the refund as a person has seen it, and its MAC. */
export type ApprovedRefund = MacedRefund & Readonly<{ mac: string }>;

/**
 * Returns the bytes to sign: UTF-8 lines after a first one that no other signed message begins with. They contain the
 * refund itself besides its MAC, so that an operator signs what was shown, not what a database maps the MAC to.
 */
function approvalMessage(refund: ApprovedRefund, untilS: number): Uint8Array {
  const { id, network, currency, to, units, mac } = refund;
  return utf8ToBytes(['quayside refund approval v1', id, network, currency, to, units, mac, untilS].join('\n'));
}

/** Returns the public half of a key for the policy's `approvers`, in lower-case hex. @param secret 32 bytes */
export const approverOf = (secret: Uint8Array): string => bytesToHex(ed25519.getPublicKey(secret));

/**
 * Approves a refund.
 * @param secret 32 bytes of ed25519
 * @param untilS Unix seconds; at most `APPROVAL_S_MAX` ahead, or the signer refuses it
 */
export const signApproval = (secret: Uint8Array, refund: ApprovedRefund, untilS: number): Approval => ({
  approver: approverOf(secret),
  untilS,
  signature: bytesToHex(ed25519.sign(approvalMessage(refund, untilS), secret)),
});

/** Returns whether an approval is its approver's signature of this refund; not whether it is still valid or allowed. */
export function isApproved(approval: Approval, refund: ApprovedRefund): boolean {
  const { approver, untilS, signature } = approval;
  if (!/^[0-9a-f]{64}$/.test(approver) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  // The strict rules of RFC 8032: no small-order keys, no malleable signatures.
  return ed25519.verify(hexToBytes(signature), approvalMessage(refund, untilS), hexToBytes(approver), {
    zip215: false,
  });
}

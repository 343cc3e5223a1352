/**
 * An operator's word for a refund beyond the signer's caps: an ed25519 signature over what is paid to whom, and until when the word is good.
 * The operator's tool signs, the signer verifies. The secret half never comes to the signer, so whoever takes over the shop cannot approve.
 * @module
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { MacedRefund } from '../core/intent.ts';
import type { Approval } from './signer.ts';

/** An approval may be good for so long at most: whoever finds an old one in a database should find nothing of use. */
export const APPROVAL_S_MAX = 7 * 24 * 3600;

/** What an approval covers: the refund as a person was shown it, and the MAC that the shop made of it. */
export type ApprovedRefund = MacedRefund & Readonly<{ mac: string }>;

/**
 * The bytes that are signed: UTF-8 lines behind a first one that nothing else begins with. The refund's own words stand in it beside its MAC,
 * so that an operator signs what was shown, not what a database says belongs to it.
 */
export function approvalMessage(refund: ApprovedRefund, untilS: number): Uint8Array {
  const { id, network, currency, to, units, mac } = refund;
  return utf8ToBytes(['quayside refund approval v1', id, network, currency, to, units, mac, untilS].join('\n'));
}

/** The public half of an approver's key, lower-case hex: what stands in the policy's `approvers`. @param secret 32 bytes */
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

/** Whether the signature is that of the approver it names over this refund. Says nothing of whether that approver may approve, or still. */
export function isApproved(approval: Approval, refund: ApprovedRefund): boolean {
  const { approver, untilS, signature } = approval;
  if (!/^[0-9a-f]{64}$/.test(approver) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  // The strict rules of RFC 8032: no small-order keys, no second form of a signature.
  return ed25519.verify(hexToBytes(signature), approvalMessage(refund, untilS), hexToBytes(approver), {
    zip215: false,
  });
}

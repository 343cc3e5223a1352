/**
 * Approvals: ed25519 signatures over the text of a refund or of the end of a freeze, and the time until which they are
 * valid. `quayside-signer approve` signs on the approver's own machine, and the signer verifies. The secret half never
 * reaches the server, so somebody who takes over the server cannot approve.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { PaybackIntent } from '../core/intent.ts';
import { formatUnits } from '../core/money.ts';
import type { Token } from '../core/transfer.ts';
import type { Policy } from './policy.ts';
import type { Approval } from './protocol.ts';

/** Longest validity of an approval. An old one that somebody finds in a database is useless. */
export const APPROVAL_S_MAX = 7 * 24 * 3600;

/**
 * Returns the lines that a signature covers. No text of another kind begins with the first line, and no line contains a
 * line feed.
 * @param untilS Unix seconds until which the signature is valid
 */
export type ApprovalText = (untilS: number) => readonly string[];

/** Network and token of a refund, by the signer's policy. */
export type PaidThrough = Readonly<{ family: Family; chainId: string; token: Token }>;

/**
 * Returns the text that an approver signs for a refund or a return. It has words that a person can check, and the
 * digest of the whole intent. The signer makes the lines from its own policy. A request with another contract or other
 * decimals leads to a signature that the signer refuses.
 * @param content the intent's canonical text (`canonicalIntent`)
 */
export function paybackText(
  intent: PaybackIntent,
  content: string,
  { family, chainId, token }: PaidThrough,
): ApprovalText {
  const { address } = chains[family];
  const { session } = intent;
  const contract = address.parse(token.address);
  const lines = [
    'quayside payout approval v2',
    `payout: ${intent.kind} ${intent.id} of session ${session.id}, ${session.amount}`,
    `network: ${intent.network} (${family}, chain ${chainId})`,
    `token: ${intent.currency}, contract ${contract === null ? token.address : address.format(contract)}`,
    `amount: ${formatUnits(intent.units, token.decimals, 2)} ${intent.currency} (${intent.units} base units)`,
    `pay to: ${address.format(intent.to)}`,
    `intent: ${bytesToHex(sha256(utf8ToBytes(content)))}`,
  ];
  return (untilS) => [...lines, `valid until: ${untilS}`];
}

const messageOf = (text: ApprovalText, untilS: number): Uint8Array => utf8ToBytes(text(untilS).join('\n'));

/** Returns the public half of a key for the policy's `approvers`, in lower-case hex. @param secret 32 bytes */
export const approverOf = (secret: Uint8Array): string => bytesToHex(ed25519.getPublicKey(secret));

/**
 * Signs a text.
 * @param secret 32 bytes of ed25519
 * @param untilS Unix seconds; at most `APPROVAL_S_MAX` ahead, or the signer refuses it
 */
export const signApproval = (secret: Uint8Array, text: ApprovalText, untilS: number): Approval => ({
  approver: approverOf(secret),
  untilS,
  signature: bytesToHex(ed25519.sign(messageOf(text, untilS), secret)),
});

/**
 * Returns whether an approval is its approver's signature of this text. It may have expired, and its key may not be in
 * the policy.
 */
export function isApproved(approval: Approval, text: ApprovalText): boolean {
  const { approver, untilS, signature } = approval;
  if (!/^[0-9a-f]{64}$/.test(approver) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  // The strict rules of RFC 8032 refuse small-order keys and malleable signatures.
  return ed25519.verify(hexToBytes(signature), messageOf(text, untilS), hexToBytes(approver), { zip215: false });
}

type Approved = Readonly<{
  text: ApprovalText;
  /** For messages, such as "the thaw of freeze 3". */
  what: string;
  approvers: Policy['approvers'];
  nowMs: number;
}>;

/** Returns why an approval is not a policy's approver's signature of the text that is valid now; null if it is. */
export function faultOfApproval(approval: Approval, { text, what, approvers, nowMs }: Approved): string | null {
  const deny = (why: string) => `the approval of ${what} is not valid: ${why}`;
  if (!approvers.some(({ key }) => key === approval.approver))
    return deny('its key is not among the approvers in the policy');
  if (!isApproved(approval, text)) return deny('its signature is wrong, or is for another text');
  const leftMs = approval.untilS * 1000 - nowMs;
  if (leftMs < 0) return deny('it has expired; approve it again');
  if (leftMs > APPROVAL_S_MAX * 1000) return deny('it is valid for too long; approve it again, for at most a week');
  return null;
}

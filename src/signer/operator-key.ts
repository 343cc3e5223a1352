/**
 * An approver's key, in a file encrypted with a passphrase on the operator's own machine. Its public half is in the
 * signer's policy.
 */
import { randomBytes } from 'node:crypto';
import { permanent } from '../core/fault.ts';
import { createSecretFile } from '../lib/secret-file.ts';
import { type ApprovalText, approverOf, signApproval } from './approval.ts';
import type { Approval } from './protocol.ts';
import { readSealed, seal } from './sealed-file.ts';

const KIND = 'operator key';
const SECRET_BYTES = 32;

/**
 * Creates a key and writes it, mode 0600.
 * @returns the public half, for the policy's `approvers`
 * @throws Fault permanent `operator_key_exists`, `passphrase_weak`
 */
export function createOperatorKey(file: string, passphrase: Uint8Array): string {
  const secret = randomBytes(SECRET_BYTES);
  try {
    const approver = approverOf(secret);
    if (createSecretFile(file, seal(KIND, approver, secret, passphrase))) return approver;
    throw permanent('operator_key_exists', `${file} exists already and was not changed; name another file`);
  } finally {
    secret.fill(0);
  }
}

/** An approver's key, still encrypted. `approver` is its public half. */
type OperatorKey = Readonly<{
  approver: string;
  /**
   * Signs a text, valid until a time in Unix seconds.
   * @throws Fault permanent `passphrase_wrong`
   */
  approve(passphrase: Uint8Array, text: ApprovalText, untilS: number): Approval;
}>;

/** Reads a key without decrypting it. @throws Fault permanent: see `readSealed` */
export function readOperatorKey(file: string): OperatorKey {
  const sealed = readSealed(file, KIND);
  return {
    approver: sealed.label,
    approve(passphrase, text, untilS) {
      const secret = sealed.open(passphrase);
      try {
        return signApproval(secret, text, untilS);
      } finally {
        secret.fill(0);
      }
    },
  };
}

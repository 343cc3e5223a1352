/**
 * The second factor: one-time codes by time (TOTP, RFC 6238: SHA-1, six digits, 30 seconds, as authenticator apps have
 * it) and recovery codes.
 */
import { createHash, createHmac } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { NetworkConfig } from '../config/network.ts';
import type { NewFactor, SignInSecrets, UsedFactor } from '../database/people.ts';

const STEP_S = 30;
/** A code of the step before or after is accepted: clocks differ, and people type slowly. */
const STEPS_AROUND = 1;
const SECRET_BYTES = 20;

const RECOVERY_CODES = 10;
const RECOVERY_BYTES = 10;

/** Returns whether everybody needs a second factor: from the first network on that is not simulated. */
export const isFactorRequired = (networks: readonly Pick<NetworkConfig, 'sandbox'>[]): boolean =>
  networks.some(({ sandbox }) => !sandbox);

/**
 * Returns the secret (hex) that a form sets up: the same whenever it is shown, and another for each salt.
 * @param key a link's token, or the form token of a session
 * @param salt of the link's row, which is gone once the link is used: a link that somebody finds later tells nothing;
 * or what names one rendering of a form
 */
export const newSecretOf = (key: string, salt: string): string =>
  createHmac('sha256', key).update(`one-time codes ${salt}`).digest().subarray(0, SECRET_BYTES).toString('hex');

/** Returns a secret as people type it, in groups of four. */
export const secretText = (secret: string): string => Secret.fromHex(secret).base32.replace(/.{4}(?=.)/g, '$& ');

/** Returns what an app reads from the QR code (the key URI format of Google Authenticator). */
export function setUpUri(secret: string, name: string, host: string): string {
  return new TOTP({ issuer: `Quayside ${host}`, label: name, secret: Secret.fromHex(secret) }).toString();
}

const stepAt = (nowMs: number): number => Math.floor(nowMs / 1000 / STEP_S);

/** Returns the step that a code belongs to, now and after `usedStep`; null if there is none. */
function stepOf(secret: string, code: string, nowMs: number, usedStep: number): number | null {
  const own = {
    token: code.replace(/\s/g, ''),
    secret: Secret.fromHex(secret),
    timestamp: nowMs,
    window: STEPS_AROUND,
  };
  const delta = TOTP.validate(own);
  const step = delta === null ? null : stepAt(nowMs) + delta;
  return step !== null && step > usedStep ? step : null;
}

/** Returns codes of 80 random bits each, in groups of four. */
export const newRecoveryCodes = (): readonly string[] =>
  Array.from({ length: RECOVERY_CODES }, () =>
    new Secret({ size: RECOVERY_BYTES }).base32.replace(/.{4}(?=.)/g, '$&-'),
  );

/** Returns the SHA-256 of a recovery code, however its groups and letters were typed. */
export const recoveryHash = (code: string): string =>
  createHash('sha256')
    .update(code.toUpperCase().replace(/[^A-Z2-7]/g, ''))
    .digest('hex');

/** Whether a code can only be a recovery code: those of apps are digits. */
export const isRecoveryCode = (code: string): boolean => /[a-z]/i.test(code);

/** Returns the factor of an app's code; null if it is not right now. */
export function usedFactor({ totpSecret, totpStep }: SignInSecrets, code: string, nowMs: number): UsedFactor | null {
  const step = totpSecret === null ? null : stepOf(totpSecret, code, nowMs, totpStep);
  return totpSecret === null || step === null ? null : { totpStep: step, totpSecret };
}

/** Returns a new app as it is stored; null if the code is not what it shows now. */
export function newApp(totpSecret: string, code: string, nowMs: number): Omit<NewFactor, 'recoveryHashes'> | null {
  const totpStep = stepOf(totpSecret, code, nowMs, 0);
  return totpStep === null ? null : { totpSecret, totpStep };
}

/**
 * The versions of the installation's secret key in the database: which one is current, which rows still need another,
 * and how rows get the current one.
 * @module
 */
import type { OperatorAct } from './audit-log.ts';

export type SecretKeyState = Readonly<{
  /** The version that new secrets, MACs and tokens are made with. */
  current: number;
  /** Since when; null for the version that the database began with. */
  sinceMs: number | null;
  /** Whether all rows were sealed again since. */
  isFinished: boolean;
}>;

/** How many values of one kind need a version; null for rows that have no MAC, or one of an unknown form. */
export type SecretKeyUse = Readonly<{ what: string; version: number | null; rows: number }>;

/** Where a pass through all protected rows has got to: the kind of rows, and the last one's primary key. */
export type ResealPlace = Readonly<{ kind: number; after: readonly (string | number)[] | null }>;

/** What a part of a pass did. */
export type ResealStep = Readonly<{
  what: string;
  looked: number;
  resealed: number;
  /** The versions of rows that stay as they are: open refunds that approvers have approved as they are. */
  kept: readonly number[];
  /** Rows that were altered, or that no known version opens: they are used by nobody, and stay as they are. */
  refused: number;
  /** Where to go on; null after the last. */
  next: ResealPlace | null;
}>;

/** Links that a version made and that payers may still use. */
export type SecretKeyLinks = Readonly<{
  /** Claim links of open refunds, and when the last one ends (Unix milliseconds). */
  claims: number;
  claimsUntilMs: number | null;
  /** Until when payers may leave refund addresses with links to the payment page; null for no such link. */
  pagesUntilMs: number | null;
}>;

export interface SecretKeyDatabase {
  secretKeyState(): Promise<SecretKeyState>;
  /** Counts values by version. Reads whole tables. */
  secretKeyUse(): Promise<readonly SecretKeyUse[]>;
  secretKeyLinks(version: number, nowMs: number): Promise<SecretKeyLinks>;
  /** Makes a version current that every process can read. From its commit on, nobody uses an older one for new rows. */
  useSecretKey(version: number, act: OperatorAct): Promise<void>;
  /**
   * Seals the next rows again with the current version, in one short transaction. Rows that have it are passed over, so
   * a pass can be begun again at any time.
   * @param place null for the first
   */
  resealRows(place: ResealPlace | null): Promise<ResealStep>;
  /** Notes that a pass through all rows with the current version has ended. */
  finishReseal(nowMs: number): Promise<void>;
  /** Gives the open claim links that a version made new tokens, so that the old links end. @returns how many */
  replaceClaimLinks(version: number, act: OperatorAct): Promise<number>;
}

/**
 * Who may do what in the dashboard: four fixed roles. A member has one role in each store; an operator has the
 * installation's, and sees a store's payments only as a member of that store.
 * @module
 */

export const storeRoles = ['owner', 'staff', 'accountant'] as const;
export type StoreRole = (typeof storeRoles)[number];
export type Role = StoreRole | 'operator';

/** A role in one store. An operator's has no store. */
export type Membership = Readonly<{ role: StoreRole; storeId: string }> | Readonly<{ role: 'operator'; storeId: null }>;

export type StorePermission =
  | 'payments:read'
  /** All of them as a file. */
  | 'payments:export'
  /** Canceling one that is open, and the link by which its payer names where refunds go. */
  | 'payments:manage'
  | 'refunds:request'
  /** Approving, refusing, and naming another destination. */
  | 'refunds:decide'
  | 'held:decide'
  | 'webhooks:read'
  | 'webhooks:resend'
  /** Endpoints and their secrets. */
  | 'webhooks:manage'
  | 'keys:manage'
  /** The store's policy and look, and its members. */
  | 'store:manage';
export type InstallationPermission = 'installation:read' | 'installation:manage';

const ofInstallation = (permission: StorePermission | InstallationPermission): permission is InstallationPermission =>
  permission === 'installation:read' || permission === 'installation:manage';

/** What a page needs: a permission in the store that its path names, or one over the installation. */
type Need =
  | Readonly<{ permission: StorePermission; storeId: string }>
  | Readonly<{ permission: InstallationPermission }>;

/** Who has a store's permission, in both modes. */
const granted: Readonly<Record<StorePermission, readonly StoreRole[]>> = {
  'payments:read': storeRoles,
  'payments:export': ['owner', 'accountant'],
  'payments:manage': ['owner', 'staff'],
  'refunds:request': ['owner', 'staff'],
  'refunds:decide': ['owner'],
  'held:decide': ['owner'],
  'webhooks:read': ['owner', 'staff'],
  'webhooks:resend': ['owner', 'staff'],
  'webhooks:manage': ['owner'],
  'keys:manage': ['owner'],
  'store:manage': ['owner'],
};

/** Returns whether one of the memberships gives what is needed, in that very store. */
export function isAllowed(memberships: readonly Membership[], need: Need): boolean {
  return memberships.some((membership) => {
    if (membership.role === 'operator') return ofInstallation(need.permission);
    if (!('storeId' in need) || membership.storeId !== need.storeId) return false;
    return granted[need.permission].includes(membership.role);
  });
}

/** Wrong passwords or codes in a row that cost no time. */
const FREE_FAILURES = 4;
const DELAY_S_MAX = 900;

/** Returns how long an account takes no further attempt after this many failures in a row. */
export const signInDelayS = (failures: number): number =>
  failures <= FREE_FAILURES ? 0 : Math.min(DELAY_S_MAX, 2 ** (failures - FREE_FAILURES - 1));

/**
 * Permissions in the dashboard, granted by four fixed roles. A member has one role in each store. An operator has the
 * installation's permissions, and sees a store's payments only as a member of that store.
 */

export const storeRoles = ['owner', 'staff', 'accountant'] as const;
export type StoreRole = (typeof storeRoles)[number];
export type Role = StoreRole | 'operator';

/** A role in one store, or the role of operator, which has no store. */
export type Membership = Readonly<{ role: StoreRole; storeId: string }> | Readonly<{ role: 'operator'; storeId: null }>;

export type StorePermission =
  | 'payments:read'
  /** Exports as a file. */
  | 'payments:export'
  /** Cancels open sessions, and creates claim links for refunds. */
  | 'payments:manage'
  | 'refunds:request'
  /** Approves and refuses refunds, and sets another destination. */
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

/** A permission that a page needs, in the store of its path or over the installation. */
export type Need =
  | Readonly<{ permission: StorePermission; storeId: string }>
  | Readonly<{ permission: InstallationPermission }>;

/** The roles that have each store permission, in both modes. */
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

/** Returns whether one of the memberships grants a permission in that very store. */
export function isAllowed(memberships: readonly Membership[], need: Need): boolean {
  return memberships.some((membership) => {
    if (membership.role === 'operator') return ofInstallation(need.permission);
    if (!('storeId' in need) || membership.storeId !== need.storeId) return false;
    return granted[need.permission].includes(membership.role);
  });
}

/** Failed sign-ins in a row after which the delay begins. */
const FREE_FAILURES = 4;
/** Longest delay. */
const DELAY_S_MAX = 900;

/** Returns the time for which an account refuses sign-ins after this many failures in a row. */
export const signInDelayS = (failures: number): number =>
  failures <= FREE_FAILURES ? 0 : Math.min(DELAY_S_MAX, 2 ** (failures - FREE_FAILURES - 1));

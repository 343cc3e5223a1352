/**
 * API keys of stores, and the nonces that requests signed with them use up.
 */
import type { Mode } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';
import type { MerchantStore } from './stores.ts';

/** What a key may do, in the order in which people choose it. */
export const scopes = ['sessions:read', 'sessions:write', 'refunds:read', 'refunds:write', 'webhooks:write'] as const;
export type Scope = (typeof scopes)[number];

/** An API key as operators see it; of the key itself only the SHA-256 is stored. */
export type ApiKey = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  /** What people call it; null if it has no name. */
  name: string | null;
  /** Prefix and last four characters, by which people recognize the key. */
  hint: string;
  scopes: readonly Scope[];
  /** The CIDR ranges that it may be used from; none means from anywhere. */
  sources: readonly string[];
  createdAtMs: number;
  /** Who made it; null if that is not known. */
  createdBy: string | null;
  /** From then on it is refused; null means never. */
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  /** When and from which address it was last used, exact to `USE_NOTED_EVERY_MS`; null before its first use. */
  lastUsedAtMs: number | null;
  lastUsedFrom: string | null;
  /** Its row was changed by somebody without the secret key, so the key is refused. Absent otherwise. */
  isAltered?: true;
}>;

/** At most one use of a key is noted in this time. */
export const USE_NOTED_EVERY_MS = 60_000;

type Optional = 'name' | 'sources' | 'expiresAtMs';

/** A key to be saved: if left out, it has no name, may be used from anywhere, and does not expire. */
export type NewApiKey = Omit<ApiKey, Optional | 'createdBy' | 'lastUsedAtMs' | 'lastUsedFrom' | 'isAltered'> &
  Partial<Pick<ApiKey, Optional>> &
  Readonly<{ keyHash: string; secret: string }>;

/** A key with what authentication needs. `secret` signs requests and is stored encrypted. */
export type ApiKeyWithSecret = ApiKey & Readonly<{ secret: string; storeStatus: MerchantStore['status'] }>;

export interface Keys {
  /** @param act the operator's command that creates it, for the audit log */
  create(input: NewApiKey, act?: OperatorAct): Promise<void>;
  /** Returns keys, altered ones too, which are marked. */
  list(storeId: string | null): Promise<readonly ApiKey[]>;
  /** Returns keys that are not revoked and expire before a time, the earliest first. */
  expiring(beforeMs: number, limit: number): Promise<readonly ApiKey[]>;
  /** Returns the key with this id, revoked or not; null when unknown. */
  show(id: string): Promise<ApiKey | null>;
  /** @returns false when there is no such key. Revoking it again keeps the first time, and is not recorded. */
  revoke(id: string, act: OperatorAct): Promise<boolean>;
  /** Returns the key with this SHA-256 (hex), revoked, expired or not; null when unknown. */
  find(keyHash: string): Promise<ApiKeyWithSecret | null>;
  /**
   * Uses up a nonce until `keepUntilMs`; false when it was used before. Removes a bounded number of expired nonces.
   * @param input `mayBeSavedLater`: answers at once even if another process is writing, and saves the nonce afterwards;
   * for requests that change nothing. `from`: the client's address; in the same transaction, it is noted as the key's
   * last use, unless one was noted within `USE_NOTED_EVERY_MS`
   */
  useNonce(
    input: Readonly<{
      keyId: string;
      nonce: string;
      nowMs: number;
      keepUntilMs: number;
      mayBeSavedLater?: boolean;
      from?: string;
    }>,
  ): Promise<boolean>;
}

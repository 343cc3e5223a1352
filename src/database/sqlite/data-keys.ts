/**
 * The versions of the secret key, as this database uses them. The key's file says which there are; the database itself
 * says which one is current, by the version that its probe is sealed with (`vault.ts`). So all processes change to
 * another one in the same transaction, and none of them writes with an older one afterwards.
 * @module
 */
import type { SecretKeys } from '../../lib/secret-key.ts';
import type { Db } from './open.ts';

/** The installation's secret keys by version. */
export type DataKeys = SecretKeys &
  Readonly<{
    /** Returns the version that new secrets, MACs and tokens are made with. Within a write transaction, it is exact. */
    current(): number;
  }>;

const VERSION = /^v([1-9]\d{0,5})\./;

/** Returns the version that a sealed text or a row's MAC names; null for other texts. */
export const versionOf = (sealed: string | null): number | null => {
  const [, version] = VERSION.exec(sealed ?? '') ?? [];
  return version === undefined ? null : Number(version);
};

export function createDataKeys({ client }: Pick<Db, 'client'>, keys: SecretKeys): DataKeys {
  const probe = client.prepare(`SELECT value FROM meta WHERE name = 'sealed_probe'`).pluck();
  return {
    ...keys,
    current: () => versionOf((probe.get() as string | undefined) ?? null) ?? Math.max(...keys.versions()),
  };
}

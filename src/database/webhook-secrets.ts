/**
 * The secrets that sign webhooks, encrypted at rest.
 */

import { and, eq, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import type { OperatorAct, RecordAct } from './audit-log.ts';
import { writeOrTry } from './engine/dry-run.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import { endpoints, stores, webhookSecrets } from './tables.ts';
import type { Vault } from './vault.ts';

/** `nextSecret` is set while a rotation is under way: Standard Webhooks signatures are made with both. */
export type SecretPair = Readonly<{ secret: string; nextSecret: string | null }>;

/** The secret that signs for an endpoint or store. */
export type WebhookSecret = SecretPair &
  Readonly<{
    /** Whose it is: an endpoint's id, or a store's. */
    owner: string;
    mode: Mode;
    rotatedAtMs: number | null;
  }>;

/** `start` makes a second secret valid, `finish` ends the first one's validity, `cancel` the second one's. */
export type RotationStep = Readonly<{ kind: 'start'; secret: string }> | Readonly<{ kind: 'finish' | 'cancel' }>;

export type RotationOutcome =
  | Readonly<{ kind: 'done'; secret: WebhookSecret }>
  | Readonly<{ kind: 'unknown' | 'one_off' | 'under_way' | 'not_under_way' }>;

type SecretRow = typeof webhookSecrets.$inferSelect;
type Signed = Readonly<{ endpointId: string; storeId: string; mode: Mode }>;

/** To be called within a transaction, except `open`. */
export type WebhookSecrets = Readonly<{
  add(owner: string, mode: Mode, secret: string): void;
  /** Returns an endpoint's own secret, otherwise its store's for the mode. */
  signing(signed: Signed): SecretRow;
  ofStore(storeId: string, mode: Mode): SecretRow;
  open(row: SecretRow): SecretPair;
}>;

/** The name under which the secret is sealed. */
export const webhookSecretName = (owner: string, mode: Mode): string => `${owner}, ${mode} webhook secret`;

export function createWebhookSecrets(db: Db, vault: Vault): WebhookSecrets {
  const insert = preparedInsert(db, webhookSecrets);
  const find = atFirstUse(
    db.orm
      .select()
      .from(webhookSecrets)
      .where(and(eq(webhookSecrets.owner, sql.placeholder('owner')), eq(webhookSecrets.mode, sql.placeholder('mode')))),
  );

  function ofStore(storeId: string, mode: Mode): SecretRow {
    const row = find.get({ owner: storeId, mode });
    invariant(row, `store ${storeId} has a ${mode} webhook secret`);
    return row;
  }

  return {
    add(owner, mode, secret) {
      insert({
        owner,
        mode,
        secret: vault.seal(secret, webhookSecretName(owner, mode)),
        nextSecret: null,
        rotatedAtMs: null,
      });
    },
    signing: ({ endpointId, storeId, mode }) => find.get({ owner: endpointId, mode }) ?? ofStore(storeId, mode),
    ofStore,
    open({ owner, mode, secret, nextSecret }) {
      const name = webhookSecretName(owner, mode);
      return { secret: vault.open(secret, name), nextSecret: nextSecret && vault.open(nextSecret, name) };
    },
  };
}

type Parts = Readonly<{ secrets: WebhookSecrets; recordAct: RecordAct }>;

export function webhookSecretCommands(db: Db, vault: Vault, { secrets, recordAct }: Parts) {
  /** Returns the endpoint with this id, or the store with the mode. */
  function findOwner(id: string, mode: Mode): (Signed & { readonly kind: 'endpoint' | 'one_off' | 'store' }) | null {
    const { storeId, mode: ofEndpoint, perSession, removed } = endpoints;
    const fields = { storeId, mode: ofEndpoint, perSession, removed };
    const endpoint = db.orm.select(fields).from(endpoints).where(eq(endpoints.id, id)).get();
    if (endpoint && !endpoint.removed) {
      const kind = endpoint.perSession ? 'one_off' : 'endpoint';
      return { kind, endpointId: id, storeId: endpoint.storeId, mode: endpoint.mode };
    }
    const store = db.orm.select({ id: stores.id }).from(stores).where(eq(stores.id, id)).get();
    return store ? { kind: 'store', endpointId: id, storeId: id, mode } : null;
  }

  const show = (row: SecretRow) => {
    const { owner, mode, rotatedAtMs } = row;
    return { owner, mode, rotatedAtMs, ...secrets.open(row) };
  };

  function take(row: SecretRow, step: RotationStep, nowMs: number): SecretRow {
    const none = { nextSecret: null, rotatedAtMs: null };
    if (step.kind === 'start') {
      return {
        ...row,
        nextSecret: vault.seal(step.secret, webhookSecretName(row.owner, row.mode)),
        rotatedAtMs: nowMs,
      };
    }
    return step.kind === 'finish' ? { ...row, ...none, secret: row.nextSecret ?? row.secret } : { ...row, ...none };
  }

  return {
    /**
     * Returns what signs for an endpoint, or for a store in one mode.
     * @param mode of a store's secret; not used for an endpoint, which has one mode
     * @returns null when there is neither an endpoint nor a store with this id
     */
    async findSecret(id: string, mode: Mode): Promise<WebhookSecret | null> {
      const row = db.read(() => {
        const owner = findOwner(id, mode);
        return owner && secrets.signing(owner);
      });
      return row && show(row);
    },
    /**
     * Takes one step of a rotation. An endpoint that the store's secret signs for gets a secret of its own by it.
     * @returns `one_off` for an endpoint that single sessions named: the store's secret signs for it
     */
    async rotateSecret({
      id,
      mode,
      step,
      act,
      isDryRun,
    }: Readonly<{
      id: string;
      mode: Mode;
      step: RotationStep;
      act: OperatorAct;
      isDryRun: boolean;
    }>): Promise<RotationOutcome> {
      return writeOrTry(db, isDryRun, (): RotationOutcome => {
        const owner = findOwner(id, mode);
        if (!owner) return { kind: 'unknown' };
        if (owner.kind === 'one_off') return { kind: 'one_off' };
        let row = secrets.signing(owner);
        const isShared = row.owner !== id;
        if (isShared && step.kind === 'start') {
          secrets.add(id, owner.mode, secrets.open(row).secret);
          row = secrets.signing(owner);
        }
        if (step.kind === 'start' && row.nextSecret !== null) return { kind: 'under_way' };
        if (step.kind !== 'start' && (isShared || row.nextSecret === null)) return { kind: 'not_under_way' };
        const { owner: rowOwner, mode: rowMode, ...values } = take(row, step, act.atMs);
        const isRow = and(eq(webhookSecrets.owner, rowOwner), eq(webhookSecrets.mode, rowMode));
        db.orm.update(webhookSecrets).set(values).where(isRow).run();
        const valid = (count: number) => ({ mode: rowMode, secrets: count });
        const [before, after] = step.kind === 'start' ? [1, 2] : [2, 1];
        recordAct(act, { target: id, before: valid(before), after: { ...valid(after), step: step.kind } });
        return { kind: 'done', secret: show(secrets.signing(owner)) };
      });
    },
  };
}

/**
 * The secrets that sign webhooks, sealed in the rows of the endpoints and stores that they sign for.
 */
import { eq } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import type { OperatorAct, RecordAct } from './audit-log.ts';
import { writeOrTry } from './engine/dry-run.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, given } from './engine/prepared.ts';
import { endpoints, stores } from './tables.ts';
import type { Vault } from './vault.ts';

/** `nextSecret` is set while a rotation is under way: Standard Webhooks signatures are made with both. */
export type SecretPair = Readonly<{ secret: string; nextSecret: string | null }>;

/** The secret as it is sealed. */
type KeptSecret = SecretPair & Readonly<{ rotatedAtMs: number | null }>;

/** The secret that signs for an endpoint or store. `owner`: an endpoint's id, or a store's. */
export type WebhookSecret = KeptSecret & Readonly<{ owner: string; mode: Mode }>;

/** `start` makes a second secret valid, `finish` ends the first one's validity, `cancel` the second one's. */
export type RotationStep = Readonly<{ kind: 'start'; secret: string }> | Readonly<{ kind: 'finish' | 'cancel' }>;

export type RotationOutcome =
  | Readonly<{ kind: 'done'; secret: WebhookSecret }>
  | Readonly<{ kind: 'unknown' | 'one_off' | 'under_way' | 'not_under_way' }>;

type Signed = Readonly<{ endpointId: string; storeId: string; mode: Mode }>;

/** To be called within a transaction. */
export type WebhookSecrets = Readonly<{
  /** Seals a new secret, for the row of its owner. */
  seal(owner: string, mode: Mode, secret: string): string;
  /** Returns an endpoint's own secret, otherwise its store's for the mode. */
  signing(signed: Signed): Promise<WebhookSecret>;
  /** Replaces the secret of an endpoint, or of a store in one mode. */
  save(secret: WebhookSecret): Promise<void>;
}>;

/** The name under which the secret is sealed. */
export const webhookSecretName = (owner: string, mode: Mode): string => `${owner}, ${mode} webhook secret`;

export function createWebhookSecrets({ orm }: Pick<Db, 'orm'>, vault: Vault): WebhookSecrets {
  const ofEndpoint = atFirstUse(orm.select({ secret: endpoints.secret }).from(endpoints).where(given(endpoints, 'id')));
  const { liveSecret: live, testSecret: test } = stores;
  const ofStore = atFirstUse(orm.select({ live, test }).from(stores).where(given(stores, 'id')));
  const sealed = ({ owner, mode, ...kept }: WebhookSecret): string =>
    vault.seal(JSON.stringify(kept), webhookSecretName(owner, mode));
  const opened = (owner: string, mode: Mode, text: string): WebhookSecret => ({
    ...{ owner, mode },
    ...(JSON.parse(vault.open(text, webhookSecretName(owner, mode))) as KeptSecret),
  });

  return {
    seal: (owner, mode, secret) => sealed({ owner, mode, secret, nextSecret: null, rotatedAtMs: null }),
    async signing({ endpointId, storeId, mode }) {
      const own = (await ofEndpoint.get({ id: endpointId }))?.secret;
      if (own) return opened(endpointId, mode, own);
      const store = await ofStore.get({ id: storeId });
      invariant(store, `store ${storeId} exists`);
      return opened(storeId, mode, store[mode]);
    },
    async save(one) {
      const secret = sealed(one);
      if ((await orm.update(endpoints).set({ secret }).where(eq(endpoints.id, one.owner)).run()).changes > 0) return;
      const ofMode = one.mode === 'live' ? { liveSecret: secret } : { testSecret: secret };
      await orm.update(stores).set(ofMode).where(eq(stores.id, one.owner)).run();
    },
  };
}

type Parts = Readonly<{ secrets: WebhookSecrets; recordAct: RecordAct }>;

export function webhookSecretCommands(db: Db, { secrets, recordAct }: Parts) {
  /** Returns the endpoint with this id, or the store with the mode. */
  async function findOwner(
    id: string,
    mode: Mode,
  ): Promise<(Signed & { readonly kind: 'endpoint' | 'one_off' | 'store' }) | null> {
    const { storeId, mode: ofEndpoint, perSession, removed } = endpoints;
    const fields = { storeId, mode: ofEndpoint, perSession, removed };
    const endpoint = await db.orm.select(fields).from(endpoints).where(eq(endpoints.id, id)).get();
    if (endpoint && !endpoint.removed) {
      const kind = endpoint.perSession ? 'one_off' : 'endpoint';
      return { kind, endpointId: id, storeId: endpoint.storeId, mode: endpoint.mode };
    }
    const store = await db.orm.select({ id: stores.id }).from(stores).where(eq(stores.id, id)).get();
    return store ? { kind: 'store', endpointId: id, storeId: id, mode } : null;
  }

  function take(now: WebhookSecret, step: RotationStep, nowMs: number): WebhookSecret {
    if (step.kind === 'start') return { ...now, nextSecret: step.secret, rotatedAtMs: nowMs };
    const ended = { ...now, nextSecret: null, rotatedAtMs: null };
    return step.kind === 'finish' ? { ...ended, secret: now.nextSecret ?? now.secret } : ended;
  }

  return {
    /**
     * Returns what signs for an endpoint, or for a store in one mode.
     * @param mode of a store's secret; not used for an endpoint, which has one mode
     * @returns null when there is neither an endpoint nor a store with this id
     */
    async findSecret(id: string, mode: Mode): Promise<WebhookSecret | null> {
      return db.read(async () => {
        const owner = await findOwner(id, mode);
        return owner && (await secrets.signing(owner));
      });
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
      return writeOrTry(db, isDryRun, async (): Promise<RotationOutcome> => {
        const owner = await findOwner(id, mode);
        if (!owner) return { kind: 'unknown' };
        if (owner.kind === 'one_off') return { kind: 'one_off' };
        const now = await secrets.signing(owner);
        if (step.kind === 'start' && now.owner === id && now.nextSecret !== null) return { kind: 'under_way' };
        if (step.kind !== 'start' && (now.owner !== id || now.nextSecret === null)) return { kind: 'not_under_way' };
        const secret = take({ ...now, owner: id }, step, act.atMs);
        await secrets.save(secret);
        const valid = (count: number) => ({ mode: now.mode, secrets: count });
        const [before, after] = step.kind === 'start' ? [1, 2] : [2, 1];
        await recordAct(act, { target: id, before: valid(before), after: { ...valid(after), step: step.kind } });
        return { kind: 'done', secret };
      });
    },
  };
}

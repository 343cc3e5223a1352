/**
 * The secrets that sign webhooks: one for each endpoint, and one for each store and mode, which signs for URLs that
 * single sessions name. While one is rotated, two are valid.
 */
import type { Mode } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

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

export interface WebhookSecretDatabase {
  /**
   * Returns what signs for an endpoint, or for a store in one mode.
   * @param mode of a store's secret; not used for an endpoint, which has one mode
   * @returns null when there is neither an endpoint nor a store with this id
   */
  findWebhookSecret(id: string, mode: Mode): Promise<WebhookSecret | null>;
  /**
   * Takes one step of a rotation. An endpoint that the store's secret signs for gets a secret of its own by it.
   * @returns `one_off` for an endpoint that single sessions named: the store's secret signs for it
   */
  rotateWebhookSecret(
    input: Readonly<{ id: string; mode: Mode; step: RotationStep; act: OperatorAct; isDryRun: boolean }>,
  ): Promise<RotationOutcome>;
}

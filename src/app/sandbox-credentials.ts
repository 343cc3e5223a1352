/**
 * The sandbox's demo store and its credentials: created on the first start, and stored in `sandbox-credentials.json`
 * for the demo, for scripts and for calls by hand.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { permanent } from '../core/fault.ts';
import { scopes } from '../database/column-values.ts';
import type { Database, People } from '../database/database.ts';
import { SANDBOX_PERSON } from '../database/people.ts';
import { hashOf, newToken } from '../lib/id.ts';
import { writeSecretFile } from '../lib/secret-file.ts';
import { defaultStoreSettings, issueKey, issueStore } from './new-credentials.ts';

/** Shorter than a store's own, because nobody wants to wait a minute, and long enough to cancel by hand. */
const SANDBOX_CANCEL_WINDOW_S = 20;

const LINK_LIFE_MS = 30 * 60_000;

const schema = z.object({
  base_url: z.string(),
  merchant_id: z.string(),
  api_key: z.string(),
  api_secret: z.string(),
  webhook_secret: z.string(),
});

export type Credentials = z.infer<typeof schema>;

export const credentialsFile = (dataDir: string): string => join(dataDir, 'sandbox-credentials.json');

/**
 * @returns the credentials that the sandbox wrote last; null before its first start
 * @throws Fault permanent `credentials_invalid`
 */
export function readCredentials(dataDir: string): Credentials | null {
  const file = credentialsFile(dataDir);
  if (!existsSync(file)) return null;
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw permanent(
      'credentials_invalid',
      `${file} cannot be read; delete it, and the next start creates new credentials`,
      error,
    );
  }
}

/**
 * Writes and returns the credentials for this start: those of the file if their key is in the database, otherwise of a
 * new store and key. The file then has this start's base URL.
 */
export async function ensureCredentials(
  database: Database,
  at: Readonly<{ dataDir: string; baseUrl: string; nowMs: number }>,
): Promise<Credentials> {
  const before = readCredentials(at.dataDir);
  const known = before && (await database.keys.find(hashOf(before.api_key)));
  const isUsable = known !== null && known.revokedAtMs === null;
  const webhook = isUsable ? await database.endpoints.findSecret(known.storeId, 'test') : null;
  const credentials =
    before && webhook
      ? { ...before, base_url: at.baseUrl, webhook_secret: webhook.secret }
      : await issueCredentials(database, at);
  if (JSON.stringify(credentials) !== JSON.stringify(before)) {
    writeSecretFile(credentialsFile(at.dataDir), `${JSON.stringify(credentials, null, 2)}\n`);
  }
  return credentials;
}

/**
 * Makes a link that works once, for half an hour, and signs in as operator and owner of the demo store. It ends the
 * link of an earlier start.
 * @returns null once that person was removed, or where another has the name
 */
export async function makeSignInLink(
  people: People,
  { storeId, dashboardUrl, nowMs }: Readonly<{ storeId: string; dashboardUrl: string; nowMs: number }>,
): Promise<string | null> {
  const act = { atMs: nowMs, operator: 'sandbox', command: 'start', reason: null };
  const find = async () => (await people.list()).find(({ id }) => id === SANDBOX_PERSON);
  if (!(await find())) {
    const membership = { role: 'operator', storeId: null } as const;
    await people.add({ id: SANDBOX_PERSON, name: 'Sandbox', membership, createdAtMs: nowMs }, act);
  }
  const person = await find();
  if (!person || person.removedAtMs !== null) return null;
  if (!person.memberships.some((one) => one.storeId === storeId)) {
    await people.setMembership(SANDBOX_PERSON, { role: 'owner', storeId }, act);
  }
  const token = newToken();
  await people.addLink(SANDBOX_PERSON, { hash: hashOf(token), salt: null, expiresAtMs: nowMs + LINK_LIFE_MS }, act);
  return `${dashboardUrl}/link/${token}`;
}

async function issueCredentials(
  database: Database,
  { baseUrl, nowMs }: Readonly<{ baseUrl: string; nowMs: number }>,
): Promise<Credentials> {
  const demo = issueStore('Demo store', defaultStoreSettings, nowMs);
  const { key, row } = issueKey(demo.id, 'test', scopes, nowMs);
  await database.stores.create(demo);
  // No sender is an exchange here, so a refund that names no address goes back where the payment came from.
  await database.stores.update(demo.id, {
    refundCancelWindowS: SANDBOX_CANCEL_WINDOW_S,
    refundToSender: true,
  });
  await database.keys.create(row);
  return {
    base_url: baseUrl,
    merchant_id: demo.id,
    api_key: key,
    api_secret: row.secret,
    webhook_secret: demo.webhookSecrets.test,
  };
}

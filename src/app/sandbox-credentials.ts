/**
 * The sandbox's demo store and its credentials. They are created at the first start, and stored in
 * `sandbox-credentials.json` for the demo, for scripts and for manual calls.
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

/**
 * Cancel window of the demo store. It is shorter than usual to spare people a wait, but long enough for a manual
 * cancel.
 */
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
 * @returns the newest credentials of the sandbox; null before its first start
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
 * Returns the credentials for this start, and writes them with this start's base URL. They are those of the file if
 * their key is in the database, or else those of a new store and key.
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
 * Makes a link that signs in as operator and owner of the demo store. It works once, within half an hour, and ends the
 * link of an earlier start.
 * @returns null if that person was removed, or another one has the name
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
  // No sender in the sandbox is an exchange, so a refund without an address goes to the sender.
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

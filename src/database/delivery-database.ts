/**
 * The part of the port that sending webhooks needs, on a connection of its own. It loads far less than the whole port.
 */

import { createAlarmWriter } from './alarms.ts';
import { createRefreshDue, createWebhookSecrets } from './endpoints.ts';
import { type OpenOptions, openEngine } from './engine/engine.ts';
import { checkKey, createVault } from './sealing.ts';
import { sendingCommands } from './sending.ts';

/**
 * Opens a file that `migrate` has brought to the current schema.
 * @throws Fault: see `openSqliteDatabase`
 */
export type DeliveryDatabase = ReturnType<typeof openDeliveryDatabase>;

export function openDeliveryDatabase(options: OpenOptions & Readonly<{ secretKey: Uint8Array }>) {
  const vault = createVault(options.secretKey);
  const db = openEngine(options, (opened) => checkKey(opened, vault));
  try {
    const secrets = createWebhookSecrets(db, vault);
    return {
      sending: sendingCommands(db, { secrets, refreshDue: createRefreshDue(db), raiseAlarm: createAlarmWriter(db) }),
      changeCount: db.changeCount,
      close: db.close,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

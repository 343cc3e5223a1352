/**
 * The part of the port that sending webhooks needs, on a connection of its own. It loads far less than the whole port.
 */

import { createAlarmWriter } from './alarms.ts';
import { createRefreshDue } from './endpoint-due.ts';
import { refuseOtherSchema } from './engine/migrate.ts';
import { changeCounter, type OpenOptions, openDatabase } from './engine/open.ts';
import { sendingCommands } from './sending.ts';
import { checkKey, createVault } from './vault.ts';
import { createWebhookSecrets } from './webhook-secrets.ts';

/**
 * Opens a file that `migrate` has brought to the current schema.
 * @throws Fault: see `openSqliteDatabase`
 */
export type DeliveryDatabase = ReturnType<typeof openDeliveryDatabase>;

export function openDeliveryDatabase(options: OpenOptions & Readonly<{ secretKey: Uint8Array }>) {
  const db = openDatabase(options);
  try {
    refuseOtherSchema(db);
    const vault = createVault(options.secretKey);
    checkKey(db, vault);
    const secrets = createWebhookSecrets(db, vault);
    return {
      sending: sendingCommands(db, { secrets, refreshDue: createRefreshDue(db), raiseAlarm: createAlarmWriter(db) }),
      changeCount: changeCounter(db),
      close: db.close,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

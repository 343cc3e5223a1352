/**
 * The part of the port that sending webhooks needs, on a connection of its own. It loads far less than the whole port.
 */
import type { Database } from '../database.ts';
import { createAlarmWriter } from './alarms.ts';
import { attemptCommands } from './attempts.ts';
import { claimCommands } from './claims.ts';
import { createDueTimes } from './due.ts';
import { refuseOtherSchema } from './migrate.ts';
import { changeCounter, type OpenOptions, openDatabase } from './open.ts';
import { retirementCommands } from './retirement.ts';
import { senderReportCommands } from './sender-report.ts';
import { checkKey, createVault } from './vault.ts';
import { createWebhookSecrets } from './webhook-secrets.ts';

export type DeliveryDatabase = Pick<
  Database,
  'claimDeliveries' | 'endLeases' | 'retireEndpoints' | 'recordAttempts' | 'reportSender' | 'changeCount' | 'close'
>;

/**
 * Opens a file that `migrate` has brought to the current schema.
 * @throws Fault: see `openSqliteDatabase`
 */
export function openDeliveryDatabase(options: OpenOptions & Readonly<{ secretKey: Uint8Array }>): DeliveryDatabase {
  const db = openDatabase(options);
  try {
    refuseOtherSchema(db);
    const vault = createVault(options.secretKey);
    checkKey(db, vault);
    const due = createDueTimes(db);
    return {
      ...claimCommands(db, { secrets: createWebhookSecrets(db, vault), due }),
      ...attemptCommands(db, { due, raiseAlarm: createAlarmWriter(db) }),
      ...retirementCommands(db, due),
      ...senderReportCommands(db),
      changeCount: changeCounter(db),
      close: db.close,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * The report of the process that sends webhooks: one row.
 * @module
 */
import type { SenderReportDatabase } from '../sender-report.ts';
import type { Db } from './open.ts';
import { webhookSender } from './tables.ts';

const ROW_ID = 1;

export function senderReportCommands({ orm, read, write }: Db): Omit<SenderReportDatabase, 'endLeases'> {
  return {
    async reportSender(report) {
      await write(() => {
        const row = { id: ROW_ID, report };
        orm.insert(webhookSender).values(row).onConflictDoUpdate({ target: webhookSender.id, set: { report } }).run();
      });
    },
    async readSenderReport() {
      return read(() => orm.select().from(webhookSender).get()?.report ?? null);
    },
  };
}

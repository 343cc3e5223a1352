/** The report of the process that sends webhooks: one value. */
import type { SenderReport, SenderReportDatabase } from '../sender-report.ts';
import type { Db } from './open.ts';
import { createMarks } from './retention/marks.ts';

const NAME = 'webhook_sender';

export function senderReportCommands(db: Db): Omit<SenderReportDatabase, 'endLeases'> {
  const marks = createMarks(db);
  return {
    async reportSender(report) {
      await db.write(() => marks.write(NAME, JSON.stringify(report)));
    },
    async readSenderReport() {
      const text = db.read(() => marks.read(NAME));
      return text === null ? null : (JSON.parse(text) as SenderReport);
    },
  };
}

/**
 * Records one attempt to deliver a webhook, as the dispatcher records many.
 */
import type { Attempt, Database, DeliveryVerdict } from '../../src/database/database.ts';

export const recordAttempt = (
  database: Pick<Database, 'recordAttempts'>,
  attempt: Attempt,
  verdict: DeliveryVerdict,
): Promise<void> => database.recordAttempts([{ attempt, verdict }]);

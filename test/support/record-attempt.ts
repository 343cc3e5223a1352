/**
 * Records one attempt to deliver a webhook, as the dispatcher records many.
 */
import type { Attempt, DeliveryVerdict } from '../../src/database/attempts.ts';
import type { Database } from '../../src/database/database.ts';

export const recordAttempt = (
  database: Pick<Database, 'sending'>,
  attempt: Attempt,
  verdict: DeliveryVerdict,
): Promise<void> => database.sending.record([{ attempt, verdict }]);

/** Approving a refund as somebody does who has looked at it: the destination that it has now. */

import type { RefundApproval } from '../../src/database/column-values.ts';
import type { Database } from '../../src/database/database.ts';
import type { ApproveRefundOutcome } from '../../src/database/refunds/refund.ts';

export async function approve(
  database: Database,
  id: string,
  nowMs: number,
  approval: RefundApproval | null = null,
): Promise<ApproveRefundOutcome> {
  const seen = (await database.refunds.findBy({ id }))?.destination?.key ?? null;
  return database.refunds.approve(id, approval, nowMs, seen);
}

/** Approving a refund as somebody does who has looked at it: the destination that it has now. */
import type { Database } from '../../src/database/database.ts';
import type { ApproveRefundOutcome, RefundApproval } from '../../src/database/refunds.ts';

export async function approve(
  database: Pick<Database, 'refunds'>,
  id: string,
  nowMs: number,
  approval: RefundApproval | null = null,
): Promise<ApproveRefundOutcome> {
  const seen = (await database.refunds.findBy({ id }))?.destination?.key ?? null;
  return database.refunds.approve(id, approval, nowMs, seen);
}

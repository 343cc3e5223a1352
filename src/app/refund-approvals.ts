/**
 * Approvers' signatures of refunds: the text to sign, and the check that a signature fits the refund as it is now. The
 * signer decides which approvers count.
 */
import type { Config } from '../config/config.ts';
import { permanent } from '../core/fault.ts';
import { isPayback } from '../core/intent.ts';
import type { RefundApproval } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import type { Refund } from '../database/refunds/refund.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { isApproved } from '../signer/approval.ts';
import { type ApprovalRequest, parseApproval, requestLines, textOf } from '../signer/approval-file.ts';

type Parts = Readonly<{
  config: Pick<Config, 'networks'>;
  database: Database;
  clock: Pick<Clock, 'nowMs'>;
}>;

/**
 * Returns the lines of the file that approvers sign.
 * @throws Fault permanent `refused` while nothing of the refund waits to be signed
 */
export const approvalRequest = async (parts: Parts, refund: Refund): Promise<readonly string[]> =>
  requestLines(await requestOf(parts, refund));

/**
 * Reads an approver's signed file.
 * @throws Fault permanent `approval_file_invalid`, `approval_mismatch` if it does not fit the refund as it is now,
 * `approval_expired`, or `refused` as for `approvalRequest`
 */
export async function readApproval(parts: Parts, refund: Refund, text: string): Promise<RefundApproval> {
  const approval = parseApproval('the file', text);
  const again = `\`quayside show ${refund.id} --request\` shows the text to sign`;
  if (!isApproved(approval, textOf(await requestOf(parts, refund)))) {
    throw permanent(
      'approval_mismatch',
      `the file does not approve the present payment of refund ${refund.id}, but perhaps one to an earlier address; ${again}`,
    );
  }
  if (approval.untilS < toSeconds(parts.clock.nowMs()))
    throw permanent('approval_expired', `the signature has expired; sign it again: ${again}`);
  return approval;
}

async function requestOf({ config, database }: Parts, { id, status }: Refund): Promise<ApprovalRequest> {
  const payout = await database.payouts.find(id);
  const intent = payout?.intent;
  const network = config.networks.find(({ key }) => key === payout?.network);
  if (status !== 'processing' || !intent || !isPayback(intent) || !network) {
    throw permanent(
      'refused',
      `refund ${id} is ${status}, and nothing of it waits to be signed; \`quayside show ${id}\` shows what it needs`,
    );
  }
  const { family, chainId, tokens } = network;
  const token = tokens.find(({ symbol }) => symbol === intent.currency);
  if (!token) throw permanent('refused', `the configuration has no ${intent.currency} on ${network.key}; add it again`);
  const { symbol, address, decimals } = token;
  return {
    request: 'quayside payout approval v2',
    intent,
    family,
    chain_id: chainId,
    token: { symbol, address, decimals },
  };
}

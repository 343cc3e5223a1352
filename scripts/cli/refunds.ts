/** Lists refunds. */
import { amountText } from '../../src/acts/refund-words.ts';
import { refundJson, whatNext } from '../../src/acts/refunds.ts';
import type { RefundStatus } from '../../src/core/refund.ts';
import { type Command, moment, storeOption, textOption, usage, wholeOption } from './command.ts';
import { table } from './table.ts';

const statuses: readonly RefundStatus[] = ['pending', 'processing', 'completed', 'failed', 'canceled'];
const LISTED_MAX = 1000;

export const refundsList: Command = {
  name: 'refund list',
  args: [],
  summary: 'List refunds and returns of held money (rt_…), newest first.',
  options: {
    store: storeOption,
    session: { value: 'ID', help: 'only refunds of this session' },
    status: { value: 'STATUS', help: statuses.join(', ') },
    limit: { value: 'N', help: `at most N refunds (50), up to ${LISTED_MAX}` },
  },
  async run(input, { database }) {
    const status = statuses.find((one) => one === textOption(input, 'status'));
    if (textOption(input, 'status') !== undefined && !status)
      throw usage(`--status must be one of ${statuses.join(', ')}`);
    const storeId = textOption(input, 'store');
    const sessionId = textOption(input, 'session');
    const refunds = await database.refunds.list({
      ...(storeId !== undefined && { storeId }),
      ...(sessionId !== undefined && { sessionId }),
      ...(status && { status }),
      limit: wholeOption(input, 'limit', 1, LISTED_MAX, 50),
    });
    const rows = refunds.map((refund) => [
      refund.id,
      refund.status,
      amountText(refund),
      refund.network,
      moment(refund.createdAtMs),
      refund.refundId,
      whatNext(refund),
    ]);
    return {
      json: refunds.map((refund) => refundJson(refund)),
      lines: table([['ID', 'STATUS', 'AMOUNT', 'NETWORK', 'CREATED', 'MERCHANT’S ID', 'NOTE'], ...rows]),
    };
  },
};

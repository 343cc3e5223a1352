/**
 * The blocks before a network's first one. The networks of a family share addresses, so a customer may have paid on a
 * network before it was added here. Only an operator can have those blocks read.
 */
import type { NetworkConfig } from '../src/config/network.ts';
import type { Database } from '../src/database/database.ts';
import type { Clock } from '../src/lib/clock.ts';

type Parts = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode'>;
  database: Database;
  clock: Clock;
}>;

/**
 * Returns a function that raises the alarm, once, if customers have addresses that the network shares. It takes the
 * number of the network's first block.
 */
export function createFirstBlockAlarm({ network, database, clock }: Parts): (first: number) => Promise<void> {
  const { key, family, mode } = network;
  let isDone = false;
  return async (first) => {
    if (isDone || first === 0) return;
    const isUsed = await database.addresses.isUsed({ family, mode });
    isDone = true;
    if (!isUsed) return;
    const message =
      `${key} is read from block ${first} on, but customers may have paid to their addresses before. Payments in earlier ` +
      `blocks are unseen: \`quayside network reread ${key} --from N --to ${first - 1}\` finds them. N is ` +
      'the first block that may have a payment';
    const code = 'earlier_blocks_unread';
    await database.alarms.raise({ atMs: clock.nowMs(), code, message, network: key, sessionId: null });
  };
}

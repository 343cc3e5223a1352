/**
 * Machines of one shop on one database: whole installations with a data folder each, over one simulated node.
 */
import { XPUB } from '../e2e/evm.ts';
import { addStore, openMachine } from './instance.ts';
import { sandboxTokens, startSimulatedNode } from './simulated-node.ts';

/**
 * Prepares a shop with one network, and its first machine, which is not started yet.
 * @param url of a PostgreSQL database; null: SQLite, for one machine
 * @param more settings of each machine
 */
export async function openMachines(url: string | null, blockMs: number, more: object) {
  const node = await startSimulatedNode({ family: 'evm', seed: 'machines', chainId: '1' });
  node.mineEvery(blockMs);
  const ethereum = {
    mode: 'test',
    url: node.url,
    xpub: XPUB,
    reorg_depth_max: 20,
    poll_ms: blockMs,
    block_time_ms: blockMs,
    confirmations: { blocks: 2, finality: null, tiers: null },
    tokens: sandboxTokens,
  };
  const settings = { networks: { ethereum }, ...more, ...(url !== null && { database_url: url }) };
  const first = openMachine(settings);
  const machines = [first];
  return {
    node,
    first,
    store: await addStore(first),
    /** Adds another machine. */
    add() {
      const added = openMachine(settings, first);
      machines.push(added);
      return added;
    },
    async close() {
      for (const machine of machines) await machine.close();
      await node.close();
    },
  };
}

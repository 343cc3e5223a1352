/**
 * A separate process: the node of one network, which ends with its parent. Arguments: the network's name, and how many
 * blocks to serve.
 */
import { findNetwork } from './catch-up-networks.ts';

const [name, blocks] = process.argv.slice(2);
const network = findNetwork(name);
process.send?.(await network.serve({ ...network, blocks: Number(blocks) }));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMs: (user + system) / 1000 });
});
process.on('disconnect', () => process.kill(process.pid));

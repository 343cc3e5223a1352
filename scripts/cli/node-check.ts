/**
 * Checks one node before an installation relies on it: nothing is opened or changed.
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { exitCodeOf, type Finding, findingLines } from '../nodes/finding.ts';
import { type Input, type OfflineCommand, type Option, textOption, usage } from './command.ts';
import { readSpan } from './since.ts';

const BLOCKS_WAITED = 3;
const HEAD_WAIT_MS_MIN = 5_000;
const HEAD_WAIT_MS_MAX = 60_000;
const OUTAGE_DAYS = 3;
const OUTAGE_MS_MAX = 365 * DAY_MS;

export const outageOption: Option = {
  value: 'TIME',
  help: 'the longest outage after which everything must still be there, such as 3d (default: 1d to 3d, by network)',
};

export const nodeCheck: OfflineCommand = {
  name: 'node check',
  args: ['network'],
  summary: 'Prove that a node serves everything an indexer asks for. Changes nothing.',
  options: {
    url: { value: 'URL', help: 'the node to check (default: the configured one)' },
    outage: outageOption,
  },
  notes: [
    'Checks chain and tokens, first block, version and coming forks, peers, open ports and calls, newest block, transfers',
    'in two readings, history, final blocks and balances in them, batches, and announcements of new blocks. `node`',
    'commands need no installation. Exit codes: 0 nothing is wrong, 1 warnings, 2 errors.',
  ],
  async runOffline(input) {
    const { readNetwork } = await import('../shadow/network.ts');
    const url = textOption(input, 'url');
    const network = readNetwork(input, String(input.args[0]), url === undefined ? undefined : nodeUrl(url));
    const findings = await check(input, network);
    const checks = findings.map(({ area, ...rest }) => ({ check: area, ...rest }));
    return {
      json: { network: network.key, node: new URL(network.url).host, checks },
      lines: findingLines(findings),
      code: exitCodeOf(findings),
    };
  },
};

/** Checks the node at the network's `url`. Loads the clients of nodes, which few commands need. */
export async function check(input: Input, network: NetworkConfig): Promise<Finding[]> {
  const [{ checkNode }, { ownAddresses }, { readRecipes, recipeOf }] = await Promise.all([
    import('../nodes/check.ts'),
    import('../nodes/exposure.ts'),
    import('../nodes/recipe.ts'),
  ]);
  const recipe = recipeOf(readRecipes(), network);
  const outageMs = readSpan(input, 'outage', OUTAGE_MS_MAX, `${recipe?.outage_days ?? OUTAGE_DAYS}d`);
  return checkNode({
    network,
    recipe,
    oldestOf: ({ number }) => Math.max(0, number - Math.ceil(outageMs / network.blockTimeMs)),
    headWaitMs: Math.min(Math.max(BLOCKS_WAITED * network.blockTimeMs, HEAD_WAIT_MS_MIN), HEAD_WAIT_MS_MAX),
    addresses: ownAddresses(),
    clock: systemClock,
  });
}

/** @throws Fault permanent `usage` */
export function nodeUrl(text: string): string {
  if (URL.canParse(text) && /^(ws|http)s?:$/.test(new URL(text).protocol)) return text;
  throw usage('the node’s address is not a ws://, wss://, http:// or https:// URL');
}

/**
 * A network of the flow suite with a simulated node.
 */
import { chains } from '../../src/chains/index.ts';
import type { Currency, Token } from '../../src/core/transfer.ts';
import type { PaymentKind } from '../../src/sandbox/transaction.ts';
import type { FlowNetwork } from '../conformance/flow.ts';
import type { Json } from '../support/instance.ts';
import { accountKeyOf, type SimulatedNode } from '../support/simulated-node.ts';

type Options = Readonly<{
  name: string;
  node: SimulatedNode;
  tokens: readonly Token[];
  tokenKeys: readonly string[];
  required: number;
  /** Enough blocks to confirm what is in the tip. */
  confirmingBlocks: number;
}> &
  Pick<FlowNetwork, 'mineAlmost' | 'payWorthless'>;

/** The address key of a session on a network of this family. */
export function keyOf({ family }: Pick<SimulatedNode, 'family'>, network: string, session: Json): string {
  const option = session.payment_options.find((one: Json) => one.network === network);
  return chains[family].address.parse(option.address) ?? '';
}

export function simulatedNetwork(options: Options): FlowNetwork {
  const { name, node, tokens, tokenKeys, required, confirmingBlocks, mineAlmost, payWorthless } = options;
  const { world } = node;
  const tokenKeyOf = (currency: Currency) => tokenKeys[tokens.findIndex(({ symbol }) => symbol === currency)] ?? '';
  async function mine(blocks = 1): Promise<void> {
    for (let left = blocks; left > 0; left--) world.mine(2);
  }
  return {
    name,
    tokens,
    required,
    mine,
    mineAlmost,
    payWorthless,
    pay: async (session, currency, units) =>
      node.pay(keyOf(node, name, session), units, 'direct', tokenKeyOf(currency)),
    confirm: () => mine(confirmingBlocks),
    head: async () => world.tip().number,
    async reorg(blocks) {
      world.reorg({ depth: blocks, keep: 'none', blocks: blocks + 1 });
    },
    async remine(blocks) {
      world.reorg({ depth: blocks, keep: 'all', blocks: blocks + 1 });
    },
    stop: node.stop,
    start: node.start,
  };
}

/** One transaction that pays sessions in the first token. @returns its id as the world knows it */
export function payMany(
  { node, name, tokenKeys: [token = ''] }: Pick<Options, 'node' | 'name' | 'tokenKeys'>,
  kind: PaymentKind,
  outputs: readonly (readonly [session: Json, units: bigint])[],
): string {
  const from = accountKeyOf(node.family, 'payer');
  return node.world.pay({
    kind,
    from,
    outputs: outputs.map(([session, units]) => ({ token, to: keyOf(node, name, session), units })),
  });
}

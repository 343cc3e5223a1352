/**
 * A network of the payment suite with a simulated node.
 */
import { chains } from '../../src/chains/index.ts';
import type { Currency, Token } from '../../src/core/transfer.ts';
import type { PaymentNetwork } from '../conformance/flow.ts';
import type { Json } from '../support/instance.ts';
import type { SimulatedNode } from '../support/simulated-node.ts';

type Options = Readonly<{
  name: string;
  node: SimulatedNode;
  tokens: readonly Token[];
  tokenKeys: readonly string[];
  required: number;
  /** Enough blocks to confirm what is in the tip. */
  confirmingBlocks: number;
}> &
  Pick<PaymentNetwork, 'mineAlmost'>;

/** The address key of a session on a network of this family. */
export function keyOf({ family }: Pick<SimulatedNode, 'family'>, network: string, session: Json): string {
  const option = session.payment_options.find((one: Json) => one.network === network);
  return chains[family].address.parse(option.address) ?? '';
}

export function simulatedNetwork(options: Options): PaymentNetwork {
  const { name, node, tokens, tokenKeys, required, confirmingBlocks, mineAlmost } = options;
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
    pay: async (session, currency, units) =>
      node.pay(keyOf(node, name, session), units, 'direct', tokenKeyOf(currency)),
    confirm: () => mine(confirmingBlocks),
    head: async () => world.tip().number,
  };
}

/**
 * The accounts of the tests on geth, which keeps no keys: their transactions are signed here.
 */
import { HDNodeWallet, Mnemonic, Transaction } from 'ethers';
import { type EvmNode, GAS_USUAL, type TransactionRequest } from '../support/evm-node.ts';

const MNEMONIC = `${'test '.repeat(11)}junk`;
const COUNT = 10;
/** Beyond the base fee, where a request names none: what geth suggests while nobody pays more. */
const TIP_WEI = 10n ** 6n;
const TRANSFER_GAS = 21_000n;

const root = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(MNEMONIC), "m/44'/60'/0'/0");
const wallets = new Map(
  Array.from({ length: COUNT }, (_, at) => root.deriveChild(at)).map((one) => [one.address.toLowerCase(), one]),
);

export const accounts: readonly string[] = [...wallets.keys()];

export type Sender = Pick<EvmNode, 'send' | 'sendRaw'> &
  Readonly<{
    /** Signs a transaction with the sender's next number, or this one. */
    sign(request: TransactionRequest, nonce?: number): Promise<string>;
  }>;

/** Signs for a chain and sends to its node. Each transaction has the number after those in the node's pool. */
export function openSender(chainId: number, rpc: EvmNode['rpc']): Sender {
  let last: Promise<unknown> = Promise.resolve();
  const sendRaw = (raw: string) => rpc<string>('eth_sendRawTransaction', [raw]);

  async function sign(request: TransactionRequest, nonce?: number): Promise<string> {
    const from = (request.from ?? accounts[0] ?? '').toLowerCase();
    const next = async () => Number(await rpc<string>('eth_getTransactionCount', [from, 'pending']));
    const { baseFeePerGas } = await rpc<{ baseFeePerGas: string }>('eth_getBlockByNumber', ['latest', false]);
    const tip = BigInt(request.maxPriorityFeePerGas ?? TIP_WEI);
    const signed = await wallets.get(from)?.signTransaction({
      type: 2,
      chainId,
      nonce: nonce ?? (await next()),
      to: request.to ?? null,
      data: request.data ?? '0x',
      value: BigInt(request.value ?? 0),
      gasLimit: BigInt(request.gas ?? GAS_USUAL),
      maxPriorityFeePerGas: tip,
      maxFeePerGas:
        request.maxFeePerGas === undefined ? 4n * BigInt(baseFeePerGas) + tip : BigInt(request.maxFeePerGas),
    });
    if (signed === undefined) throw new Error(`${from} is not one of the accounts`);
    return signed;
  }

  return {
    sendRaw,
    sign,
    /** One after the other: the next number is known when the last one is in the pool. */
    send(request) {
      const sent = last.then(async () => sendRaw(await sign(request)));
      last = sent.catch(() => {});
      return sent;
    },
  };
}

/** Returns transactions of the accounts that do nothing, each with the sender and number of one of these. */
export async function rivalsOf(raws: readonly string[]): Promise<string[]> {
  const rivals: string[] = [];
  for (const raw of raws) {
    const { from, nonce, chainId, maxFeePerGas } = Transaction.from(raw);
    const wallet = wallets.get(from?.toLowerCase() ?? '');
    if (!wallet) continue;
    const fees = { maxFeePerGas, maxPriorityFeePerGas: TIP_WEI };
    rivals.push(await wallet.signTransaction({ type: 2, chainId, nonce, to: from, gasLimit: TRANSFER_GAS, ...fees }));
  }
  return rivals;
}

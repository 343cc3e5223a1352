/**
 * Reads signed EVM payouts with ethers.
 */
import { getAddress, Interface, Transaction } from 'ethers';
import type { ReadBySdk } from '../../second-opinion.ts';

const erc20 = new Interface(['function transfer(address to, uint256 value)']);
const keyOf = (address: string): string => address.slice(2).toLowerCase();

export const readBySdk: ReadBySdk = (bytes, tokens) => {
  const text = `0x${Buffer.from(bytes).toString('hex')}`;
  const transaction = Transaction.from(text);
  const { type, from, to, hash, chainId, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas, value } = transaction;
  if (type !== 2 || from === null || to === null || hash === null || transaction.serialized !== text)
    throw new Error('it is not a signed EIP-1559 transaction to an address');
  if ((transaction.accessList ?? []).length > 0) throw new Error('it has an access list');
  const token = tokens.find(({ address }) => getAddress(address) === to);
  const effect = { token: null, from: keyOf(from), to: keyOf(to), units: value };
  if (token && value > 0n) throw new Error('it sends native coin to a token');
  if (!token && transaction.data !== '0x') throw new Error(`it calls ${to}, which is not a token of this network`);
  return {
    tx: hash,
    chainId: chainId.toString(),
    signers: [effect.from],
    effects: [token ? { ...effect, token: token.address, ...readTransfer(transaction.data) } : effect],
    terms: {
      nonce: String(nonce),
      gas_limit: String(gasLimit),
      max_fee_per_gas: String(maxFeePerGas),
      max_priority_fee_per_gas: String(maxPriorityFeePerGas),
    },
  };
};

/** @throws Error for any other call, or for data after the arguments */
function readTransfer(data: string): Readonly<{ to: string; units: bigint }> {
  const [to, units] = erc20.decodeFunctionData('transfer', data);
  if (erc20.encodeFunctionData('transfer', [to, units]) !== data) throw new Error('its call has more than arguments');
  return { to: keyOf(String(to)), units: BigInt(units) };
}

/**
 * Reads signed TRON payouts with tronweb.
 */
import { createHash } from 'node:crypto';
import { utils } from 'tronweb';
import type { ReadBySdk, SdkReading } from '../../second-opinion.ts';

/** A message class of tronweb, which has no type for it and keeps it in a global variable. */
type Raw = Readonly<{ serializeBinary(): Uint8Array; getContractList(): readonly Readonly<{ getType(): number }>[] }>;
type Signed = Readonly<{
  getRawData(): Raw;
  getSignatureList_asU8(): readonly Uint8Array[];
  serializeBinary(): Uint8Array;
}>;
type Proto = Readonly<{ Transaction: Readonly<{ deserializeBinary(bytes: Uint8Array): Signed }> }>;

/** Numbers of `ContractType`. */
const names: Readonly<Record<number, string>> = {
  1: 'TransferContract',
  31: 'TriggerSmartContract',
  57: 'DelegateResourceContract',
  58: 'UnDelegateResourceContract',
};

/** The last byte of a signature: the recovery bit plus 27. */
const RECOVERY_BYTES: readonly number[] = [27, 28];

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
/** Addresses are 21 bytes, the first of them 0x41. */
const keyOf = (address: unknown): string => String(address).toLowerCase().replace(/^41/, '');

/** The raw data as tronweb returns it. */
type RawData = Readonly<{
  contract: readonly Readonly<{ parameter: Readonly<{ value: Readonly<Record<string, unknown>> }> }>[];
  ref_block_hash: string;
  timestamp: number;
  expiration: number;
  fee_limit?: number;
}>;

export const readBySdk: ReadBySdk = (bytes, tokens) => {
  const { Transaction } = (globalThis as unknown as { TronWebProto: Proto }).TronWebProto;
  const signed = Transaction.deserializeBinary(bytes);
  const raw = signed.getRawData();
  const [signature, ...more] = signed.getSignatureList_asU8();
  const [contract, ...others] = raw.getContractList();
  const name = names[contract?.getType() ?? 0];
  if (!signature || more.length > 0 || others.length > 0 || name === undefined)
    throw new Error('it is not one contract of a known kind with one signature');
  // tronweb also accepts other spellings of the recovery bit, whose bytes are not those that were signed and stored.
  if (signature.length !== 65 || !RECOVERY_BYTES.includes(signature[64] ?? 0))
    throw new Error('its signature is not spelled as the signer spells it');
  const rawHex = hexOf(raw.serializeBinary());
  const data = utils.deserializeTx.deserializeTransaction(name, rawHex) as unknown as RawData;
  const { txJsonToPb, txPbToRawDataHex } = utils.transaction;
  const again = String(txPbToRawDataHex(txJsonToPb({ raw_data: data }))).replace(/^0x/, '');
  if (again.toLowerCase() !== rawHex || hexOf(signed.serializeBinary()) !== hexOf(bytes))
    throw new Error('it contains something besides its payment');
  const tx = createHash('sha256').update(Buffer.from(rawHex, 'hex')).digest('hex');
  const signer = keyOf(utils.crypto.ecRecover(tx, hexOf(signature)));
  const value = data.contract[0]?.parameter.value ?? {};
  const effect = readEffect(name, value, tokens);
  if (keyOf(value.owner_address) !== signer) throw new Error('its owner has not signed it');
  return {
    tx,
    chainId: null,
    signers: [signer],
    effects: [effect],
    terms: {
      ref_block_hash: data.ref_block_hash.toLowerCase(),
      timestamp_ms: String(data.timestamp),
      expiration_ms: String(data.expiration),
      fee_limit: String(data.fee_limit ?? 0),
    },
  };
};

function readEffect(
  name: string,
  value: Readonly<Record<string, unknown>>,
  tokens: Parameters<ReadBySdk>[1],
): SdkReading['effects'][number] {
  const owner = keyOf(value.owner_address);
  if (name === 'TransferContract') {
    return { token: null, from: owner, to: keyOf(value.to_address), units: BigInt(String(value.amount)) };
  }
  if (name !== 'TriggerSmartContract') {
    if (value.resource !== 'ENERGY' || value.lock === true)
      throw new Error('it is not a loan of energy without a lock');
    const [from, to] = [owner, keyOf(value.receiver_address)];
    const isBack = name === 'UnDelegateResourceContract';
    return { token: null, from: isBack ? to : from, to: isBack ? from : to, units: BigInt(String(value.balance)) };
  }
  const contract = utils.address.fromHex(String(value.contract_address));
  const token = tokens.find(({ address }) => address === contract);
  if (!token) throw new Error(`it calls ${contract}, which is not a token of this network`);
  if (Number(value.call_value ?? 0) !== 0) throw new Error('it sends TRX with its call');
  const [, to, digits] = /^a9059cbb0{24}([0-9a-f]{40})([0-9a-f]{64})$/.exec(String(value.data).toLowerCase()) ?? [];
  if (to === undefined) throw new Error('its call is not a transfer');
  return { token: token.address, from: owner, to, units: BigInt(`0x${digits}`) };
}

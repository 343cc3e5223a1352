/**
 * The transaction pool of a simulated java-tron and the rules of its blocks. Rules, codes and texts are java-tron's
 * (`Manager.processTransaction`, `Wallet.broadcastTransaction`).
 */

import { tronAddress } from '../chains/tron/address.ts';
import { readTransaction, type TronTransaction } from '../chains/tron/transaction-bytes.ts';
import { invariant } from '../core/fault.ts';
import { DAY_MS } from '../lib/clock.ts';
import { readTransferCall } from './abi.ts';
import type { Accounts } from './accounts.ts';
import type { WorldBlock } from './block-tree.ts';
import { type Admit, chooseForBlock } from './mempool.ts';
import type { SignedTransaction, WorldTransaction } from './transaction.ts';
import { checkSigner, readBroadcast, TronRefusal } from './tron-broadcast.ts';
import {
  allowances,
  chargeBytes,
  chargeEnergy,
  ENERGY_OF_REVERT,
  NEW_ACCOUNT_BYTES_SUN,
  NEW_ACCOUNT_SUN,
  RESULT_BYTES,
  SUN_PER_TRX,
  transferEnergy,
} from './tron-resources.ts';
import type { World } from './world.ts';

/** Blocks that a transaction may refer to, identified by two bytes. */
const REFERENCES = 0x1_0000;
const REFERENCE = { from: 16, to: 32 } as const;

function checkReference(world: Pick<World, 'tip' | 'at'>, { refBlockBytes, refBlockHash }: TronTransaction): void {
  const tip = world.tip().number;
  const back = (tip - Number.parseInt(refBlockBytes, 16) + REFERENCES) % REFERENCES;
  const block: WorldBlock | undefined = world.at(tip - back);
  if (block?.hash.slice(REFERENCE.from, REFERENCE.to) === refBlockHash) return;
  throw new TronRefusal('TAPOS_ERROR', 'Tapos check error.');
}

/**
 * Checks the expiration.
 * @param headS the time of the block before the one that would include it
 */
function checkExpiration({ expirationMs }: TronTransaction, headS: number): void {
  const headMs = headS * 1000;
  if (expirationMs > BigInt(headMs) && expirationMs <= BigInt(headMs + DAY_MS)) return;
  throw new TronRefusal('TRANSACTION_EXPIRATION_ERROR', 'Transaction expired');
}

const invalid = (text: string) => new TronRefusal('CONTRACT_VALIDATE_ERROR', `Contract validate error : ${text}`);

/**
 * Returns the effect of a transaction, whatever the state. Tokens move by `transfer` only, and any other call of a
 * token reverts.
 */
function effectOf({ action }: TronTransaction): Pick<WorldTransaction, 'target' | 'entries' | 'native' | 'lent'> {
  switch (action.kind) {
    case 'trigger': {
      const call = readTransferCall(action.data);
      const { contract, owner } = action;
      const entries = call ? [{ kind: 'transfer' as const, token: contract, from: owner, ...call }] : [];
      return { target: contract, entries };
    }
    case 'transfer':
      return { target: action.to, entries: [], native: [{ from: action.owner, to: action.to, units: action.units }] };
    case 'delegate':
    case 'undelegate': {
      const { owner, to } = action;
      const units = action.kind === 'delegate' ? action.units : -action.units;
      const lent = [
        { from: owner, to: owner, units: -units },
        { from: owner, to, units },
      ];
      return { target: to, entries: [], lent };
    }
  }
}

/**
 * Checks what must hold before the contract is executed.
 * @throws TronRefusal
 */
function checkContract({ action }: TronTransaction, fee: bigint, accounts: Accounts): void {
  const { owner } = action;
  const balance = accounts.native(owner);
  switch (action.kind) {
    case 'trigger':
      return;
    case 'transfer':
      if (owner === action.to) throw invalid('Cannot transfer TRX to yourself.');
      if (balance < action.units + fee) throw invalid('Validate TransferContract error, balance is not sufficient.');
      return;
    case 'delegate':
      if (action.units < SUN_PER_TRX) throw invalid('delegateBalance must be greater than or equal to 1 TRX');
      if (accounts.lent(owner, owner) < action.units) {
        throw invalid('delegateBalance must be less than or equal to available FreezeEnergyV2 balance');
      }
      if (owner === action.to) throw invalid('receiverAddress must not be the same as ownerAddress');
      if (!accounts.isKnown(action.to)) throw invalid(`Account[${tronAddress.format(action.to)}] not exists`);
      return;
    case 'undelegate':
      if (accounts.lent(owner, action.to) < action.units) {
        throw invalid('insufficient delegatedFrozenBalance(Energy), request=more than is lent');
      }
  }
}

/** Reads a transaction that was accepted before. */
function readBack({ signed }: SignedTransaction): TronTransaction {
  const transaction = readTransaction(Buffer.from(signed.bytes, 'hex'));
  invariant(transaction, 'the pool has read these bytes');
  return transaction;
}

/**
 * Returns the transaction as a block includes it after these accounts.
 * @throws TronRefusal if no block may include it
 */
function execute(candidate: SignedTransaction, accounts: Accounts, timeS: number): SignedTransaction {
  const transaction = readBack(candidate);
  const { action, feeLimit } = transaction;
  const { owner } = action;
  if (!accounts.isKnown(owner)) throw invalid(`account [${tronAddress.format(owner)}] does not exist`);
  const allowed = allowances(accounts, owner, timeS);
  const makesAccount = action.kind === 'transfer' && !accounts.isKnown(action.to);
  const size = candidate.signed.bytes.length / 2 + RESULT_BYTES;
  const bytes = makesAccount
    ? { allowedBytes: 0, sun: NEW_ACCOUNT_BYTES_SUN + NEW_ACCOUNT_SUN }
    : chargeBytes(size, allowed.bytes);
  const balance = accounts.native(owner) - BigInt(bytes.sun);
  if (balance < 0n) throw new TronRefusal('BANDWITH_ERROR', 'Account resource insufficient error.');
  checkContract(transaction, BigInt(bytes.sun), accounts);
  const { allowedBytes } = bytes;
  if (action.kind !== 'trigger') {
    const execution = { result: 'SUCCESS', energy: 0, allowedEnergy: 0, allowedBytes, timeS };
    return { ...candidate, signed: { ...candidate.signed, feeUnits: BigInt(bytes.sun), execution } };
  }
  const [entry] = candidate.entries;
  const reverts = !candidate.succeeded || !entry || accounts.token(entry.token, owner) < entry.units;
  const needed = reverts ? ENERGY_OF_REVERT : transferEnergy(accounts, entry.token, entry.to);
  const { isEnough, energy, allowedEnergy, sun } = chargeEnergy(needed, { allowed: allowed.energy, balance, feeLimit });
  const result = !isEnough ? 'OUT_OF_ENERGY' : reverts ? 'REVERT' : 'SUCCESS';
  const execution = { result, energy, allowedEnergy, allowedBytes, timeS };
  const feeUnits = BigInt(bytes.sun + sun);
  return { ...candidate, succeeded: result === 'SUCCESS', signed: { ...candidate.signed, feeUnits, execution } };
}

/**
 * @param tokens keys of the contracts that exist
 * @param contracts keys of all contracts, to which no TRX can be sent
 */
export function openTronPool(
  world: Pick<World, 'tip' | 'at' | 'find' | 'pending' | 'accounts'>,
  tokens: readonly string[],
  contracts: readonly string[] = tokens,
) {
  return {
    /**
     * Returns the transaction as it would be pending.
     * @param bytes as sent, in hex
     * @throws TronRefusal, or TronError if they are no transaction
     */
    check(bytes: string): SignedTransaction {
      const transaction = readBroadcast(bytes);
      checkSigner(transaction);
      const { tx: id, signer, action } = transaction;
      const { timeS } = world.tip();
      if (world.find(id) || world.pending().some((waiting) => waiting.id === id)) {
        throw new TronRefusal('DUP_TRANSACTION_ERROR', 'Dup transaction.');
      }
      checkReference(world, transaction);
      checkExpiration(transaction, timeS);
      if (action.kind === 'trigger' && !tokens.includes(action.contract)) {
        throw invalid('No contract or not a smart contract');
      }
      if (action.kind === 'transfer' && contracts.includes(action.to)) {
        throw invalid('Cannot transfer TRX to a smartContract.');
      }
      const signed = { bytes, sequence: null, feeUnits: 0n };
      const candidate = { id, sender: signer, succeeded: true, ...effectOf(transaction), signed };
      // Executed behind the pool to see whether that is possible; its result is decided in its block.
      execute(candidate, poolState(world).accounts, timeS);
      return candidate;
    },
  };
}

/** A block includes what has not expired and can be paid for, whether or not it succeeds. */
export const tronAdmit: Admit = (candidate, accounts, { timeS, parentTimeS }) => {
  try {
    checkExpiration(readBack(candidate), parentTimeS);
    return execute(candidate, accounts, timeS);
  } catch (error) {
    if (error instanceof TronRefusal) return 'drop';
    throw error;
  }
};

/**
 * Returns the pending transactions as the next block would include them now, and the accounts behind them: java-tron
 * answers questions about accounts and contracts from that state.
 */
export function poolState(
  world: Pick<World, 'tip' | 'pending' | 'accounts'>,
): Readonly<{ transactions: readonly WorldTransaction[]; accounts: Accounts }> {
  const { number, timeS } = world.tip();
  const accounts = world.accounts();
  const next = { number: number + 1, timeS, parentTimeS: timeS };
  const { taken } = chooseForBlock(world.pending(), { countMax: Infinity, accounts, admit: tronAdmit, next });
  return { transactions: taken, accounts };
}

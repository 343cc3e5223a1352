/**
 * The methods of java-tron's HTTP interface, answered from a world. Errors have java-tron's texts.
 */
import { readTransferCall, selector, word } from './abi.ts';
import type { Accounts } from './accounts.ts';
import type { WorldBlock } from './block-tree.ts';
import { createTokenCalls } from './token-calls.ts';
import { hexArgument, keyArgument, TronError, type TronQuestion, text, whole } from './tron-arguments.ts';
import { renderBlock, renderCall, renderInfo, renderLog, renderTransaction, revertData } from './tron-render.ts';
import { ENERGY_OF_REVERT, energyPenalty, transferEnergy, unlessZero } from './tron-resources.ts';
import { type Method, type TronChain, tronWalletMethods } from './tron-wallet-methods.ts';
import type { View } from './world.ts';

const HASH = /^[0-9a-f]{64}$/i;
const HEIGHT_CHARS = 16;
/** The energy of reading from a token. */
const VIEW_ENERGY = 541;

/** Why a contract cannot be called, as a constant call reports it. */
const callFailures = {
  missing: ['CONTRACT_VALIDATE_ERROR', 'Smart contract is not exist.'],
  noOwner: ['OTHER_ERROR', "class java.security.InvalidParameterException : owner_address isn't set."],
} as const;

function callFailure(why: keyof typeof callFailures) {
  const [code, message] = callFailures[why];
  return { result: { code, message: Buffer.from(message).toString('hex') } };
}

/** `answer` is null if the contract reverts, with `reason` as its data. */
type Called = Readonly<{ answer: string | null; reason?: string; energy: number; penalty?: number; logs?: object[] }>;

/** Returns the methods by name; each throws `TronError`. */
export function tronMethods({ world, chainId, tokens }: TronChain): ReadonlyMap<string, Method> {
  const calls = createTokenCalls(tokens);
  const [busyToken] = tokens;

  function byIdOrNumber(wanted: string, view: View): WorldBlock | undefined {
    if (wanted === '') return view.tip();
    if (/^\d{1,18}$/.test(wanted)) return view.at(Number(wanted));
    const height = Number.parseInt(wanted.slice(0, HEIGHT_CHARS), 16);
    if (!HASH.test(wanted) || height > view.tip().number) throw new TronError('id must be legal block hash.');
    const block = view.byHash(wanted.toLowerCase());
    // java-tron does not return a block that is no longer canonical.
    return block && view.at(block.number)?.hash === block.hash ? block : undefined;
  }

  /** Returns the transaction that `value` names if it is in a block. */
  function mined(body: TronQuestion['body'], view: View) {
    const place = world.find(hexArgument(body, 'value'));
    const block = place && view.at(place.block.number);
    const transaction = block?.transactions[place?.index ?? 0];
    return block && transaction ? { block, transaction } : null;
  }

  /** Returns what a transfer would return and use in this state. Only the first token is busy enough for a penalty. */
  function tryTransfer(
    accounts: Accounts,
    token: string,
    owner: string,
    { to, units }: { to: string; units: bigint },
  ): Called {
    if (accounts.token(token, owner) < units) return { answer: null, reason: 'balance', energy: ENERGY_OF_REVERT };
    const energy = transferEnergy(accounts, token, to);
    const isBusy = token === busyToken?.key;
    const logs = [renderLog({ kind: 'transfer', token, from: owner, to, units })];
    // As USDT does, it returns nothing.
    return { answer: isBusy ? '' : word('1'), energy, logs, ...(isBusy && { penalty: energyPenalty(energy) }) };
  }

  function call(accounts: Accounts, token: string, owner: string, data: string): Called {
    const transfer = readTransferCall(data);
    if (transfer) return tryTransfer(accounts, token, owner, transfer);
    return { answer: calls.answer(accounts, token, data), energy: VIEW_ENERGY };
  }

  const methods: Record<string, Method> = {
    ...tronWalletMethods({ world, chainId, tokens }),

    getblock({ body, view }) {
      const block = byIdOrNumber(text(body, 'id_or_num'), view);
      return block ? renderBlock(block, body.detail === true) : {};
    },

    gettransactioninfobyblocknum({ body, view }) {
      const number = whole(body, 'num');
      if (number <= 0) return {};
      const block = view.at(number);
      return block ? block.transactions.map((one) => renderInfo(one, block, tokens)) : [];
    },

    gettransactioninfobyid({ body, view }) {
      const found = mined(body, view);
      return found ? renderInfo(found.transaction, found.block, tokens) : {};
    },

    gettransactionbyid({ body, view, pool }) {
      const found = mined(body, view);
      if (found) return renderTransaction(found.transaction, found.block);
      const pending = pool.find(hexArgument(body, 'value'));
      const { hash: parent, timeS } = view.tip();
      return pending ? renderTransaction(pending, { parent, timeS }) : {};
    },

    triggerconstantcontract({ body, view, pool }) {
      const [owner, contract] = [keyArgument(body, 'owner_address'), keyArgument(body, 'contract_address')];
      if (!owner) return callFailure('noOwner');
      if (!calls.isToken(contract)) return callFailure('missing');
      const signature = text(body, 'function_selector');
      const data = hexArgument(body, 'data') || (signature && selector(signature)) + hexArgument(body, 'parameter');
      const { answer, reason, energy, penalty = 0, logs } = call(pool.accounts(), contract, owner, data);
      const hasReverted = answer === null;
      const message = Buffer.from('REVERT opcode executed').toString('hex');
      return {
        result: { result: true, ...(hasReverted && { message }) },
        energy_used: energy,
        constant_result: [answer ?? (reason === undefined ? '' : revertData(reason))],
        ...(logs && { logs }),
        ...unlessZero('energy_penalty', penalty),
        transaction: {
          ret: [hasReverted ? { ret: 'FAILED' } : {}],
          visible: false,
          ...renderCall(owner, contract, data, view.tip()),
        },
      };
    },
  };
  return new Map(Object.entries(methods));
}

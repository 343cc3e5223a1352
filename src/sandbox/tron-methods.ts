/**
 * The methods of java-tron's HTTP interface, answered from a world. Errors have java-tron's texts.
 *
 * @module
 */
import { readTransferCall, selector, word } from './abi.ts';
import type { WorldBlock } from './block-tree.ts';
import type { FaultKind } from './faults.ts';
import { createTokenCalls } from './token-calls.ts';
import { ADDRESS, keyArgument, TronError, type TronQuestion, text, whole } from './tron-arguments.ts';
import { renderBlock, renderInfo, renderTransaction, tronBlockId } from './tron-render.ts';
import { ENERGY_OF_REVERT, transferEnergy } from './tron-resources.ts';
import { type Method, type TronChain, tronWalletMethods } from './tron-wallet-methods.ts';
import type { View } from './view.ts';

const HASH = /^[0-9a-f]{64}$/i;
const HEIGHT_CHARS = 16;
/** The energy of reading from a token. */
const VIEW_ENERGY = 541;

/** The faults that apply to a method besides those of the connection. */
export const tronFaults: ReadonlyMap<string, readonly FaultKind[]> = new Map<string, readonly FaultKind[]>([
  ['getblock', ['wrong_chain', 'lag', 'backwards', 'unknown_block', 'unlinked']],
  ['getnowblock', ['lag', 'backwards']],
  ['getblockbynum', ['lag', 'unknown_block', 'unlinked', 'history_closed']],
  ['getblockbyid', ['lag', 'unknown_block', 'history_closed']],
  ['gettransactioninfobyblocknum', ['lag', 'unknown_block', 'empty_content', 'sibling_content', 'history_closed']],
  ['gettransactioninfobyid', ['lag', 'unknown_block', 'history_closed']],
  ['gettransactionbyid', ['lag', 'unknown_block', 'history_closed']],
  ['triggerconstantcontract', ['wrong_decimals']],
  ['broadcasthex', ['send_dropped', 'send_denied', 'send_failed']],
  ['broadcasttransaction', ['send_dropped', 'send_denied', 'send_failed']],
]);

/** Returns the methods by name; each throws `TronError`. */
export function tronMethods({ world, chainId, tokens }: TronChain): ReadonlyMap<string, Method> {
  const calls = createTokenCalls(world, tokens);

  function show(block: WorldBlock | undefined, detail: boolean, fault: FaultKind | null) {
    if (!block) return {};
    const rendered = renderBlock(block, detail);
    if (fault !== 'wrong_chain' || block.number > 0) return rendered;
    return { ...rendered, blockID: tronBlockId(String(Number(chainId) + 1), 0, block.hash) };
  }

  function byIdOrNumber(wanted: string, view: View): WorldBlock | undefined {
    if (wanted === '') return view.tip();
    if (/^\d{1,18}$/.test(wanted)) return view.at(Number(wanted));
    if (/^-\d+$/.test(wanted)) throw new TronError('num must be non-positive number.');
    const height = Number.parseInt(wanted.slice(0, HEIGHT_CHARS), 16);
    if (!HASH.test(wanted) || height > view.tip().number) throw new TronError('id must be legal block hash.');
    const block = view.byHash(wanted.toLowerCase());
    // java-tron does not return a block that is no longer canonical.
    return block && view.at(block.number)?.hash === block.hash ? block : undefined;
  }

  /** Renders the transaction that `value` names if it is in a block; `{}` otherwise. */
  function renderNamed(body: TronQuestion['body'], view: View, render: typeof renderInfo | typeof renderTransaction) {
    const place = world.find(text(body, 'value').toLowerCase());
    const block = place && view.at(place.block.number);
    const transaction = block?.transactions[place?.index ?? 0];
    return block && transaction ? render(transaction, block) : {};
  }

  /** Returns what a transfer would return and use at the view's head. */
  function tryTransfer(view: View, token: string, owner: string, { to, units }: { to: string; units: bigint }) {
    const accounts = world.accounts(view.tip().number);
    if (accounts.token(token, owner) < units) return { answer: null, energy: ENERGY_OF_REVERT };
    return { answer: word('1'), energy: transferEnergy(accounts, token, to) };
  }

  const methods: Record<string, Method> = {
    ...tronWalletMethods({ world, chainId, tokens }),

    getblock: ({ body, view, fault }) => show(byIdOrNumber(text(body, 'id_or_num'), view), body.detail === true, fault),
    getnowblock: ({ view, fault }) => show(view.tip(), true, fault),
    getblockbynum: ({ body, view, fault }) => show(view.at(whole(body, 'num')), true, fault),
    getblockbyid: ({ body, view, fault }) => show(byIdOrNumber(text(body, 'value') || 'none', view), true, fault),

    gettransactioninfobyblocknum({ body, view }) {
      const number = whole(body, 'num');
      if (number <= 0) return {};
      const block = view.at(number);
      return block ? block.transactions.map((transaction) => renderInfo(transaction, block)) : [];
    },

    gettransactioninfobyid: ({ body, view }) => renderNamed(body, view, renderInfo),
    // Pending transactions are returned by another method.
    gettransactionbyid: ({ body, view }) => renderNamed(body, view, renderTransaction),

    triggerconstantcontract({ body, view, fault }) {
      const [, key] = ADDRESS.exec(text(body, 'contract_address')) ?? [];
      if (!ADDRESS.test(text(body, 'owner_address'))) return refused('OTHER_ERROR', "owner_address isn't set.");
      if (!key || !calls.isToken(key.toLowerCase())) {
        return refused('CONTRACT_VALIDATE_ERROR', 'Smart contract is not exist.');
      }
      const data = text(body, 'data') || selector(text(body, 'function_selector')) + text(body, 'parameter');
      const token = key.toLowerCase();
      const transfer = readTransferCall(data);
      const { answer, energy } = transfer
        ? tryTransfer(view, token, keyArgument(body, 'owner_address'), transfer)
        : { answer: calls.answer(token, data, fault), energy: VIEW_ENERGY };
      return {
        result: {
          result: true,
          ...(answer === null && { message: Buffer.from('REVERT opcode executed').toString('hex') }),
        },
        energy_used: energy,
        constant_result: [answer ?? ''],
        transaction: { ret: [answer === null ? { ret: 'FAILED' } : {}], visible: false },
      };
    },
  };
  return new Map(Object.entries(methods));
}

const refused = (code: string, message: string) => ({
  result: { code, message: Buffer.from(message).toString('hex') },
});

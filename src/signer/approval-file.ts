/**
 * Files that carry an approval to another machine and back. From the request, the approver's machine makes the text
 * that it shows and signs. The form of both files is checked, because they come from another machine.
 */
import { readFileSync, statSync } from 'node:fs';
import * as z from 'zod';
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import { permanent } from '../core/fault.ts';
import { isPayback } from '../core/intent.ts';
import { currencies } from '../core/transfer.ts';
import { type ApprovalText, paybackText } from './approval.ts';
import { thawText } from './freeze.ts';
import { canonicalIntent } from './journal.ts';
import { type Approval, approval, fingerprint, intentWire, signerFreeze } from './protocol.ts';

const FILE_BYTES_MAX = 64 * 1024;

const requestFile = z.discriminatedUnion('request', [
  z.strictObject({ request: z.literal('quayside signer thaw v1'), fingerprint, freeze: signerFreeze }),
  z.strictObject({
    request: z.literal('quayside payout approval v2'),
    intent: intentWire,
    family: z.enum(Object.keys(chains) as [Family, ...Family[]]),
    chain_id: z.string().regex(/^[0-9A-Za-z]{1,64}$/),
    token: z.strictObject({
      symbol: z.enum(currencies),
      address: z.string().regex(/^[0-9A-Za-z]{1,64}$/),
      decimals: z.int().min(0).max(36),
    }),
  }),
]);
export type ApprovalRequest = z.output<typeof requestFile>;

const approvalFile = z.strictObject({ approves: z.string(), ...approval.unwrap().shape });

/** Returns the lines that an approver of the request signs. */
export function textOf(request: ApprovalRequest): ApprovalText {
  if (request.request === 'quayside signer thaw v1') return thawText(request.fingerprint, request.freeze);
  const { intent, family, chain_id: chainId, token } = request;
  if (!isPayback(intent) || intent.currency !== token.symbol || !isAddressKey(family, intent.to))
    throw permanent('approval_file_invalid', 'the request is not for a refund that its network can pay');
  return paybackText(intent, canonicalIntent(intent), { family, chainId, token });
}

const isAddressKey = (family: Family, key: string): boolean => {
  const { address } = chains[family];
  try {
    return address.parse(address.format(key)) === key;
  } catch {
    return false;
  }
};

/** Returns the lines of a request's file. */
export const requestLines = (request: ApprovalRequest): string[] =>
  JSON.stringify(z.encode(requestFile, request), null, 2).split('\n');

/** Reads a request for an approval. @throws Fault permanent `approval_file_invalid` */
export const readRequestFile = (file: string): ApprovalRequest =>
  parse(file, readSmallFile(file), requestFile, 'a request for an approval');

/** Reads an approver's signature. @throws Fault permanent `approval_file_invalid` */
export const readApprovalFile = (file: string): Approval => parseApproval(file, readSmallFile(file));

/**
 * Reads an approver's signature.
 * @param file the file's name, for messages
 * @throws Fault permanent `approval_file_invalid`
 */
export function parseApproval(file: string, text: string): Approval {
  const { approver, untilS, signature } = parse(file, text, approvalFile, 'an approval by `quayside-signer approve`');
  return { approver, untilS, signature };
}

const invalid = (file: string, why: string) => permanent('approval_file_invalid', `${file} cannot be used: ${why}`);

/** Reads a file that carries an approval or a request. @throws Fault permanent `approval_file_invalid` */
export function readSmallFile(file: string, encoding: 'utf8' | 'base64' = 'utf8'): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw invalid(file, 'there is no such file');
  if (found.size > FILE_BYTES_MAX) throw invalid(file, `it has more than ${FILE_BYTES_MAX} bytes`);
  return readFileSync(file, encoding);
}

function parse<S extends z.ZodType>(file: string, text: string, schema: S, what: string): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(file, `it is not JSON, so it is not ${what} or was cut off; copy it again`);
  }
  const { data, error } = schema.safeParse(value);
  if (data === undefined) throw invalid(file, `it is not ${what}: ${z.prettifyError(error as z.ZodError)}`);
  return data;
}

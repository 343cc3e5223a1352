/**
 * The files that carry an approval to another machine and back: a request, from which the approver's machine makes the
 * text that it shows and signs, and the approval. Their form is checked, because they come from elsewhere.
 * @module
 */
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { permanent } from '../core/fault.ts';
import type { ApprovalText } from './approval.ts';
import { thawText } from './freeze.ts';
import { approval, fingerprint, signerFreeze } from './protocol.ts';
import type { Approval } from './signer.ts';

const FILE_BYTES_MAX = 64 * 1024;

const requestFile = z.discriminatedUnion('request', [
  z.strictObject({ request: z.literal('quayside signer thaw v1'), fingerprint, freeze: signerFreeze }),
]);
export type ApprovalRequest = z.infer<typeof requestFile>;

const approvalFile = z.strictObject({ approves: z.string(), ...approval.shape });

/** Returns the lines that an approver of the request signs. */
export const textOf = (request: ApprovalRequest): ApprovalText => thawText(request.fingerprint, request.freeze);

/** Reads what is to be approved. @throws Fault permanent `approval_file_invalid` */
export const readRequestFile = (file: string): ApprovalRequest => read(file, requestFile, 'a request for an approval');

/** Reads an approver's signature. @throws Fault permanent `approval_file_invalid` */
export function readApprovalFile(file: string): Approval {
  const { approver, untilS, signature } = read(file, approvalFile, 'an approval by `quayside signer approve`');
  return { approver, untilS, signature };
}

function read<S extends z.ZodType>(file: string, schema: S, what: string): z.output<S> {
  const invalid = (why: string) => permanent('approval_file_invalid', `${file} is not ${what}: ${why}`);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw invalid('there is no such file');
  if (found.size > FILE_BYTES_MAX) throw invalid(`it has more than ${FILE_BYTES_MAX} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw invalid('it is not JSON; copy it again');
  }
  const { data, error } = schema.safeParse(value);
  if (data === undefined) throw invalid(z.prettifyError(error as z.ZodError));
  return data;
}

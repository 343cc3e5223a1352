/**
 * Ends a freeze of the signer (`quayside payout freeze`) with an approver's signature, which is made on the approver's
 * own machine.
 */
import { resolve } from 'node:path';
import { permanent } from '../../src/core/fault.ts';
import { systemClock, toSeconds } from '../../src/lib/clock.ts';
import {
  type ApprovalRequest,
  readApprovalFile,
  readRequestFile,
  requestLines,
  textOf,
} from '../../src/signer/approval-file.ts';
import { openConfiguredSigner, type Signer } from '../../src/signer/client.ts';
import { readOperatorKey } from '../../src/signer/operator-key.ts';
import type { FreezeState } from '../../src/signer/protocol.ts';
import { moment, type OfflineCommand, textOption } from './command.ts';
import { dirOption, filesOf } from './signer-policy.ts';
import { withSecret, withTerminal } from './terminal.ts';

const APPROVAL_S = 24 * 3600;

export const signerThaw: OfflineCommand = {
  name: 'thaw',
  summary: 'End a freeze of the signer: print what an approver is to sign, then hand the signature in.',
  options: {
    dir: dirOption,
    approval: { value: 'FILE', help: 'what `quayside-signer approve` wrote; without it, the request is printed' },
  },
  notes: [
    '1. here: quayside-signer thaw > thaw.json',
    '2. on the approver’s machine: quayside-signer approve thaw.json --key anna.key > thawed.json',
    '3. here: quayside-signer thaw --approval thawed.json',
    'A signature ends only the freeze that it was made for.',
  ],
  async runOffline(input) {
    const { dir } = filesOf(input);
    const file = textOption(input, 'approval');
    if (file === undefined) {
      const { fingerprint, freeze } = await withSigner(dir, (signer) => signer.freezeState());
      if (!freeze) throw permanent('not_frozen', 'the signer is not frozen');
      const request: ApprovalRequest = { request: 'quayside signer thaw v1', fingerprint, freeze };
      return { json: request, lines: requestLines(request) };
    }
    const approval = readApprovalFile(resolve(input.cwd, file));
    const state = await withSigner(dir, (signer) => signer.thaw(approval));
    return { json: { ...state, approver: approval.approver }, lines: freezeLines(state) };
  },
};

export const signerApprove: OfflineCommand = {
  name: 'approve',
  args: '<file>',
  summary: 'Show what a request asks for and sign it, on the approver’s own machine; prints the approval.',
  options: {
    key: {
      value: 'FILE',
      help: 'a key made by `quayside-signer init --key FILE`; you are asked for its passphrase',
      isRequired: true,
    },
  },
  notes: ['Needs no installation and no network. You sign what is shown, line by line; it is valid for a day.'],
  async runOffline(input) {
    const request = readRequestFile(resolve(input.cwd, input.args[0] ?? ''));
    const keyFile = textOption(input, 'key') ?? '';
    const key = readOperatorKey(resolve(input.cwd, keyFile));
    const untilS = toSeconds(systemClock.nowMs()) + APPROVAL_S;
    const text = textOf(request);
    const lines = text(untilS);
    return withTerminal(async (terminal) => {
      terminal.say('You are about to sign:');
      for (const line of lines) terminal.say(`  ${line}`);
      terminal.say(`  (until ${moment(untilS * 1000)} UTC)`);
      if ((await terminal.ask('Type "yes" if this is what you want: ')) !== 'yes')
        throw permanent('refused', 'nothing was signed');
      return withSecret(terminal.askHidden(`Passphrase of ${keyFile} (not shown): `), (passphrase) => {
        const approval = { approves: lines.slice(0, -1).join('; '), ...key.approve(passphrase, text, untilS) };
        return { json: approval, lines: JSON.stringify(approval, null, 2).split('\n') };
      });
    });
  },
};

/** Opens the signer of a folder for `work`. @throws Fault transient `signer_unreachable` */
export async function withSigner<T>(dir: string, work: (signer: Signer) => Promise<T>): Promise<T> {
  const signer = openConfiguredSigner({ dir });
  try {
    return await work(signer);
  } finally {
    await signer.close();
  }
}

/** Describes whether the signer is frozen and, if so, what ends that. */
export function freezeLines({ freeze, approvers }: FreezeState): string[] {
  if (!freeze) return ['the signer is not frozen'];
  const { number, reason, frozenBy, frozenAtMs } = freeze;
  return [
    `the signer is frozen on every network, by ${frozenBy} since ${moment(frozenAtMs)}: ${reason} (freeze ${number})`,
    approvers.length > 0
      ? `an approver ends that (${approvers.join(', ')}); \`quayside-signer thaw --help\` shows how`
      : 'its policy names no approver, so nothing can end that yet: create a key with `quayside-signer init --key FILE`, add it to `approvers` in the signer’s policy.json and restart the signer; then see `quayside-signer thaw --help`',
  ];
}

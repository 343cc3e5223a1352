/**
 * Signs a request with an approver's key, on the approver's own machine: it needs no installation, database or network.
 */
import { resolve } from 'node:path';
import { permanent } from '../../src/core/fault.ts';
import { systemClock, toSeconds } from '../../src/lib/clock.ts';
import { APPROVAL_S_MAX } from '../../src/signer/approval.ts';
import { readRequestFile, textOf } from '../../src/signer/approval-file.ts';
import { readOperatorKey } from '../../src/signer/operator-key.ts';
import { moment, type OfflineCommand, textOption, usage, wholeOption } from './command.ts';
import { withTerminal } from './signer.ts';

export const signerApprove: OfflineCommand = {
  name: 'approve',
  args: ['file'],
  summary: 'Show what a request asks for and sign it, on the approver’s own machine; prints the approval.',
  options: {
    key: {
      value: 'FILE',
      help: 'a key made by `quayside-signer init --approver FILE`; you are asked for its passphrase',
      required: true,
    },
    hours: { value: 'N', help: 'how many hours the approval is valid (24)' },
  },
  notes: ['Needs no installation and no network. What is shown is, line by line, what is signed.'],
  async runOffline(input) {
    const request = readRequestFile(resolve(input.cwd, input.args[0] ?? ''));
    const keyFile = textOption(input, 'key');
    if (keyFile === undefined)
      throw usage('--key is missing: the approver’s key, made by `quayside-signer init --approver FILE`');
    const key = readOperatorKey(resolve(input.cwd, keyFile));
    const untilS = toSeconds(systemClock.nowMs()) + wholeOption(input, 'hours', 1, APPROVAL_S_MAX / 3600, 24) * 3600;
    const text = textOf(request);
    const lines = text(untilS);
    return withTerminal(async (terminal) => {
      terminal.say('You are about to sign:');
      for (const line of lines) terminal.say(`  ${line}`);
      terminal.say(`  (until ${moment(untilS * 1000)} UTC)`);
      if ((await terminal.ask('Type "yes" if this is what you want: ')) !== 'yes')
        throw permanent('refused', 'nothing was signed');
      const passphrase = await terminal.askHidden(`Passphrase of ${keyFile} (not shown): `);
      try {
        const approval = { approves: lines.slice(0, -1).join('; '), ...key.approve(passphrase, text, untilS) };
        return { json: approval, lines: JSON.stringify(approval, null, 2).split('\n') };
      } finally {
        passphrase.fill(0);
      }
    });
  },
};

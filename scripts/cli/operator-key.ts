/**
 * An approver's key: made on the operator's own machine, its public half carried to the signer's policy by hand.
 * @module
 */
import { resolve } from 'node:path';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import { type OfflineCommand, textOption, usage } from './command.ts';
import { askNewPassphrase, withTerminal } from './signer.ts';

export const signerOperatorKey: OfflineCommand = {
  name: 'signer operator-key',
  args: [],
  summary: 'Make a key that approves refunds beyond the signer’s caps, on the approver’s own machine.',
  options: { out: { value: 'FILE', help: 'where to write the key, under a passphrase; never written over' } },
  runOffline: (input) =>
    withTerminal(async (terminal) => {
      const out = textOption(input, 'out');
      if (!out) throw usage('--out is missing');
      const passphrase = await askNewPassphrase(terminal, 'Passphrase for the key');
      try {
        const file = resolve(input.cwd, out);
        const approver = createOperatorKey(file, passphrase);
        return {
          json: { file, approver },
          lines: [
            `${file} holds the key; its public half is ${approver}`,
            `Add {"name": "…", "key": "${approver}"} to "approvers" in the signer’s policy.json and restart the signer.`,
          ],
        };
      } finally {
        passphrase.fill(0);
      }
    }),
};

/**
 * Creates an approver's key on the operator's own machine. A person copies its public half into the signer's policy.
 * @module
 */
import { resolve } from 'node:path';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import { type OfflineCommand, textOption, usage } from './command.ts';
import { askNewPassphrase, withTerminal } from './signer.ts';

export const signerOperatorKey: OfflineCommand = {
  name: 'signer operator-key',
  args: [],
  summary: 'Create a key that approves refunds above the signer’s caps, on the approver’s own machine.',
  options: {
    out: {
      value: 'FILE',
      help: 'where to write the encrypted key; an existing file is never overwritten',
      required: true,
    },
  },
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
            `wrote the key to ${file}; its public half is ${approver}`,
            `Add {"name": "…", "key": "${approver}"} to "approvers" in the signer’s policy.json and restart the signer.`,
          ],
        };
      } finally {
        passphrase.fill(0);
      }
    }),
};

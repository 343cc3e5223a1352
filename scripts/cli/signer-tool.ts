/** The commands of `quayside-signer`. */
import type { Tool } from './command.ts';
import { signerInit, signerShow } from './signer.ts';
import { signerDrill, signerRestore } from './signer-backup.ts';
import { signerApprove, signerFreeze, signerThaw } from './signer-freeze.ts';
import { signerPolicy } from './signer-policy.ts';

export const signerTool: Tool = {
  name: 'quayside-signer',
  purpose: 'sets up and guards the keys that pay',
  commands: [signerInit, signerShow, signerPolicy, signerDrill, signerRestore, signerFreeze, signerThaw, signerApprove],
  sections: [
    ['Setting up', ['init', 'show', 'policy', 'drill']],
    ['Keeping it', ['restore']],
    ['When something is wrong', ['freeze', 'thaw']],
    ['On an approver’s machine', ['approve']],
  ],
};

/** The commands of `quayside-signer`. */
import { toolOf } from './command.ts';
import { signerInit, signerShow } from './signer.ts';
import { signerDrill, signerRestore } from './signer-backup.ts';
import { signerApprove, signerThaw } from './signer-freeze.ts';
import { signerPolicy } from './signer-policy.ts';

export const signerTool = toolOf('quayside-signer', 'Set up and guard the keys that pay', [
  ['Setting up', [signerInit, signerShow, signerPolicy, signerDrill]],
  ['Keeping it', [signerRestore]],
  ['When something is wrong', [signerThaw]],
  ['On an approver’s machine', [signerApprove]],
]);

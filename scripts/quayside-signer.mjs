#!/usr/bin/env node
// Runs the `quayside-signer` command from dist/.
import { existsSync } from 'node:fs';

const program = new URL('../dist/scripts/quayside-signer.js', import.meta.url);
if (existsSync(program)) {
  // By itself first: on a very old Node, the program's own modules could not even be linked.
  await import(new URL('../dist/src/lib/runtime.js', import.meta.url).href);
  await import(program.href);
} else {
  process.stderr.write(
    'quayside-signer: there is no dist/ yet: run `npm ci`, or `npm run build` where packages are installed\n',
  );
  process.exitCode = 2;
}

/**
 * The bridge beside java-tron, on the machine where the node runs: `npx quayside tron-ws`, or this file alone.
 * `tron-ws.md` describes how to set it up.
 */
import '../src/lib/runtime.ts';
import { runTronWs } from './cli/tron-ws.ts';

process.exitCode = await runTronWs(process.argv.slice(2));

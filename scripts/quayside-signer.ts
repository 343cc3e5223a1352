/**
 * The signer's own tool: `npx quayside-signer <command>`, as the user who has the signer's folder, or on an approver's
 * machine. The process that signs is another program, `src/signer/main.ts`.
 */
import '../src/lib/runtime.ts';
import { nameSources } from '../src/lib/stack-trace.ts';
import { signerTool } from './cli/signer-tool.ts';
import { runTool } from './cli/tool.ts';

nameSources();
const { code, out, err } = await runTool(signerTool, process.argv.slice(2), process.env, process.cwd());
process.stdout.write(out);
process.stderr.write(err);
process.exitCode = code;

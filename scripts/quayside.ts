/**
 * The operator's tool: `npx quayside <command>`. Works on the installation that the configuration names, whether the
 * server is running or not.
 */
import '../src/lib/runtime.ts';
import { nameSources } from '../src/lib/stack-trace.ts';
import { quaysideTool } from './cli/quayside.ts';
import { runTool } from './cli/tool.ts';

nameSources();
const { code, out, err } = await runTool(quaysideTool, process.argv.slice(2), process.env, process.cwd());
process.stdout.write(out);
process.stderr.write(err);
process.exitCode = code;

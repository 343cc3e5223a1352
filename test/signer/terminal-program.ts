/**
 * Shows the same text in each way that commands show one at the terminal: as a line, as a question, as a question whose
 * answer is hidden, and as progress.
 */
import { openProgress } from '../../scripts/cli/output.ts';
import { openTerminal } from '../../src/signer/terminal.ts';

const [text = ''] = process.argv.slice(2);
const screen = { isTTY: true, columns: 200, write: (shown: string | Uint8Array) => process.stderr.write(shown) };
const terminal = openTerminal();
terminal.say(text);
const typed = await terminal.ask(text);
(await terminal.askHidden(text)).fill(0);
openProgress(screen).show(text);
terminal.close();
process.stdout.write(typed);

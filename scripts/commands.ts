/** Writes `docs/reference/commands.md` from the tables of commands. */
import { writeFileSync } from 'node:fs';
import { commandsPage } from './cli/commands-page.ts';

writeFileSync('docs/reference/commands.md', commandsPage());

/** The page `docs/reference/commands.md`, from the tables of commands: `npm run commands` writes it. */
import type { Tool } from './command.ts';
import { quaysideTool } from './quayside.ts';
import { signerTool } from './signer-tool.ts';

/** Returns the page as Markdown. */
export const commandsPage = (): string =>
  [
    '# Commands',
    '',
    'Written by `npm run commands`. `quayside <command> --help` says more, with arguments and options; all have `--json`.',
    'Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration, 3 what was named does not exist.',
    ...[quaysideTool, signerTool].flatMap(toolLines),
    '',
  ].join('\n');

const toolLines = ({ name, sections }: Tool): string[] =>
  sections.flatMap(([title, commands]) => [
    '',
    `## ${name}: ${title.toLowerCase()}`,
    '',
    ...commands.map((command) => `- \`${command.name}\`: ${firstClause(command.summary)}`),
  ]);

/** Returns a summary up to its first colon or full stop: `--help` says the rest. */
const firstClause = (summary: string): string => summary.replace(/[:;.] .*$/, '.');

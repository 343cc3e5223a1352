/** The options of commands: those that every command has, and how an option is shown. */
import type { Option } from './command.ts';

export const everywhere: Readonly<Record<string, Option>> = {
  json: { help: 'print the answer as JSON' },
  help: { help: 'show this text' },
};

/** Returns the placeholder of an option's value; null for a switch. */
export const placeholder = ({ value, choices }: Option): string | null => value ?? choices?.join('|') ?? null;

/**
 * Starts and stops the services of an installed node, with the time that each client needs to stop, and shows them.
 * @module
 */
import { resolve } from 'node:path';
import { changeService, readState, runSystemd, type Service, servicesOf, UNIT_DIR } from '../nodes/services.ts';
import {
  dryRunOption,
  type Input,
  type OfflineCommand,
  type Option,
  table,
  textOption,
  wholeOption,
} from './command.ts';

const unitDirOption: Option = { value: 'DIR', help: `where its systemd units are (${UNIT_DIR})` };
const LINES = 100;
const LINES_MAX = 10_000;
const options = { 'unit-dir': unitDirOption, 'dry-run': dryRunOption };

const services = (input: Input): readonly Service[] =>
  servicesOf(String(input.args[0]), resolve(input.cwd, textOption(input, 'unit-dir') ?? UNIT_DIR));

/** One after the other: a consensus client without its execution client does nothing but complain. */
async function change(input: Input, verb: 'start' | 'stop') {
  const all = services(input);
  const commands = all.map(({ unit }) => ['systemctl', verb, unit]);
  if (!input.options['dry-run']) {
    for (const one of all) await changeService(one, verb, input.env);
  }
  const done = input.options['dry-run'] ? 'not run' : 'done';
  return {
    json: { commands: commands.map((words) => words.join(' ')), outcome: done },
    lines: [...commands.map((words) => `${words.join(' ')}: ${done}`)],
  };
}

export const nodeStart: OfflineCommand = {
  name: 'node start',
  args: ['network'],
  summary: 'Start the services of an installed node.',
  options,
  runOffline: (input) => change(input, 'start'),
};

export const nodeStop: OfflineCommand = {
  name: 'node stop',
  args: ['network'],
  summary: 'Stop the services of an installed node and wait, for minutes if need be, until they have saved everything.',
  options,
  notes: ['Never kill a client that is stopping: its database may break, and it starts again from a snapshot.'],
  runOffline: (input) => change(input, 'stop'),
};

export const nodeStatus: OfflineCommand = {
  name: 'node status',
  args: ['network'],
  summary: 'Show whether the services of an installed node run, since when, and how often they were restarted.',
  options: { 'unit-dir': unitDirOption },
  notes: ['How far they are is in `quayside node sync`. Exit codes: 0 all run; 1 otherwise; 3 none is installed.'],
  async runOffline(input) {
    const states = await Promise.all(services(input).map((one) => readState(one, input.env)));
    const rows = states.map(({ unit, state, since, restarts, result }) => [
      unit,
      state,
      since || '-',
      String(restarts),
      result,
    ]);
    return {
      json: states,
      lines: table([['UNIT', 'STATE', 'SINCE', 'RESTARTS', 'LAST RESULT'], ...rows]),
      isBad: !states.every(({ state }) => state.startsWith('active ')),
    };
  },
};

export const nodeLogs: OfflineCommand = {
  name: 'node logs',
  args: ['network'],
  summary: 'Show the newest lines that the clients of an installed node logged.',
  options: { 'unit-dir': unitDirOption, lines: { value: 'N', help: `how many (${LINES}), at most ${LINES_MAX}` } },
  notes: ['To follow them: journalctl -fu <unit>, with the units of `quayside node status`.'],
  async runOffline(input) {
    const units = services(input).flatMap(({ unit }) => ['-u', unit]);
    const count = wholeOption(input, 'lines', 1, LINES_MAX, LINES);
    const text = await runSystemd(
      ['journalctl', ...units, '-n', String(count), '--no-pager', '-o', 'short-iso'],
      input.env,
    );
    const lines = text.trimEnd().split('\n');
    return { json: lines, lines };
  },
};

/**
 * Pauses those who are informed about alarms, and resumes them.
 * @module
 */
import type { NoticeTarget } from '../../src/database/notices.ts';
import { becauseOption, type Command, dryRunOption, type Input, moment, operatorAct } from './command.ts';
import { findTarget } from './notify.ts';

const options = { because: becauseOption, 'dry-run': dryRunOption };

export const notifyPause: Command = {
  name: 'notify pause',
  args: ['id'],
  summary: 'Send a target nothing until it is resumed. Alarms stay; it then gets those that are still open.',
  options,
  async run(input, { database, clock }) {
    const target = await findTarget(database, input.args[0] ?? '');
    const { id, pausedAtMs, pausedBy } = target;
    const outcome = isDry(input)
      ? pausedAtMs === null
      : (await database.pauseNoticeTarget(id, operatorAct(notifyPause, input, clock))) === 'done';
    const line = outcome
      ? `${named(target)} ${isDry(input) ? 'would be' : 'is'} paused; \`quayside notify resume ${id}\` ends that`
      : `${named(target)} is paused since ${moment(pausedAtMs)} by ${pausedBy}`;
    const called =
      target.kind === 'dead-man' ? ['It is not called: the service will say that calls have stopped.'] : [];
    return { json: { id, paused: !isDry(input) || pausedAtMs !== null, changed: outcome }, lines: [line, ...called] };
  },
};

export const notifyResume: Command = {
  name: 'notify resume',
  args: ['id'],
  summary: 'End the pause of a target: it gets at once the alarms that came meanwhile and are still open.',
  options,
  async run(input, { database, clock }) {
    const target = await findTarget(database, input.args[0] ?? '');
    const { id, pausedAtMs, waiting } = target;
    const outcome = isDry(input)
      ? pausedAtMs !== null
      : (await database.resumeNoticeTarget(id, operatorAct(notifyResume, input, clock))) === 'done';
    const line = outcome
      ? `${named(target)} ${isDry(input) ? 'would be' : 'is'} resumed; ${waiting} to be told`
      : `${named(target)} is not paused`;
    return { json: { id, paused: isDry(input) && pausedAtMs !== null, changed: outcome }, lines: [line] };
  },
};

const isDry = (input: Input): boolean => input.options['dry-run'] === true;
const named = ({ id, name }: NoticeTarget): string => `${name} (${id})`;

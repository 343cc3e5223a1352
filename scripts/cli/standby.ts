/** Checks the copy of the database that a standby would start from. */
import { checkStandby } from '../../src/app/standby.ts';
import { BEHIND_MS_MAX } from '../../src/app/watches/standby.ts';
import { type Command, moment } from './command.ts';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export const standbyCheck: Command = {
  name: 'standby check',
  args: [],
  summary: 'Restore the standby’s copy of the database on trial, check it, and say how far it is behind.',
  options: {},
  notes: [
    'It runs the command `backup.standby` of the settings, as is done every hour. Exit code 1: do not rely on it.',
  ],
  async run(input, { config, clock }) {
    const { checked_at_ms, behind_ms, took_ms, problems } = await checkStandby({ config, env: input.env, clock });
    const isBehind = behind_ms !== null && behind_ms > BEHIND_MS_MAX;
    return {
      json: { checked_at: moment(checked_at_ms), behind_ms, took_ms, problems },
      lines:
        problems.length > 0
          ? ['THE COPY CANNOT BE USED:', ...problems.map((problem) => `  ${problem}`)]
          : [
              `The copy was restored in ${seconds(took_ms ?? 0)}. It is whole, and its ledger adds up.`,
              behind_ms === null ? 'It has no network yet.' : `It is ${seconds(behind_ms)} behind.`,
            ],
      isBad: problems.length > 0 || isBehind,
    };
  },
};

/** Restores the standby's copy of the database, checks it, and ends. The supervisor starts it every hour. */
import '../src/lib/runtime.ts';
import { IN_BACKGROUND, runProgram } from '../src/app/program.ts';
import { checkStandby } from '../src/app/standby.ts';
import { systemClock } from '../src/lib/clock.ts';

await runProgram(
  'standby',
  async ({ config, log }) => {
    const { standby: command } = config.backup;
    if (command === null) return;
    const { problems, ...found } = await checkStandby({ config, command, env: process.env, clock: systemClock });
    if (problems.length > 0) log.error({ problems }, 'the standby’s copy cannot be used');
    else log.info(found, 'the standby’s copy is whole');
  },
  IN_BACKGROUND,
);

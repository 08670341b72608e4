import { writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { TURN_PROFILE } from './figures/profile.ts';
import type { TurnObserver } from './measure.ts';

/**
 * Profiles this process during our turns: for scenarios that run the service's code in it, such as its port.
 * @param directory asked for each turn: where the profile goes
 */
export const profileOwnProcess = (directory: () => string): TurnObserver => {
  const session = new Session();
  session.connect();
  const delays = monitorEventLoopDelay({ resolution: 10 });
  let turns = 0;
  return {
    begin: async () => {
      await session.post('Profiler.enable');
      await session.post('Profiler.start');
      delays.reset();
      delays.enable();
    },
    end: async () => {
      delays.disable();
      const { profile } = await session.post('Profiler.stop');
      await writeFile(
        join(directory(), `${TURN_PROFILE}${(turns += 1)}.cpuprofile`),
        JSON.stringify(profile),
      );
      return delays.percentile(99) / 1e6;
    },
  };
};

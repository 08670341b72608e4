import { writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { MEASUREMENT_PROFILE } from './figures/profile.ts';
import type { MeasurementObserver } from './measure.ts';

/**
 * Profiles this process during measurements, for scenarios that run the service's code in it.
 * @param directory the folder of the next profile
 */
export const profileOwnProcess = (directory: () => string): MeasurementObserver => {
  const session = new Session();
  session.connect();
  const delays = monitorEventLoopDelay({ resolution: 10 });
  let profiles = 0;
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
        join(directory(), `${MEASUREMENT_PROFILE}${(profiles += 1)}.cpuprofile`),
        JSON.stringify(profile),
      );
      return delays.percentile(99) / 1e6;
    },
  };
};

import { freePort } from './free-port.ts';

const ANSWER = `import { createServer } from 'node:http'; import v8 from 'node:v8'; import vm from 'node:vm';
v8.setFlagsFromString('--expose-gc'); const collect = vm.runInNewContext('gc');
const old = () => v8.getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
createServer((request, response) => {
  collect({ type: 'minor' }); collect({ type: 'minor' });
  const oldBefore = old();
  collect(); collect();
  const oldGarbageBytes = oldBefore - old();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  response.end(JSON.stringify({ ...process.memoryUsage(), oldGarbageBytes, timers }));
}).listen(Number(process.env.COLLECTED_MEMORY_PORT), '127.0.0.1').unref();`;

export interface CollectedMemory {
  /** Of JavaScript: heap and external memory. */
  readonly bytes: number;
  readonly residentBytes: number;
  /** Dead objects since the last measurement that only a full collection could free. */
  readonly oldGarbageBytes: number;
  /** Those that wait now. */
  readonly timers: number;
}

/** A process that is started with this environment collects its garbage and answers what it still uses. */
export const measureCollected = async (): Promise<{
  readonly environment: Readonly<Record<string, string>>;
  readonly measure: () => Promise<CollectedMemory>;
}> => {
  const port = await freePort();
  return {
    environment: {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ANSWER)}`,
      COLLECTED_MEMORY_PORT: String(port),
    },
    measure: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}`);
      const { heapUsed, external, rss, oldGarbageBytes, timers } =
        (await answer.json()) as NodeJS.MemoryUsage & Pick<CollectedMemory, 'oldGarbageBytes' | 'timers'>;
      return { bytes: heapUsed + external, residentBytes: rss, oldGarbageBytes, timers };
    },
  };
};

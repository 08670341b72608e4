import { DeadlineExceededError, EventStoreDBClient } from '@eventstore/db-client';
import { afterEach, describe, expect, it } from '@jest/globals';
import { append, disconnect, events, toArray } from '../client-kit.ts';
import { startEventStoreProcess, type EventStoreProcess } from '../event-store-process.ts';
import { answering } from './node.ts';

export const checkProgram = (): void => {
  describe('the program', () => {
    let program: EventStoreProcess | undefined;
    afterEach(() => program?.kill());

    it('serves in a separate process and accepts commands', async () => {
      program = await startEventStoreProcess('--max-append-size', '5000');
      const { url, command, stop } = program;
      const client = EventStoreDBClient.connectionString(url);
      await append(client, 'a-1', events(4), 'no_stream');
      await command({ command: 'inject', injection: { fault: 'timeout', kinds: ['batch-append'] } });
      await expect(append(client, 'a-1', events(1), 3n)).rejects.toBeInstanceOf(DeadlineExceededError);
      expect(await command({ command: 'state' })).toMatchObject({ calls: { 'batch-append': 2 }, records: 4 });
      await expect(append(client, 'a-1', events(300), 3n)).rejects.toMatchObject({ maxAppendSize: 5_000 });
      await expect(command({ command: 'refuse-above', bytes: -1 })).rejects.toThrow('bytes');
      expect(await command({ command: 'restart', keep: 2 })).toMatchObject({ connections: 0, records: 2 });
      await answering(client);
      expect(await toArray(client.readStream('a-1'))).toHaveLength(2);
      await disconnect(client);
      expect(await stop()).toBe(0);
    });
  });
};

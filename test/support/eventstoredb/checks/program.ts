import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DeadlineExceededError, EventStoreDBClient } from '@eventstore/db-client';
import { afterEach, describe, expect, it } from '@jest/globals';
import { append, disconnect, events, toArray } from '../client-kit.ts';
import { answering } from './node.ts';

export const checkProgram = (): void => {
  describe('the program', () => {
    let program: ChildProcess | undefined;
    afterEach(() => void program?.kill('SIGKILL'));

    it('serves in a process of its own and takes commands', async () => {
      const main = fileURLToPath(new URL('../main.js', import.meta.url));
      program = spawn(process.execPath, [main, '--attached'], { stdio: ['pipe', 'pipe', 'inherit'] });
      const { stdin, stdout } = program;
      if (stdin === null || stdout === null) throw new Error('The program has no pipes.');
      const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
      const line = async (): Promise<string> => String((await lines.next()).value);
      const command = async (sent: object): Promise<unknown> => {
        stdin.write(`${JSON.stringify(sent)}\n`);
        return JSON.parse(await line());
      };
      const [, url] = /^serving at (esdb:.*)$/u.exec(await line()) ?? [];
      const client = EventStoreDBClient.connectionString(url ?? '');
      await append(client, 'a-1', events(4), 'no_stream');
      await command({ command: 'inject', injection: { fault: 'timeout', kinds: ['batch-append'] } });
      await expect(append(client, 'a-1', events(1), 3n)).rejects.toBeInstanceOf(DeadlineExceededError);
      expect(await command({ command: 'state' })).toMatchObject({ calls: { 'batch-append': 2 }, records: 4 });
      expect(await command({ command: 'inject', injection: { fault: 'none' } })).toHaveProperty('error');
      expect(await command({ command: 'restart', keep: 2 })).toMatchObject({ connections: 0, records: 2 });
      await answering(client);
      expect(await toArray(client.readStream('a-1'))).toHaveLength(2);
      await disconnect(client);
      stdin.end();
      const [code] = (await once(program, 'exit')) as [number];
      expect(code).toBe(0);
    });
  });
};

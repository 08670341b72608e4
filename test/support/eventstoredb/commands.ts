import { status } from '@grpc/grpc-js';
import { z } from 'zod';
import { createEventLog, type EventLog } from './event-log.ts';
import { callKinds } from './faults.ts';
import type { EventStoreService } from './event-store-service.ts';

const common = {
  kinds: z.array(z.enum(callKinds)).optional(),
  next: z.int().positive().nullable().optional(),
};
const injection = z.discriminatedUnion('fault', [
  z.strictObject({
    fault: z.enum([
      'mute',
      'mute-after-commit',
      'reset',
      'reset-after-commit',
      'timeout',
      'timeout-after-commit',
      'unavailable',
      'not-ready',
    ]),
    ...common,
  }),
  z.strictObject({ fault: z.literal('late-reply'), delayMs: z.int().nonnegative(), ...common }),
  z.strictObject({ fault: z.literal('not-leader'), host: z.string(), port: z.int(), ...common }),
  z.strictObject({
    fault: z.literal('status'),
    code: z.enum(status),
    details: z.string().optional(),
    ...common,
  }),
]);

const commandSchema = z.discriminatedUnion('command', [
  z.strictObject({ command: z.literal('inject'), injection }),
  z.strictObject({ command: z.literal('clear') }),
  z.strictObject({
    command: z.literal('drop-subscriptions'),
    how: z.enum(['end', 'cancelled', 'too-slow', 'unavailable']),
  }),
  z.strictObject({ command: z.literal('reset-connections') }),
  z.strictObject({ command: z.literal('refuse-above'), bytes: z.int().positive() }),
  /** Stops and starts on the same port. With `keep`, only the first `keep` records of the log remain. */
  z.strictObject({ command: z.literal('restart'), keep: z.int().nonnegative().optional() }),
  z.strictObject({ command: z.literal('state') }),
]);

export type Command = z.infer<typeof commandSchema>;

export interface ServiceState extends Pick<EventStoreService, 'calls' | 'subscriptions' | 'connections'> {
  /** In the log. */
  readonly records: number;
}

/**
 * Executes a command from a line of JSON on a service in another process.
 * @returns a line of JSON: the service's state afterwards, or the problem with the command
 */
export const runCommand = async (
  service: EventStoreService,
  line: string,
  restart: (log: EventLog) => Promise<EventStoreService>,
): Promise<string> => {
  let current = service;
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return JSON.stringify({ error: 'This is not JSON.' });
  }
  const { success, data, error } = commandSchema.safeParse(parsed);
  if (!success) return JSON.stringify({ error: z.prettifyError(error) });
  switch (data.command) {
    case 'inject':
      service.faults.inject(data.injection);
      break;
    case 'clear':
      service.faults.clear();
      break;
    case 'drop-subscriptions':
      service.faults.dropSubscriptions(data.how);
      break;
    case 'reset-connections':
      service.faults.resetConnections();
      break;
    case 'refuse-above':
      service.faults.refuseAbove(data.bytes);
      break;
    case 'restart':
      current = await restart(createEventLog(service.log.records.slice(0, data.keep)));
      break;
    case 'state':
      break;
  }
  const { calls, subscriptions, connections, log } = current;
  const state: ServiceState = { calls, subscriptions, connections, records: log.records.length };
  return JSON.stringify(state);
};

import type { EventsOf } from '../decision.ts';
import { TaskAccepted } from './resource.ts';

export const taskEvents = {
  TaskAccepted: {
    schemaVersion: 2,
    data: TaskAccepted,
    // Version 2 adds failed members, and audiences without an id.
    upcasters: [<Data>(data: Data): Data => data],
  },
} as const;
export type TaskEvent = EventsOf<typeof taskEvents>;

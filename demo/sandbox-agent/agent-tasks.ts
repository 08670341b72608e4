import { randomUUID } from 'node:crypto';

type Json = Record<string, unknown>;

interface Task {
  readonly type: string;
  readonly createdAt: string;
  state:
    | { readonly status: 'working' }
    | { readonly status: 'completed'; readonly result: Json }
    | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } };
  updatedAt: string;
}

export interface Tasks {
  submit(type: string, afterMs: number, work: () => Task['state']): string;
  get(id: string): Json | undefined;
}

const now = (): string => new Date().toISOString();

export const createTasks = (): Tasks => {
  const tasks = new Map<string, Task>();
  return {
    submit: (type, afterMs, work) => {
      const id = `task_${randomUUID()}`;
      const task: Task = { type, createdAt: now(), updatedAt: now(), state: { status: 'working' } };
      tasks.set(id, task);
      setTimeout(() => Object.assign(task, { state: work(), updatedAt: now() }), afterMs);
      return id;
    },
    get: (task_id) => {
      const task = tasks.get(task_id);
      if (task === undefined) return undefined;
      const { type, createdAt, updatedAt, state } = task;
      return {
        task_id,
        task_type: type,
        protocol: 'media-buy',
        created_at: createdAt,
        updated_at: updatedAt,
        ...(state.status === 'working' ? {} : { completed_at: updatedAt }),
        ...state,
      };
    },
  };
};

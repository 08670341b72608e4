import { setTimeout as sleep } from 'node:timers/promises';
import { adcpError, createIdempotencyStore, InMemoryStateStore, memoryBackend } from '@adcp/sdk/server';
import { createAdcpServer, type AdcpServer } from '@adcp/sdk/server/legacy/v5';
import { z } from 'zod';
import type { Behaviour } from './behaviour.ts';
import type { MediaBuys } from './media-buys.ts';
import { sandboxProducts } from './products.ts';
import type { Holdings } from './holdings.ts';
import type { Tasks } from './agent-tasks.ts';

/** Repeats answered from the idempotency store are not included. */
export interface SeenCall {
  readonly task: string;
  readonly idempotencyKey: string;
  /** The call asked to delete everything it does not name. */
  readonly deletesMissing: boolean;
  hadEffect: boolean;
}

export interface AdcpServerParts {
  readonly holdings: Holdings;
  readonly tasks: Tasks;
  readonly mediaBuys: MediaBuys;
  readonly behaviour: Behaviour;
  readonly onCall: (call: SeenCall) => void;
}

interface Sync {
  readonly task: string;
  readonly params: {
    readonly idempotency_key: string;
    readonly delete_missing?: boolean | undefined;
  };
  readonly member: string;
  readonly failed: readonly Record<string, unknown>[];
  readonly apply: () => readonly Record<string, unknown>[];
}

/** One server per request over MCP, one for all over A2A; they share stored data and idempotency keys. */
export const adcpServers = (parts: AdcpServerParts): (() => AdcpServer) => {
  const { holdings, tasks, mediaBuys } = parts;
  const idempotency = createIdempotencyStore({ backend: memoryBackend(), ttlSeconds: 86_400 });
  const stateStore = new InMemoryStateStore();
  const getTask = {
    description: 'The state of a task that an earlier call was answered with.',
    inputSchema: { task_id: z.string() },
    handler: async ({ task_id }: { task_id: string }) => {
      const found = tasks.get(task_id);
      if (found === undefined) {
        return adcpError('REFERENCE_NOT_FOUND', { message: 'The task does not exist', field: 'task_id' });
      }
      return { content: [{ type: 'text' as const, text: JSON.stringify(found) }], structuredContent: found };
    },
  };
  return () =>
    createAdcpServer<{ id: string }>({
      name: 'Sandbox agent',
      version: '1.0.0',
      logger: { debug: silence, info: silence, warn: silence, error: complain },
      // AdCP 3.0 defines tasks, but does not allow these calls to answer with one.
      validation: { requests: 'strict', responses: 'off' },
      idempotency,
      stateStore,
      resolveIdempotencyPrincipal: () => 'buyer',
      resolveAccount: async (reference) => ({ id: JSON.stringify(reference) }),
      // The standard name contains a slash, which MCP servers warn about.
      customTools: { tasks_get: getTask },
      mediaBuy: {
        getProducts: async (asked) => {
          mediaBuys.buy(asked.context?.['buyer_ref']);
          return answer(sandboxProducts(asked));
        },
        getMediaBuyDelivery: async (asked) => answer(mediaBuys.deliveryOf(asked)),
      },
      eventTracking: {
        syncAudiences: (params) =>
          run(parts, {
            task: 'sync_audiences',
            params,
            member: 'audiences',
            failed: (params.audiences ?? []).map(({ audience_id }) => failedRow({ audience_id }, 'audience')),
            apply: () => holdings.syncAudiences(params),
          }),
        syncEventSources: (params) =>
          run(parts, {
            task: 'sync_event_sources',
            params,
            member: 'event_sources',
            failed: (params.event_sources ?? []).map(({ event_source_id }) =>
              failedRow({ event_source_id }, 'source'),
            ),
            apply: () => holdings.syncEventSources(params),
          }),
        syncCatalogs: (params) =>
          run(parts, {
            task: 'sync_catalogs',
            params,
            member: 'catalogs',
            failed: (params.catalogs ?? []).map(({ catalog_id }) => failedRow({ catalog_id }, 'catalog')),
            apply: () => holdings.syncCatalogs(params),
          }),
      },
    });
};

const silence = (): void => undefined;
const complain = (message: string): void => void process.stderr.write(`${message}\n`);

const failedRow = (id: Record<string, unknown>, what: string) => ({
  ...id,
  action: 'failed',
  errors: [{ code: 'INVALID_REQUEST', message: `This ${what} cannot be kept` }],
});

const answer = (structuredContent: Record<string, unknown>) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }],
  structuredContent,
});

const run = async (
  { behaviour, tasks, onCall }: AdcpServerParts,
  { task, params, member, failed, apply }: Sync,
) => {
  const call: SeenCall = {
    task,
    idempotencyKey: params.idempotency_key,
    deletesMissing: params.delete_missing === true,
    hadEffect: false,
  };
  onCall(call);
  const effect = (): Record<string, unknown> => {
    call.hadEffect = true;
    return { [member]: apply() };
  };
  const { mode, delayMs } = behaviour;
  switch (mode) {
    case 'works':
      return answer(effect());
    case 'slow':
      await sleep(delayMs);
      return answer(effect());
    case 'silent':
      return new Promise<never>(() => undefined);
    case 'busy':
      return adcpError('RATE_LIMITED', { message: 'Too many calls', recovery: 'transient', retry_after: 1 });
    case 'rejecting':
      return adcpError('ACCOUNT_SUSPENDED', { message: 'The account is suspended', recovery: 'terminal' });
    case 'failing-items':
      return answer({ [member]: failed });
    case 'submitted': {
      const task_id = tasks.submit(task, delayMs, () => ({ status: 'completed', result: effect() }));
      return answer({ status: 'submitted', task_id, message: 'Taken in' });
    }
    case 'submitted-failing': {
      const error = { code: 'POLICY_VIOLATION', message: 'The review was not passed' };
      const task_id = tasks.submit(task, delayMs, () => ({ status: 'failed', error }));
      return answer({ status: 'submitted', task_id, message: 'Taken in' });
    }
    default:
      return mode satisfies never;
  }
};

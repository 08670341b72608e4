import { ATTEMPTS_MAX, syndicationWork } from '../../../command/workers/syndication/syndication-work.ts';
import type { AgentAnswer, SubmittedTask } from '../../../command/workers/syndication/agent-call.ts';
import type { AudienceParts } from '../../../command/workers/syndication/audience-delivery.ts';
import type { AtAgents } from '../../../command/workers/syndication/at-agents.ts';
import type { SyndicatedKind } from '../../../command/syndication/syndicated-kinds.ts';
import { agentEvents } from '../../../domain/agents/events.ts';
import { agentStream } from '../../../domain/agents/agent.ts';
import { createAdvertiser } from '../../../command/advertisers/commands.ts';
import { advertiserEvents } from '../../../domain/advertisers/events.ts';
import { advertiserAggregate, advertiserStream } from '../../../domain/advertisers/advertiser.ts';
import { type SyndicationEvent } from '../../../domain/syndication/events.ts';
import type { SyndicationRecord } from '../../../domain/syndication/resource.ts';
import { isOn, isWaiting, olderAt } from '../../../domain/syndication/syndication-states.ts';
import {
  evolve,
  initialState,
  syndicationAggregate,
  syndicationStream,
  type SyndicationState,
} from '../../../domain/syndication/syndication.ts';
import { executeCommand } from '../../../shared/aggregate/execute-command.ts';
import { toNewEvents, type StorableEvent } from '../../../shared/aggregate/recorded-domain-event.ts';
import {
  WrongExpectedRevisionError,
  type EventStore,
  type JsonObject,
  type Position,
  type RecordedEvent,
} from '../../../shared/event-store/event-store.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { revisionText } from '../../../shared/work-list/request-work.ts';
import { workJobId } from '../../../shared/work-list/run-work.ts';
import type { WorkEntry, WorkResult } from '../../../shared/work-list/work-list.ts';
import type { Random } from '../kit/random.ts';
import { legalSteps } from '../../support/legal-transitions.ts';

/**
 * One random schedule of toggles, changes, workers and crashes, in this process alone. The code of the worker and of
 * the domain is real; everything around it is in memory. Every call out of that code waits at a gate, and a random
 * choice opens the next gate. A worker may crash at a gate. Not covered: a worker that has lost its job, calls the
 * agent after its successor has finished, and is then killed or gets a task as answer (docs/design/syndication.md). The
 * seed determines all choices.
 */
export interface ScheduleReport {
  readonly steps: number;
  readonly crashes: number;
  readonly calls: number;
  /** Violated invariants; empty for a correct schedule. */
  readonly wrong: readonly string[];
}

/** Defects that the harness must find. */
export type ScheduleDefect =
  | 'another-key'
  | 'no-waiting-for-earlier'
  | 'only-completed-stays'
  | 'tasks-forgotten'
  | 'failed-is-dropped'
  | 'changes-forgotten'
  | 'one-key-for-a-list';

/**
 * `usual` toggles both resources, also to the state that they have. `flickering` switches one on and off so fast that
 * calls of earlier generations may still be running.
 */
export type ScheduleShape = 'usual' | 'flickering';

const CUSTOMER = 7;
const ADVERTISER = 5;
const AGENT = '00000000-0000-4000-8000-00000000000a';
const NOW = '2026-01-01T00:00:00.000Z';
/** The workers' clock. */
const WORKERS_MS = Date.parse(NOW);
/** Long ago, so that a failing withdrawal is abandoned after its first tries. */
const DAYS_AGO = '2025-12-29T00:00:00.000Z';
const RESOURCES = ['a', 'b'] as const;
const RUNS_MAX = 4;
const DRAIN_STEPS_MAX = 2_000;
const CONTEXT = { customerId: CUSTOMER, actor: 'test', requestId: AGENT };
const account = { account_id: 'acct' };

const recordIds = new Map(RESOURCES.map((resource) => [resource, derivedId(AGENT, resource)]));
const recordIdOf = (resource: (typeof RESOURCES)[number]): string => recordIds.get(resource) ?? '';

const recorded = (
  stream: string,
  events: readonly StorableEvent[],
  schemas: Parameters<typeof toNewEvents>[2],
): RecordedEvent[] =>
  toNewEvents(events, { ...CONTEXT, commandId: AGENT }, schemas).map((event, revision) => ({
    ...event,
    stream,
    revision,
    position: '0' as Position,
    recordedAt: NOW,
  }));

const advertiserHistory = (): RecordedEvent[] => {
  const ids = { advertiserId: ADVERTISER, customerId: CUSTOMER };
  const command = createAdvertiser({ name: 'A' }, ids, { commandId: AGENT, now: NOW });
  const decision = advertiserAggregate.decide(command, advertiserAggregate.initialState);
  if (!('events' in decision)) throw new Error('the advertiser was rejected');
  return recorded(advertiserStream(CUSTOMER, ADVERTISER), decision.events, advertiserEvents);
};
const agentHistory = (): RecordedEvent[] => {
  const data = {
    agentId: AGENT,
    customerId: CUSTOMER,
    name: 'A',
    url: 'https://a.example',
    protocol: 'MCP',
  } as const;
  return recorded(
    agentStream(CUSTOMER, AGENT),
    [{ type: 'AgentRegistered', data, occurredAt: NOW }],
    agentEvents,
  );
};

const kindOf = (versionOf: (resource: string) => number): SyndicatedKind => ({
  resourceType: 'EVENT_SOURCE',
  task: 'sync_event_sources',
  itemsMember: 'event_sources',
  idMember: 'event_source_id',
  delivery: 'whole',
  dropping: { by: 'the-rest', itemsMax: 1_000, mayBeEmpty: true },
  load: async ({ resourceId }) => {
    const version = versionOf(resourceId);
    return { item: { event_source_id: resourceId, version }, revision: version };
  },
  inFull: async (_resource, item) => item,
});
/** Versions that the agent rejects. */
const isRefused = (version: number): boolean => version % 4 === 3;
/** An event for a changed resource. */
const CHANGED = 'ResourceChanged';

/** A request or a run of a job, which runs by itself between gates. */
interface Actor {
  readonly job: string | undefined;
  open: (() => void) | undefined;
  arrived: () => void;
  /**
   * The agent has accepted the request as a task, and only this run knows. It is not killed before it has recorded
   * that.
   */
  isUnreported: boolean;
  /** Another run has ended its job meanwhile. */
  overtaken: boolean;
}

export const runSchedule = async (
  random: Random,
  defect?: ScheduleDefect,
  shape: ScheduleShape = 'usual',
): Promise<ScheduleReport> => {
  const log: RecordedEvent[] = [];
  const streams = new Map<string, RecordedEvent[]>([
    [advertiserStream(CUSTOMER, ADVERTISER), advertiserHistory()],
    [agentStream(CUSTOMER, AGENT), agentHistory()],
  ]);
  const projected = new Map<string, SyndicationState>();
  let projectedTo = 0;
  /** The work list, keyed by record. */
  const entries = new Map<string, WorkEntry>();
  let asks = 0;
  const actors = new Set<Actor>();
  const wrong: string[] = [];
  let [steps, crashes, commands, calm] = [0, 0, 0, false];

  const isChanging = random.chance(0.5);
  const versions = new Map<string, number>();
  const versionOf = (resource: string): number => versions.get(resource) ?? 0;
  const kind = kindOf(versionOf);

  // The agent: its version of each resource, and its answer to each key.
  const has = new Map<string, number>();
  const answers = new Map<string, { readonly request: string; readonly answer: AgentAnswer }>();
  const tasks = new Map<string, { readonly request: JsonObject; answer?: AgentAnswer }>();
  let [calls, takes] = [0, 0];

  const take = (request: JsonObject): AgentAnswer => {
    const items = (request['event_sources'] ?? []) as readonly {
      readonly event_source_id: string;
      readonly version: number;
    }[];
    const named = new Set(items.map(({ event_source_id }) => event_source_id));
    if (request['delete_missing'] === true) for (const id of has.keys()) if (!named.has(id)) has.delete(id);
    const event_sources = items.map(({ event_source_id, version }) => {
      if (isRefused(version)) return { event_source_id, action: 'failed', errors: [{ message: 'no' }] };
      has.set(event_source_id, version);
      return { event_source_id, action: 'updated' };
    });
    return { outcome: 'completed', data: { event_sources } };
  };
  const unavailable: AgentAnswer = { outcome: 'retry', message: 'unavailable', afterMs: 0 };
  const finishOne = (): boolean => {
    const open = [...tasks.values()].filter(({ answer }) => answer === undefined);
    if (open.length === 0) return false;
    const task = random.pick(open);
    task.answer = take(task.request);
    return true;
  };
  const taskOf = (submittedTask: SubmittedTask): AgentAnswer =>
    defect === 'tasks-forgotten'
      ? { outcome: 'completed', data: undefined }
      : (tasks.get(submittedTask.taskId)?.answer ?? { outcome: 'submitted', ...submittedTask });
  /** If a job has two runs, the agent does not answer with a task: a run whose job has ended could not record it. */
  const isAlone = ({ job, overtaken }: Actor): boolean =>
    !overtaken && [...actors].filter((one) => one.job === job).length === 1;
  const askAgent = (
    actor: Actor,
    key: string,
    request: JsonObject,
    submittedTask: SubmittedTask | undefined,
  ): AgentAnswer => {
    calls += 1;
    if (!calm && random.chance(0.15)) return unavailable;
    if (submittedTask !== undefined) return taskOf(submittedTask);
    const known = answers.get(key);
    const text = JSON.stringify(request);
    if (known !== undefined && known.request !== text) wrong.push(`one key, two requests: ${text}`);
    const isTask = known === undefined && isAlone(actor) && random.chance(0.25);
    if (isTask) tasks.set(key, { request });
    const task = { outcome: 'submitted', taskId: key, taskOf: 'ADCP' } as const;
    const answer = known?.answer ?? (isTask ? task : take(request));
    if (known === undefined && request['delete_missing'] !== true) takes += 1;
    answers.set(key, { request: text, answer });
    return !calm && answer.outcome !== 'submitted' && random.chance(0.15) ? unavailable : answer;
  };

  const gateOf = (actor: Actor) => (): Promise<void> =>
    new Promise((resolve) => {
      actor.open = resolve;
      actor.arrived();
    });

  /** The store of one process, which serializes its own commands. */
  const storeOf = (gate: () => Promise<void>): EventStore =>
    ({
      append: async (
        stream: string,
        events: Parameters<EventStore['append']>[1],
        expected: number | string,
      ) => {
        await gate();
        const there = streams.get(stream) ?? [];
        const [first] = events;
        const before = there.find(({ id }) => id === first?.id);
        if (before === undefined && (expected === 'no-stream' ? 0 : Number(expected) + 1) !== there.length) {
          throw new WrongExpectedRevisionError(stream, expected as never, there.length - 1);
        }
        if (before === undefined) {
          const fresh = events.map((event, n) => ({
            ...event,
            stream,
            revision: there.length + n,
            position: String(log.length + n).padStart(6, '0') as Position,
            recordedAt: NOW,
          }));
          log.push(...fresh);
          streams.set(stream, [...there, ...fresh]);
        }
        await gate();
        const last = streams.get(stream)?.at(-1);
        return {
          revision: last?.revision ?? 0,
          position: last?.position ?? ('0' as Position),
          repeated: before !== undefined,
        };
      },
      readStream: async function* (stream: string) {
        yield* streams.get(stream) ?? [];
      },
      ensurePositionRecorded: async () => undefined,
    }) as Partial<EventStore> as EventStore;

  const start = (
    job: string | undefined,
    work: (gate: () => Promise<void>, actor: Actor) => Promise<unknown>,
  ): Promise<void> =>
    new Promise((arrived) => {
      const actor: Actor = { job, open: undefined, arrived, isUnreported: false, overtaken: false };
      actors.add(actor);
      const over = (): void => {
        actors.delete(actor);
        for (const other of actors) if (other.job === job && job !== undefined) other.overtaken = true;
        actor.arrived();
      };
      work(gateOf(actor), actor).then(over, (error: unknown) => {
        wrong.push(`unexpected: ${String(error)}`);
        over();
      });
    });

  const advance = (actor: Actor): Promise<void> =>
    new Promise((arrived) => {
      actor.arrived = arrived;
      actor.open?.();
    });

  const project = (count: number): void => {
    for (const event of log.slice(projectedTo, projectedTo + count)) {
      projectedTo += 1;
      const before = projected.get(event.stream) ?? initialState;
      if (event.type === CHANGED) {
        const wasOn = before.status !== 'NONE' && before.status !== 'DISABLED';
        if (wasOn && defect !== 'changes-forgotten') ask(before);
        continue;
      }
      const after = evolve(before, eventOf(event));
      projected.set(event.stream, after);
      const isNew =
        before.status === 'NONE' || after.status === 'NONE' || before.generation !== after.generation;
      if (isNew && after.status !== 'NONE' && isWaiting(after)) ask(after);
    }
  };

  /** Adds or updates an entry, as projections do. */
  const ask = ({ recordId: key, generation }: SyndicationRecord): void => {
    asks += 1;
    const revision = revisionText(generation);
    const before = entries.get(key);
    entries.set(key, {
      kind: 'syndication',
      customerId: CUSTOMER,
      key,
      revision,
      askedAt: `${asks}`,
      data: {},
      attempts: before?.revision === revision ? before.attempts : 0,
      lost: 0,
    });
  };
  const settle = (entry: WorkEntry, result: WorkResult): void => {
    const now = entries.get(entry.key);
    if (now === undefined) return;
    if (result.is === 'done' && now.askedAt === entry.askedAt) entries.delete(entry.key);
    const isTry = result.is === 'again' && result.isTry && now.revision === entry.revision;
    if (isTry) entries.set(entry.key, { ...now, attempts: now.attempts + 1 });
  };

  const waiting = (): SyndicationRecord[] =>
    [...projected.values()].filter((state) => state.status !== 'NONE').filter(isWaiting);

  /** A job for a revision does not start while a job for an earlier revision runs. */
  const isFree = ({ key, revision }: WorkEntry): boolean =>
    defect === 'no-waiting-for-earlier' ||
    ![...actors].some(({ job }) => job?.startsWith(key) === true && job < workJobId({ key, revision }));

  const change = (resource: (typeof RESOURCES)[number]): void => {
    versions.set(resource, versionOf(resource) + 1);
    const [event] = recorded(
      syndicationStream(CUSTOMER, recordIdOf(resource)),
      [{ type: 'AgentRemoved', data: {}, occurredAt: NOW }],
      agentEvents,
    );
    if (event !== undefined) log.push({ ...event, type: CHANGED });
  };

  const atAgentsOf = (gate: () => Promise<void>): AtAgents => ({
    holders: async () => ({ isOtherAdvertisers: false, isOtherRegistrations: false, isUnsure: false }),
    kept: async () => {
      const kept = [...projected.values()]
        .filter((state) => state.status !== 'NONE')
        .filter(({ status, atAgent }) =>
          defect === 'only-completed-stays'
            ? status === 'COMPLETED'
            : status !== 'DISABLED' &&
              (status !== 'FAILED' || (olderAt(atAgent) !== undefined && defect !== 'failed-is-dropped')),
        )
        .map(({ advertiserId, resourceId, status, atAgent }) => ({
          advertiserId,
          resourceId,
          stillThere: status === 'COMPLETED' ? undefined : olderAt(atAgent),
          hasFailed: status === 'FAILED',
        }));
      await gate();
      return kept;
    },
  });

  /** In a key for the list of remaining resources, the second part identifies the delivery of the list. */
  const keyOf = (idempotencyKey: string): string => {
    if (defect === 'another-key') return `${idempotencyKey}-${calls}`;
    return defect === 'one-key-for-a-list' ? (idempotencyKey.split('.')[0] ?? '') : idempotencyKey;
  };

  const startRun = (entry: WorkEntry): Promise<void> =>
    start(workJobId(entry), async (gate, actor) => {
      const store = storeOf(gate);
      const { handle } = syndicationWork(
        {
          store,
          snapshots: { every: 1_000, load: async () => undefined, save: () => undefined },
          clock: { now: () => WORKERS_MS },
          secrets: {} as never,
          kinds: { EVENT_SOURCE: kind, AUDIENCE: kind, CATALOG: kind },
          audienceParts: { forget: async () => undefined } as Partial<AudienceParts> as AudienceParts,
          atAgents: atAgentsOf(gate),
          pause: async () => undefined,
          callAgent: async ({ idempotencyKey, request, submittedTask }) => {
            await gate();
            const answer = askAgent(actor, keyOf(idempotencyKey), request, submittedTask);
            if (answer.outcome === 'submitted') actor.isUnreported = true;
            await gate();
            return answer;
          },
        },
        async () => true,
      );
      const attempt = entry.attempts + 1;
      const run = { attempt, isLastAttempt: attempt >= ATTEMPTS_MAX, signal: new AbortController().signal };
      settle(entry, await handle(entry, run));
    });

  const wanted = new Map<(typeof RESOURCES)[number], boolean>();
  const toggle = (resource: (typeof RESOURCES)[number], enabled: boolean): Promise<void> => {
    const recordId = recordIdOf(resource);
    wanted.set(resource, enabled);
    commands += 1;
    const commandId = derivedId(AGENT, `${commands}`);
    return start(undefined, (gate) =>
      executeCommand(storeOf(gate), syndicationAggregate, {
        stream: syndicationStream(CUSTOMER, recordId),
        command: {
          type: 'ToggleSyndication',
          now: commands % 2 === 0 ? NOW : DAYS_AGO,
          enabled,
          record: {
            recordId,
            customerId: CUSTOMER,
            advertiserId: ADVERTISER,
            resourceType: 'EVENT_SOURCE',
            resourceId: resource,
            agentId: AGENT,
            account,
          },
        },
        context: { ...CONTEXT, commandId },
      }),
    );
  };

  const step = async (): Promise<void> => {
    steps += 1;
    const runs = [...actors].filter(({ job }) => job !== undefined);
    const dice = random.next();
    if (dice < 0.12) return project(1 + random.below(3));
    if (dice < 0.32 && runs.length < RUNS_MAX) {
      const unreportedJobs = new Set(
        [...actors].filter(({ isUnreported }) => isUnreported).map(({ job }) => job),
      );
      const all = [...entries.values()].filter(
        (entry) => isFree(entry) && !unreportedJobs.has(workJobId(entry)),
      );
      if (all.length > 0) return startRun(random.pick(all));
    }
    const mortal = runs.filter(({ isUnreported, overtaken }) => !isUnreported && !overtaken);
    if (dice < 0.35 && !calm && mortal.length > 0) {
      actors.delete(random.pick(mortal));
      crashes += 1;
      return;
    }
    if (dice < 0.4 && finishOne()) return;
    if (dice < 0.42 && !calm && isChanging) return change(random.pick(RESOURCES));
    if (actors.size > 0) return advance(random.pick([...actors]));
    project(1);
  };

  const [one] = RESOURCES;
  const count = shape === 'usual' ? 2 + random.below(5) : 5 + random.below(6);
  for (let left = count; left > 0; left--) {
    const resource = shape === 'usual' ? random.pick(RESOURCES) : one;
    // One client for each record: with two at once, the last one would be undetermined.
    const busy = [...actors].filter(({ job }) => job === undefined);
    for (const actor of busy) while (actors.has(actor)) await advance(actor);
    await toggle(resource, shape === 'usual' ? random.chance(0.6) : wanted.get(resource) !== true);
    for (let n = random.below(shape === 'usual' ? 20 : 12); n > 0; n--) await step();
  }
  calm = true;
  for (let n = 0; n < DRAIN_STEPS_MAX; n++) {
    if (actors.size === 0 && projectedTo === log.length && entries.size === 0) break;
    await step();
  }
  // The agent finishes all remaining tasks, including those that the worker no longer follows.
  while (finishOne());
  if (entries.size > 0) wrong.push(`still on the work list: ${entries.size}`);
  if (waiting().length > 0)
    wrong.push(
      `still waiting: ${waiting()
        .map(({ status }) => status)
        .join(', ')}`,
    );
  if (takes > log.filter(({ type }) => type === 'SyndicationStarted').length) {
    wrong.push('one generation, two effects');
  }
  for (const [resource, enabled] of wanted) {
    const stream = syndicationStream(CUSTOMER, recordIdOf(resource));
    const at = { has: has.get(resource), wanted: versionOf(resource) };
    wrong.push(...wrongOf(streams.get(stream) ?? [], enabled, at));
  }
  return { steps, crashes, calls, wrong };
};

const eventOf = ({ type, data, metadata }: RecordedEvent): SyndicationEvent =>
  ({ type, data, occurredAt: metadata.occurredAt }) as unknown as SyndicationEvent;

const wrongOf = (
  events: readonly RecordedEvent[],
  enabled: boolean,
  /** Versions. */
  at: { readonly has: number | undefined; readonly wanted: number },
): readonly string[] => {
  const wrong: string[] = [];
  let state: SyndicationState = initialState;
  for (const event of events) {
    const before = state.status;
    state = evolve(state, eventOf(event));
    if (!legalSteps.has(`${before}>${state.status}`)) wrong.push(`${before}>${state.status}`);
  }
  if (state.status === 'NONE') return ['a toggle was not executed'];
  if (isOn(state) !== enabled) wrong.push('not in the last requested state');
  const isAtAgent = at.has !== undefined;
  if (state.status === 'COMPLETED' && at.has !== at.wanted) {
    wrong.push(`COMPLETED, at the agent ${at.has ?? 'nothing'}, not ${at.wanted}`);
  }
  if (state.status === 'FAILED' && olderAt(state.atAgent) !== undefined && !isAtAgent) {
    wrong.push('FAILED, but the earlier copy is missing');
  }
  const gaveUp = (state.responseData?.['withdrawal'] as { removed?: boolean } | undefined)?.removed === false;
  if (state.status === 'DISABLED' && isAtAgent && !gaveUp) wrong.push('DISABLED, but still at the agent');
  return wrong;
};

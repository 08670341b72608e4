import { syndicationEvents, type SyndicationEvent } from '../domain/syndication/events.ts';
import {
  shownSyndicationId,
  syndicationIdOf,
  syndicationResource,
  type SyndicationResource,
} from '../domain/syndication/resource.ts';
import { isWaiting } from '../domain/syndication/syndication-states.ts';
import {
  evolve,
  initialState,
  syndicationStream,
  type SyndicationState,
} from '../domain/syndication/syndication.ts';
import { toDomainEvent } from '../shared/aggregate/recorded-domain-event.ts';
import { findRecordWork, type RecordWork } from '../query/syndication/find-record-work.ts';
import type { Installation } from '../app/installation.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { ArgumentsError } from './parse-args.ts';
import { relativeTime } from './print-table.ts';

interface HistoryEntry {
  readonly at: string;
  readonly event: string;
  readonly status: string;
  readonly generation: number;
  readonly said?: string;
}

interface Explanation {
  readonly record: SyndicationResource;
  readonly generation: number;
  readonly todo?: 'TAKE' | 'DROP';
  readonly atAgent: string;
  readonly agentTask?: { readonly taskId: string; readonly submittedAt: string };
  readonly waiting?: RecordWork;
  readonly history: readonly HistoryEntry[];
}

export const addSyndicationCommand = (program: OperatorCommand, { installation, print }: Tools): void => {
  program
    .command('syndication')
    .description('Syndication of resources to agents.')
    .command('explain')
    .description("Explains a syndication record: pending work, due time, attempts, and the agent's answers.")
    .argument('<ID>', 'id of the record, as the API shows it')
    .example('syn_0123456789abcdef0123456789abcdef')
    .action(async (word: string) => {
      const recordId = syndicationIdOf(word);
      if (recordId === undefined) throw new ArgumentsError(`${word} is not the id of a syndication record`);
      const explanation = await explain(await installation(), recordId);
      print(explanation, textOf(explanation));
    });
};

const explain = async ({ pool, store }: Installation, recordId: string): Promise<Explanation> => {
  const found = await findRecordWork(pool, recordId);
  if (found === undefined) throw new Error(`There is no syndication record ${shownSyndicationId(recordId)}.`);
  let state: SyndicationState = initialState;
  const history: HistoryEntry[] = [];
  for await (const recorded of store.readStream(syndicationStream(found.customerId, recordId))) {
    const event = toDomainEvent(recorded, syndicationEvents) as SyndicationEvent;
    state = evolve(state, event);
    const said = saidBy(event);
    history.push({
      at: event.occurredAt,
      event: event.type,
      status: state.status,
      generation: event.data.generation,
      ...(said === undefined ? {} : { said }),
    });
  }
  if (state.status === 'NONE') throw new Error('the stream of the record is empty');
  const { submitted, atAgent } = state;
  return {
    record: syndicationResource(state),
    generation: state.generation,
    ...(isWaiting(state) && { todo: state.status === 'DISABLED' ? 'DROP' : 'TAKE' }),
    atAgent: atAgent.is,
    ...(submitted && { agentTask: { taskId: submitted.taskId, submittedAt: submitted.submittedAt } }),
    ...(found.work !== null && { waiting: found.work }),
    history,
  };
};

const saidBy = (event: SyndicationEvent): string | undefined => {
  switch (event.type) {
    case 'SyndicationToggled':
      return `switched ${event.data.enabled ? 'on' : 'off'}`;
    case 'SyndicationRetried':
      return `try ${event.data.attempt}: ${event.data.errorMessage} (next try due at ${event.data.dueAt})`;
    case 'SyndicationFailed':
      return event.data.errorMessage;
    case 'SyndicationSubmitted':
      return `the agent's task ${event.data.taskId}`;
    case 'SyndicationWithdrawn':
      return event.data.reason;
    case 'SyndicationCompleted':
      return JSON.stringify(event.data.responseData);
    case 'SyndicationStarted':
    case 'SyndicationRefreshed':
      return undefined;
    default:
      return event satisfies never;
  }
};

const textOf = (explanation: Explanation): string => {
  const { record, generation, todo, atAgent, agentTask, waiting, history } = explanation;
  const lines = [
    `${record.id}: ${record.resourceType} ${record.resourceId} at ${record.adcpAgentId}`,
    `${record.status}, generation ${generation}; at the agent: ${atAgent}`,
    ...(record.errorMessage === null ? [] : [`last error: ${record.errorMessage}`]),
    ...(agentTask === undefined
      ? []
      : [`the agent works on task ${agentTask.taskId} since ${agentTask.submittedAt}`]),
    todo === undefined ? 'no work is pending' : `pending: ${todo}`,
    ...(waiting === undefined ? [] : [waitingText(waiting)]),
    ...history.map(
      ({ at, event, status, generation: of, said }) =>
        `${at} ${event} (generation ${of}) -> ${status}${said === undefined ? '' : `: ${said}`}`,
    ),
  ];
  return lines.join('\n');
};

const waitingText = ({ dueAt, attempts, lost, leasedUntil, lastError, failedAt }: RecordWork): string =>
  `${leasedUntil === null ? `due ${relativeTime(dueAt)}` : `a worker processes it; it is offered again ${relativeTime(leasedUntil)}`}; failed tries ${attempts}, lost jobs ${lost}` +
  (lastError === null
    ? ''
    : `; last error${failedAt === null ? '' : ` (${relativeTime(failedAt)})`}: ${lastError}`);

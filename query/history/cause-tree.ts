import type { AuditLog } from '../../domain/history/audit-log-resource.ts';
import type { CauseNode, CommandNode, JobNode } from '../../domain/history/cause-resource.ts';
import type { CausedRow, EventRow } from './audit-entries.ts';
import type { JobHistory } from '../resources/job-history.ts';

export interface TreeInput {
  readonly rows: readonly CausedRow[];
  readonly entries: readonly AuditLog[];
  readonly jobs: readonly JobHistory[];
  readonly causes: ReadonlyMap<string, string>;
  /** False for a step of a job that the stream describes. */
  readonly isJob: (row: EventRow) => boolean;
  readonly hasFailed: (row: EventRow) => boolean;
}

const byFirstCommand = (
  jobs: readonly JobHistory[],
): ReadonlyMap<string | undefined, readonly JobHistory[]> => {
  const found = new Map<string | undefined, JobHistory[]>();
  for (const job of jobs) found.set(job.begunBy, [...(found.get(job.begunBy) ?? []), job]);
  return found;
};

/** @param ledBy request of the row that found the job; it is the cause if it joined the job later */
const causeOf = ({ begunBy, joinedBy }: JobHistory, ledBy: string | null): string | null =>
  ledBy !== null && joinedBy.includes(ledBy) ? ledBy : (begunBy ?? null);

type Draft<Node> = Omit<Node, 'events' | 'followedBy'> & {
  events: AuditLog[];
  followedBy: CauseNode[];
};

/** A node whose cause is on no row is at the top and names the cause. */
export const causeTree = ({
  rows,
  entries,
  jobs,
  causes,
  isJob,
  hasFailed,
}: TreeInput): readonly CauseNode[] => {
  const nodes = new Map<string, Draft<CommandNode> | Draft<JobNode>>();
  const top: CauseNode[] = [];
  const jobOfStep = new Map(jobs.flatMap((job) => job.steps.map((step) => [step, job] as const)));
  const jobsOfCommand = byFirstCommand(jobs);

  const add = <Node extends Draft<CommandNode> | Draft<JobNode>>(node: Node): Node => {
    nodes.set(node.id, node);
    (nodes.get(node.causedBy ?? '')?.followedBy ?? top).push(node);
    return node;
  };
  const jobNode = (job: JobHistory, ledBy: string | null = null): Draft<JobNode> => {
    const { id, facts, calls } = job;
    const known = nodes.get(id);
    if (known?.kind === 'job') return known;
    const node = add<Draft<JobNode>>({
      kind: 'job',
      id,
      causedBy: causeOf(job, ledBy),
      ...facts,
      events: [],
      followedBy: [],
    });
    for (const [n, call] of calls.entries()) {
      node.followedBy.push({ kind: 'agentCall', id: `${id}-call${n + 1}`, causedBy: id, ...call });
    }
    return node;
  };
  const commandNode = (row: EventRow, entry: AuditLog): Draft<CommandNode> | Draft<JobNode> => {
    const { causationId: id, requestId } = row;
    const isRequested = requestId === row.correlationId;
    const causedBy = isRequested ? null : (causes.get(id) ?? null);
    const { actorOrigin, actor, userId } = entry;
    const place = { id, causedBy, events: [], followedBy: [] };
    if (isRequested || !isJob(row)) {
      return add<Draft<CommandNode>>({
        kind: 'command',
        ...place,
        actorOrigin,
        actor,
        ...(userId === undefined ? {} : { userId }),
        requestId,
      });
    }
    const status = hasFailed(row) ? 'FAILED' : 'COMPLETED';
    return add<Draft<JobNode>>({
      kind: 'job',
      ...place,
      worker: actor.replace(/^worker:/, ''),
      status,
      endedAt: row.at,
    });
  };

  for (const [n, row] of rows.entries()) {
    const entry = entries[n];
    if (entry === undefined) break;
    const job = jobOfStep.get(row.id);
    const node =
      job === undefined ? (nodes.get(row.causationId) ?? commandNode(row, entry)) : jobNode(job, row.ledBy);
    node.events.push(entry);
    if (job === undefined) for (const begun of jobsOfCommand.get(row.causationId) ?? []) jobNode(begun);
  }
  return top;
};

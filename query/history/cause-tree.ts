import type { AuditLog } from '../../domain/history/audit-log-resource.ts';
import type { CauseNode, CommandNode, JobNode } from '../../domain/history/cause-resource.ts';
import type { CausedRow, EventRow } from './audit-entries.ts';
import type { SeenJob } from '../resources/seen-job.ts';

/** What the tree of a page is made of. */
export interface Caused {
  /** In the order of the log. */
  readonly rows: readonly CausedRow[];
  /** Of the rows, in their order. */
  readonly entries: readonly AuditLog[];
  /** Those that the rows' streams tell of. */
  readonly jobs: readonly SeenJob[];
  /** Commands by the commands that they led to, as far as that is known. */
  readonly causes: ReadonlyMap<string, string>;
  /** Whether what a worker did is a job by itself, and not a step of one that its stream tells of. */
  readonly isJob: (row: EventRow) => boolean;
  /** Whether a job by itself came to nothing. */
  readonly hasFailed: (row: EventRow) => boolean;
}

/** By the commands that they began with. */
const byBeginning = (jobs: readonly SeenJob[]): ReadonlyMap<string | undefined, readonly SeenJob[]> => {
  const found = new Map<string | undefined, SeenJob[]>();
  for (const job of jobs) found.set(job.begunBy, [...(found.get(job.begunBy) ?? []), job]);
  return found;
};

/** @param ledBy of the row that it was found by: what it began with is another request's, where this one came in later */
const causeOf = ({ begunBy, joinedBy }: SeenJob, ledBy: string | null): string | null =>
  ledBy !== null && joinedBy.includes(ledBy) ? ledBy : (begunBy ?? null);

type Growing<Node> = Omit<Node, 'events' | 'followedBy'> & { events: AuditLog[]; followedBy: CauseNode[] };

/**
 * What followed from what, by the ids that the events have. Whatever followed from something that is on no row stands at
 * the top, and names it.
 */
export const causeTree = ({
  rows,
  entries,
  jobs,
  causes,
  isJob,
  hasFailed,
}: Caused): readonly CauseNode[] => {
  const nodes = new Map<string, Growing<CommandNode> | Growing<JobNode>>();
  const top: CauseNode[] = [];
  const jobOfStep = new Map(jobs.flatMap((job) => job.steps.map((step) => [step, job] as const)));
  const jobsOfCommand = byBeginning(jobs);

  const add = <Node extends Growing<CommandNode> | Growing<JobNode>>(node: Node): Node => {
    nodes.set(node.id, node);
    (nodes.get(node.causedBy ?? '')?.followedBy ?? top).push(node);
    return node;
  };
  const jobNode = (job: SeenJob, ledBy: string | null = null): Growing<JobNode> => {
    const { id, facts, calls } = job;
    const known = nodes.get(id);
    if (known?.kind === 'job') return known;
    const node = add<Growing<JobNode>>({
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
  const commandNode = (row: EventRow, entry: AuditLog): Growing<CommandNode> | Growing<JobNode> => {
    const { causationId: id, requestId } = row;
    const isAsked = requestId === row.correlationId;
    const causedBy = isAsked ? null : (causes.get(id) ?? null);
    const { actorOrigin, actor, userId } = entry;
    const place = { id, causedBy, events: [], followedBy: [] };
    if (isAsked || !isJob(row)) {
      return add<Growing<CommandNode>>({
        kind: 'command',
        ...place,
        actorOrigin,
        actor,
        ...(userId === undefined ? {} : { userId }),
        requestId,
      });
    }
    const status = hasFailed(row) ? 'FAILED' : 'COMPLETED';
    return add<Growing<JobNode>>({
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

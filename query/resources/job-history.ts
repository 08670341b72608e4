import type { CallFacts, JobFacts } from '../../domain/history/cause-resource.ts';

export interface JobHistory {
  readonly id: string;
  /** The first command; undefined if it is before the events that were read. */
  readonly begunBy: string | undefined;
  /** Commands of other requests whose changes the job included after its beginning. */
  readonly joinedBy: readonly string[];
  readonly steps: readonly string[];
  readonly facts: JobFacts;
  readonly calls: readonly CallFacts[];
}

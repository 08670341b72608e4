import type { CallFacts, JobFacts } from '../../domain/history/cause-resource.ts';

export interface JobHistory {
  readonly id: string;
  readonly begunBy: string | undefined;
  /** Commands of requests whose changes the job included later. */
  readonly joinedBy: readonly string[];
  readonly steps: readonly string[];
  readonly facts: JobFacts;
  readonly calls: readonly CallFacts[];
}

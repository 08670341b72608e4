import type { CallFacts, JobFacts } from '../../domain/history/cause-resource.ts';

/** A job, as the events of one stream tell of it. */
export interface SeenJob {
  readonly id: string;
  /** Command that it began with; undefined where that is further back than was looked. */
  readonly begunBy: string | undefined;
  /** Commands of other requests that it has come to lead to what they did behind its beginning. */
  readonly joinedBy: readonly string[];
  /** Ids of the events that it has led to. */
  readonly steps: readonly string[];
  readonly facts: JobFacts;
  readonly calls: readonly CallFacts[];
}

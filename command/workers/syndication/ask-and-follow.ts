import type { JsonMembers } from '../../../domain/syndication/syndication-resource.ts';
import { askAgent, type FinalAnswer, type Question } from './ask-agent.ts';
import { submitted } from './record-steps.ts';
import type { SyndicateOptions } from './syndicate-options.ts';

/**
 * Asks the agent; what it takes in is recorded, and followed by whoever has the job next.
 * @throws TryAgainError while the agent is at it
 */
export const askAndFollow = (
  options: SyndicateOptions,
  question: Question,
  asked: { readonly request: JsonMembers; readonly idempotencyKey: string },
): Promise<FinalAnswer> =>
  askAgent(options, question, asked, ({ taskId, taskOf }) =>
    submitted(
      options,
      question.record,
      { idempotencyKey: asked.idempotencyKey, taskId, taskOf },
      question.correlationId,
    ),
  );

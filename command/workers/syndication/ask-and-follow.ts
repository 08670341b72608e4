import type { JsonMembers } from '../../../domain/syndication/resource.ts';
import { askAgent, type FinalAnswer, type Question } from './ask-agent.ts';
import { submitted } from './record-steps.ts';
import type { SyndicateOptions } from './syndicate-options.ts';

/** Records an accepted task; later runs poll it. @throws TryAgainError while the agent works */
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

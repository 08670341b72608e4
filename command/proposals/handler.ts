import {
  proposalRequestAggregate,
  type ProposalRequestRefusal,
} from '../../domain/proposals/proposal-request.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { alreadyExists, notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';

const proposalRefused = refusals<ProposalRequestRefusal>({
  'not-found': () => notFound('proposal request'),
  'already-exists': () => alreadyExists('proposal request'),
});

export const {
  create: createExecution,
  execute: executeOnExecution,
  doneBefore: executionDoneBefore,
  load: loadExecution,
} = handlerFor(proposalRequestAggregate, proposalRefused);

/**
 * - `refused`: the address is none that the service connects to; nothing was sent
 * - `unreachable`: no answer, whatever the reason: it is not told apart, so that nobody can look around our network
 * - `bad-answer`: an answer that is too long, leads elsewhere or is none
 */
export type OutboundFailure = 'refused' | 'unreachable' | 'bad-answer';

const messages: Readonly<Record<OutboundFailure, string>> = {
  refused: 'The address is not one that may be connected to.',
  unreachable: 'The address could not be reached, or did not answer in time.',
  'bad-answer': 'The answer was too long, led elsewhere or could not be read.',
};

/** A request to somebody else's server failed. Its message may be shown to whoever gave the address. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, options: ErrorOptions = {}) {
    super(messages[failure], options);
    this.failure = failure;
  }
}

/** `unreachable` hides the reason, so that a caller cannot explore our network. */
export type OutboundFailure = 'refused' | 'unreachable' | 'bad-answer';

const messages: Readonly<Record<OutboundFailure, string>> = {
  refused: 'The address is not one that may be connected to.',
  unreachable: 'The address could not be reached, or did not answer in time.',
  'bad-answer': 'The answer was too long, led elsewhere or could not be read.',
};

/** The message may be shown to the user who entered the address. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, options: ErrorOptions = {}) {
    super(messages[failure], options);
    this.failure = failure;
  }
}

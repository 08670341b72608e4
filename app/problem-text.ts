/** Errors of the language are bugs and show their stack; any other message explains an operator's mistake. */
export const problemText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (BUGS.has(error.name)) return error.stack ?? error.message;
  // A connection error to a host with several addresses has an empty message.
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(problemText).join('; ');
  return error.message;
};

const BUGS = new Set(['TypeError', 'ReferenceError', 'SyntaxError', 'AssertionError']);

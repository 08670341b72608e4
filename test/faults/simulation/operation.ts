import fc from 'fast-check';

/** What one key stands for, and what its buyer does with it. */
export interface Operation {
  readonly kind: 'create' | 'rename' | 'describe' | 'relabel' | 'poison' | 'archive' | 'restore';
  /** Which of the advertisers that are there already; of no meaning to `create`. */
  readonly target: number;
  /** Clients that send the same request under the same key at once. */
  readonly senders: number;
  /**
   * When a client that has its answer sends the request once more. The last one sends it once, and again
   * shortly before 24 h are over.
   */
  readonly repeated: 'never' | 'soon' | 'before 24 h' | 'after 24 h' | 'late, when unknown';
  /** Another request under the same key. */
  readonly isKeyReused: boolean;
}

export const TARGETS = 2;

const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom('rename', 'create', 'describe', 'relabel', 'archive', 'restore', 'poison'),
  target: fc.nat(TARGETS - 1),
  senders: fc.constantFrom(1, 1, 2),
  repeated: fc.constantFrom(
    'never',
    'never',
    'never',
    'soon',
    'before 24 h',
    'after 24 h',
    'late, when unknown',
  ),
  isKeyReused: fc.constantFrom(false, false, false, false, true),
});

/** What is done, and the tape of what befalls it. */
export interface Schedule {
  readonly operations: readonly Operation[];
  readonly tape: Uint8Array;
}

/** Choices that a tape holds at most; what goes on behind its end goes on undisturbed. */
const TAPE_LENGTH_MAX = 400;

const schedulesOf = (one: fc.Arbitrary<Operation>, minLength: number): fc.Arbitrary<Schedule> =>
  fc.noBias(
    fc.record({
      operations: fc.array(one, { minLength, maxLength: 6, size: 'max' }),
      tape: fc.uint8Array({ maxLength: TAPE_LENGTH_MAX, size: 'max' }),
    }),
  );

export const schedules = schedulesOf(operation, 1);

/** Many runs of one command at once, of which some are refused and others are not: chance rarely brings them together. */
export const rivalSchedules = schedulesOf(
  fc.record({
    kind: fc.constantFrom('rename', 'archive', 'restore', 'relabel'),
    target: fc.constant(0),
    senders: fc.constantFrom(1, 2, 2),
    repeated: fc.constantFrom('soon', 'soon', 'never', 'late, when unknown'),
    isKeyReused: fc.constant(false),
  }),
  2,
);

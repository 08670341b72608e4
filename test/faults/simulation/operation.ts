import fc from 'fast-check';

/** The command of one key, and how its buyer sends it. */
export interface Operation {
  readonly kind: 'create' | 'rename' | 'describe' | 'relabel' | 'poison' | 'archive' | 'restore';
  /** Index of an existing advertiser; `create` ignores it. */
  readonly target: number;
  /** Clients that send the same request with the same key concurrently. */
  readonly senders: number;
  /**
   * When a client that has its answer repeats the request. The last value repeats once, and again shortly before 24 h
   * have passed.
   */
  readonly repeated: 'never' | 'soon' | 'before 24 h' | 'after 24 h' | 'late, when unknown';
  /** Also sends another request with the same key. */
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

/** The commands, and the tape that decides their outcomes. */
export interface Schedule {
  readonly operations: readonly Operation[];
  readonly tape: Uint8Array;
}

/** The maximum length of a tape. After its end, no faults occur. */
const TAPE_LENGTH_MAX = 400;

const schedulesOf = (one: fc.Arbitrary<Operation>, minLength: number): fc.Arbitrary<Schedule> =>
  fc.noBias(
    fc.record({
      operations: fc.array(one, { minLength, maxLength: 6, size: 'max' }),
      tape: fc.uint8Array({ maxLength: TAPE_LENGTH_MAX, size: 'max' }),
    }),
  );

export const schedules = schedulesOf(operation, 1);

/** Many concurrent runs of one command, some of which are refused. Random schedules rarely combine them. */
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

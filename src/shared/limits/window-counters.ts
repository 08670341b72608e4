/** A subject's window while it is open. */
export interface OpenWindow {
  /** What was counted in it so far, this time included. */
  readonly count: number;
  /** Until it closes; above 0. */
  readonly msLeft: number;
  /** True when only this process counted, the shared counters being away. */
  readonly alone?: true;
}

/**
 * Counters in fixed windows. A window opens when its subject is first counted and closes a set time later,
 * whatever comes in between; the next count opens a new one. Shared by all processes, unless said otherwise.
 */
export interface WindowCounters {
  /**
   * Counts once, atomically: of callers at the same time, in any process, no two get the same `count`.
   * @param seconds how long the window stays open if this opens it
   */
  count(subject: string, seconds: number): Promise<OpenWindow>;
  /** The subject's window, without counting; undefined when none is open. */
  read(subject: string): Promise<OpenWindow | undefined>;
  /** Closes the subject's window, if one is open, and opens a new one that has counted once. */
  reopen(subject: string, seconds: number): Promise<void>;
}

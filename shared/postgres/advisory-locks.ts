/**
 * Every advisory lock that has one fixed key, in one place: two uses of one key would wait for each other.
 * 7216002 is the log's own, taken inside the SQL function `append_to_log` (`migrations/event-log.ts`).
 */
export const advisoryLocks = {
  /** Held while migrating. */
  migration: 7_216_001,
  /** Held while looking whether an installation is empty, and opening its first account. */
  firstAccount: 7_216_003,
  /**
   * Held by the process that runs a read model. The first of two keys; the second is made of the read model's
   * name. (A pair never meets a single key, whatever the numbers.)
   */
  projections: 7_216_004,
  /** Held by whoever makes a copy of a read model beside the live one; the second key as of `projections`. */
  readModelCopies: 7_216_033,
  /** Held while work is handed out to the queues (`work_list`). */
  workOffers: 7_216_005,
  /** Held while persons of an account are forgotten. The first of two keys; the second is the account. */
  forgetting: 7_216_035,
} as const;

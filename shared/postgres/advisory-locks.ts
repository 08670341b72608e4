/**
 * All advisory locks with a fixed key, so that no key is used twice. A pair of keys never collides with a single key.
 * The SQL function `append_to_log` (`migrations/event-log.ts`) uses 7216002.
 */
export const advisoryLocks = {
  migration: 7_216_001,
  /** Held while a process checks that an installation is empty and creates its first account. */
  firstAccount: 7_216_003,
  /** Held by the process that runs a projection. First of two keys; the second is a hash of the read model's name. */
  projections: 7_216_004,
  /** Held by the process that fills a copy of a read model. First of two keys; the second is as in `projections`. */
  readModelCopies: 7_216_033,
  /** Held while work is put on the queues (`work_list`). */
  workOffers: 7_216_005,
  /** Held while persons of an account are forgotten. First of two keys; the second is the account id. */
  forgetting: 7_216_035,
} as const;

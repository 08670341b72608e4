/** All fixed keys; `append_to_log` (`migrations/event-log.ts`) uses 7216002. */
export const advisoryLocks = {
  migration: 7_216_001,
  firstAccount: 7_216_003,
  /** First of two keys; the second is a hash of the read model's name. */
  projections: 7_216_004,
  /** As `projections`, for the process that fills a copy of a read model. */
  readModelCopies: 7_216_033,
  workOffers: 7_216_005,
  /** First of two keys; the second is the account id. */
  forgetting: 7_216_035,
} as const;

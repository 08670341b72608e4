/** How long an answer is replayed (specification, Other bounds), in hours by the database's clock. */
export const REPLAY_HOURS = 24;

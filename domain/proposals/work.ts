/** A seller of an execution is asked, or its task polled. Key: derived from execution and seller. */
export const PROPOSAL_SELLER = 'proposal-seller';

/** An execution whose time is over is closed. Key: the execution. */
export const PROPOSAL_END = 'proposal-end';

/** Names the entry of one seller. */
export const sellerEntryName = (sellerId: number): string => `seller:${sellerId}`;

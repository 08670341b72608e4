import type { Metadata } from '@grpc/grpc-js';
import { notLeader, notReady, type GrpcStatus } from './grpc-status.ts';

/** How a node stands in its cluster. */
export type Standing =
  | { readonly role: 'leader' }
  /**
   * Believes that it leads, and has no majority: what it appends goes to a tail of its own that is never acknowledged, and
   * is cut off when it joins the others again.
   */
  | { readonly role: 'deposed' }
  | { readonly role: 'follower'; readonly leader: { readonly host: string; readonly port: number } }
  /** An election is under way, or there is no majority for one. */
  | { readonly role: 'leaderless' };

/** Why the node does not take a call with this metadata; undefined when it does. */
export const leadershipRefusal = (standing: Standing, metadata: Metadata): GrpcStatus | undefined => {
  if (standing.role === 'leaderless') return notReady;
  const isForLeader = metadata.get('requires-leader').includes('true');
  if (standing.role !== 'follower' || !isForLeader) return undefined;
  return notLeader(standing.leader.host, standing.leader.port);
};

import type { Metadata } from '@grpc/grpc-js';
import { notLeader, notReady, type GrpcStatus } from './grpc-status.ts';

/** A node's role in its cluster. */
export type NodeRole =
  | { readonly role: 'leader' }
  /**
   * Believes that it leads, but has no majority. Its appends go to a separate tail, are never acknowledged, and are
   * discarded when it rejoins the others.
   */
  | { readonly role: 'deposed' }
  | { readonly role: 'follower'; readonly leader: { readonly host: string; readonly port: number } }
  /** An election is in progress, or has no majority. */
  | { readonly role: 'leaderless' };

/** The reason to refuse a call with this metadata; undefined if the node accepts it. */
export const leadershipRefusal = (nodeRole: NodeRole, metadata: Metadata): GrpcStatus | undefined => {
  if (nodeRole.role === 'leaderless') return notReady;
  const isForLeader = metadata.get('requires-leader').includes('true');
  if (nodeRole.role !== 'follower' || !isForLeader) return undefined;
  return notLeader(nodeRole.leader.host, nodeRole.leader.port);
};

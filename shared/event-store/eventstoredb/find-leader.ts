import type { EventStoreDBClient } from '@eventstore/db-client';
import { isUsable, seedsOf, type Endpoint } from './connection-string.ts';
import { doubtOf, isNotReady, leaderNamedBy } from './failure.ts';
import { assertLeads, membersOf } from './node-client.ts';
import { keyOf, type NodeClients } from './node-clients.ts';

export interface NodeFailure {
  readonly endpoint: Endpoint;
  readonly error: unknown;
}

export interface LeaderSearchResult {
  readonly leader: EventStoreDBClient | undefined;
  /** Includes nodes that had not answered in time. */
  readonly failures: readonly NodeFailure[];
}

/**
 * A node claims to lead if it answers a read that only a leader answers. A frozen node still claims this
 * after another was elected, and the client's gossip contains no epoch: therefore the claim with most
 * followers wins, and none if more than half of the nodes follow no node. Reports about other nodes never
 * prove a claim. @param doubted loses a tie
 */
export type FindLeader = (doubted: EventStoreDBClient | undefined) => Promise<LeaderSearchResult>;

/** A frozen node delays no other node. */
const NODE_MS_MAX = 1_000;
const SECOND_OPINION_MS = 250;
const NODES_MAX = 16;

/** @throws Error when the connection string names a file that does not exist */
export const createFindLeader = (connectionString: string, clients: NodeClients): FindLeader => {
  const { seeds, isCluster } = seedsOf(connectionString);
  let known = addressesOf(seeds);
  for (const seed of seeds) clients.of(seed);
  return async (doubted) => {
    const learnt = addressesOf(seeds);
    const found = await askAll({ known, learnt, isCluster, clients, doubted });
    // If no node named a member, keep the addresses of earlier rounds.
    if (learnt.size === seeds.length) for (const [key, endpoint] of known) learnt.set(key, endpoint);
    // Late answers still add to it.
    known = learnt;
    return found;
  };
};

interface Round {
  readonly known: ReadonlyMap<string, Endpoint>;
  readonly learnt: Map<string, Endpoint>;
  readonly isCluster: boolean;
  readonly clients: NodeClients;
  readonly doubted: EventStoreDBClient | undefined;
}

const askAll = ({ known, learnt, isCluster, clients, doubted }: Round): Promise<LeaderSearchResult> =>
  new Promise((resolve) => {
    const asked = new Set<string>();
    const unanswered = new Set<string>();
    const claims = new Map<string, EventStoreDBClient>();
    const followers = new Map<string, number>();
    const failures: NodeFailure[] = [];
    let isOver = false;

    const strongest = (): { readonly claim: EventStoreDBClient | undefined; readonly followed: number } => {
      let [claim, followed]: [EventStoreDBClient | undefined, number] = [undefined, -1];
      for (const [key, client] of claims) {
        const count = followers.get(key) ?? 0;
        if (count > followed || (count === followed && claim === doubted))
          [claim, followed] = [client, count];
      }
      return { claim, followed };
    };
    const decide = (): void => {
      const { claim, followed } = strongest();
      // More followers name a node that has not answered yet: wait for its answer.
      if ([...unanswered].some((key) => (followers.get(key) ?? 0) > Math.max(0, followed))) return;
      const leaderless = failures.filter(({ error }) => isNotReady(error)).length;
      isOver = true;
      resolve({ leader: leaderless > asked.size / 2 ? undefined : claim, failures });
    };

    const ask = (endpoint: Endpoint): void => {
      const key = keyOf(endpoint);
      if (asked.has(key) || asked.size >= NODES_MAX) return;
      asked.add(key);
      unanswered.add(key);
      void answerOf(endpoint)
        // Creating a client fails, for example, while a certificate file is being replaced.
        .catch(() => failures.push({ endpoint, error: new Error('no client could be made') }))
        .finally(() => {
          unanswered.delete(key);
          if (unanswered.size === 0) decide();
        });
    };
    const answerOf = async (endpoint: Endpoint): Promise<void> => {
      const client = clients.of(endpoint);
      if (isCluster) membersOf(client, NODE_MS_MAX).then(learn, () => undefined);
      await assertLeads(client, NODE_MS_MAX).then(
        () => leads(endpoint, client),
        (error: unknown) => fails({ endpoint, error }, client),
      );
    };
    const learn = (endpoints: readonly Endpoint[]): void => {
      for (const endpoint of endpoints.filter(isUsable).slice(0, NODES_MAX)) {
        learnt.set(keyOf(endpoint), endpoint);
        if (!isOver) ask(endpoint);
      }
    };
    const leads = (endpoint: Endpoint, client: EventStoreDBClient): void => {
      learnt.set(keyOf(endpoint), endpoint);
      claims.set(keyOf(endpoint), client);
      if (claims.size === 1) setTimeout(decide, SECOND_OPINION_MS);
    };
    const fails = (failure: NodeFailure, client: EventStoreDBClient): void => {
      failures.push(failure);
      const doubt = doubtOf(failure.error);
      if (doubt === 'broken' || doubt === 'silent') clients.drop(client);
      const named = leaderNamedBy(failure.error);
      if (named === undefined) return;
      followers.set(keyOf(named), (followers.get(keyOf(named)) ?? 0) + 1);
      learn([named]);
    };
    for (const endpoint of known.values()) ask(endpoint);
  });

const addressesOf = (endpoints: readonly Endpoint[]): Map<string, Endpoint> =>
  new Map(endpoints.map((endpoint) => [keyOf(endpoint), endpoint]));

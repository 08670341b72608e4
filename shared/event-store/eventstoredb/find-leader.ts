import type { EventStoreDBClient } from '@eventstore/db-client';
import { isUsable, seedsOf, type Endpoint } from './connection-string.ts';
import { doubtOf, isNotReady, leaderNamedBy } from './failure.ts';
import { assertLeads, membersOf } from './node-client.ts';
import { keyOf, type NodeClients } from './node-clients.ts';

/** Why a node cannot be used. */
export interface NodeFailure {
  readonly endpoint: Endpoint;
  readonly error: unknown;
}

export interface Found {
  /** A client whose connection to the node that leads is open; undefined when no node leads. */
  readonly leader: EventStoreDBClient | undefined;
  /** Of the nodes that do not lead, or had not answered when the leader was found. */
  readonly failures: readonly NodeFailure[];
}

/**
 * Asks all known nodes at once, each for at most `NODE_MS_MAX`. A node claims to lead when it answers a read that only a
 * leader answers. A node that was frozen claims so for seconds after another one has been elected, and the client's
 * gossip has no epoch that would tell the two apart. So followers decide: each names the node that it follows, and the
 * claim that most of them name wins. While more than half of the nodes follow no node, no claim is believed.
 * What one node says of another proves no claim: it adds addresses to ask, and chooses between claims.
 * @param doubted a client whose node loses against any other claim that as many followers name
 */
export type FindLeader = (doubted: EventStoreDBClient | undefined) => Promise<Found>;

/** For one node to answer. A frozen node costs nothing else, because the others are asked at the same time. */
const NODE_MS_MAX = 1_000;
/** After the first claim, for the other nodes to answer. */
const SECOND_OPINION_MS = 250;
/** Seeds and the members that they name. */
const NODES_MAX = 16;

/** @throws Error when the connection string names a file that is not there */
export const createFindLeader = (connectionString: string, clients: NodeClients): FindLeader => {
  const { seeds, isCluster } = seedsOf(connectionString);
  /** What earlier rounds learnt, so that the next one need not learn it again. */
  let known = addressesOf(seeds);
  for (const seed of seeds) clients.of(seed);
  return async (doubted) => {
    const learnt = addressesOf(seeds);
    const found = await askAll({ known, learnt, isCluster, clients, doubted });
    // If no node named a member, only the addresses of earlier rounds are known.
    if (learnt.size === seeds.length) for (const [key, endpoint] of known) learnt.set(key, endpoint);
    // Late answers add to it.
    known = learnt;
    return found;
  };
};

interface Round {
  readonly known: ReadonlyMap<string, Endpoint>;
  /** Filled with the nodes that answers name. */
  readonly learnt: Map<string, Endpoint>;
  /** Nodes may be asked who else is in the cluster. */
  readonly isCluster: boolean;
  readonly clients: NodeClients;
  readonly doubted: EventStoreDBClient | undefined;
}

const askAll = ({ known, learnt, isCluster, clients, doubted }: Round): Promise<Found> =>
  new Promise((resolve) => {
    const asked = new Set<string>();
    const unanswered = new Set<string>();
    const claims = new Map<string, EventStoreDBClient>();
    /** How many followers name a node as the one that they follow. */
    const followers = new Map<string, number>();
    const failures: NodeFailure[] = [];
    let isOver = false;

    /** Of two claims that as many followers name, the one that is not in doubt. */
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
      // More followers name a node that has not answered yet: its own answer is waited for.
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
        // A certificate's file may be gone for a moment.
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

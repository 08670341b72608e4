import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Behaviour } from '../../demo/sandbox-agent/behaviour.ts';
import { shippedProgram } from './bundles.ts';

export type { Behaviour } from '../../demo/sandbox-agent/behaviour.ts';

/** Calls that the agent has received, and the resources that it stores. */
export interface AgentState {
  /** Idempotency keys of the calls that had an effect, in order. */
  readonly effects: readonly string[];
  /** Idempotency keys of all calls that reached its own code, in order. */
  readonly calls: readonly string[];
  /** Keys among them that delivered an event source or a catalog, one call each. */
  readonly takes: readonly string[];
  /** Ids of the event sources, keyed by the JSON of the account reference. */
  readonly sources: Readonly<Record<string, readonly string[]>>;
  /** Member counts by audience, by account. */
  readonly audiences: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly catalogs: Readonly<Record<string, readonly string[]>>;
}

export interface SandboxAgent {
  /** Over MCP. */
  readonly url: string;
  readonly a2aUrl: string;
  readonly token: string;
  behave(how: Partial<Behaviour>): Promise<void>;
  state(): Promise<AgentState>;
  /** Ids of an account's present event sources. */
  eventSources(accountId: string): Promise<readonly string[]>;
  catalogs(accountId: string): Promise<readonly string[]>;
  /** The event sources and catalogs of an account, as received. */
  holding(
    accountId: string,
  ): Promise<Pick<AgentPage['accounts'][number], 'event_sources' | 'catalogs'> | undefined>;
  /** Hashed e-mails of an audience's members by id; undefined if the account does not have the audience. */
  members(accountId: string, audienceId: string): Promise<Readonly<Record<string, string>> | undefined>;
  /** The members of an audience, as received. */
  sentMembers(accountId: string, audienceId: string): Promise<readonly SentMember[] | undefined>;
  stop(): Promise<void>;
}

interface SentMember {
  readonly external_id: string;
  readonly hashed_email?: string;
}

/** `GET /` of the agent. */
interface AgentPage {
  readonly accounts: readonly {
    readonly account: unknown;
    readonly audiences: readonly { readonly audience_id: string; readonly members: number }[];
    readonly event_sources: readonly { readonly event_source_id: string }[];
    readonly catalogs: readonly { readonly catalog_id: string }[];
  }[];
  readonly calls: readonly {
    readonly task: string;
    readonly idempotencyKey: string;
    readonly deletesMissing: boolean;
    readonly hadEffect: boolean;
  }[];
}

const MAIN = shippedProgram('sandbox-agent.js');

/**
 * Starts the project's sandbox agent as a separate process: Jest cannot load that part of the SDK.
 * @param port 0 selects a free one
 */
export const startSandboxAgent = async (token = 'sandbox-agent-token', port = 0): Promise<SandboxAgent> => {
  const child = spawn(process.execPath, ['--no-warnings', MAIN], {
    env: { ...process.env, SANDBOX_AGENT_PORT: String(port), SANDBOX_AGENT_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const origin = await addressIn(createInterface({ input: child.stdout }));
  const shown = async (): Promise<AgentPage> => (await (await fetch(`${origin}/`)).json()) as AgentPage;
  const state = async (): Promise<AgentState> => stateOf(await shown());
  const sentMembers: SandboxAgent['sentMembers'] = async (accountId, audienceId) => {
    const query = new URLSearchParams({ account: keyOf(accountId), audience_id: audienceId });
    const answer = await fetch(`${origin}/members?${query.toString()}`);
    return answer.status === 404 ? undefined : ((await answer.json()) as readonly SentMember[]);
  };
  return {
    url: `${origin}/mcp`,
    a2aUrl: `${origin}/a2a`,
    token,
    behave: async (how) => {
      const headers = { 'Content-Type': 'application/json' };
      const answer = await fetch(`${origin}/behaviour`, {
        method: 'PUT',
        headers,
        body: JSON.stringify(how),
      });
      if (!answer.ok) throw new Error(await answer.text());
    },
    state,
    eventSources: async (accountId) => (await state()).sources[keyOf(accountId)] ?? [],
    catalogs: async (accountId) => (await state()).catalogs[keyOf(accountId)] ?? [],
    holding: async (accountId) =>
      (await shown()).accounts.find(({ account }) => JSON.stringify(account) === keyOf(accountId)),
    members: async (accountId, audienceId) => {
      const members = await sentMembers(accountId, audienceId);
      return (
        members &&
        Object.fromEntries(members.map(({ external_id, hashed_email = '' }) => [external_id, hashed_email]))
      );
    },
    sentMembers,
    stop: async () => {
      process.off('exit', kill);
      const ended = once(child, 'exit');
      kill();
      await ended;
    },
  };
};

const keyOf = (accountId: string): string => JSON.stringify({ account_id: accountId });

const addressIn = async (lines: AsyncIterable<string>): Promise<string> => {
  for await (const line of lines) {
    const [, address] = /is at (http:\S+)/.exec(line) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error('the sandbox agent did not start');
};

const stateOf = ({ accounts, calls }: AgentPage): AgentState => {
  const byAccount = <T>(what: (account: AgentPage['accounts'][number]) => T): Readonly<Record<string, T>> =>
    Object.fromEntries(accounts.map((one) => [JSON.stringify(one.account), what(one)]));
  return {
    effects: calls.filter(({ hadEffect }) => hadEffect).map(({ idempotencyKey }) => idempotencyKey),
    calls: calls.map(({ idempotencyKey }) => idempotencyKey),
    takes: calls
      .filter(({ task, deletesMissing }) => task !== 'sync_audiences' && !deletesMissing)
      .map(({ idempotencyKey }) => idempotencyKey),
    sources: byAccount((one) => one.event_sources.map(({ event_source_id }) => event_source_id)),
    audiences: byAccount((one) =>
      Object.fromEntries(one.audiences.map(({ audience_id, members }) => [audience_id, members])),
    ),
    catalogs: byAccount((one) => one.catalogs.map(({ catalog_id }) => catalog_id)),
  };
};

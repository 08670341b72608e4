import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { DECLINED, PENDING, type Confirmation } from './confirm.ts';
import { toolResult } from './result.ts';

/** As long as a confirmation is valid. */
const STATE_SECONDS = 900;

const Answer = z.object({
  confirm: z.boolean().meta({ title: 'Go ahead', description: 'Nothing has been done yet.' }),
});

interface State {
  readonly confirmationUid: string;
}

/** The client asks the person for the confirmation, where it can. */
export interface Elicitation {
  /** @throws if the state was modified, is too old, or was given to another caller */
  readonly verify: (state: string, context: ServerContext) => Promise<unknown>;
  /**
   * @param declared by the client of a session, at its beginning
   * @param run calls the tool, with the confirmation if the person gave it
   * @param withdraw a confirmation that the person refused
   */
  readonly around: (
    context: ServerContext,
    declared: Declared,
    run: (confirmationUid?: string) => Promise<CallToolResult>,
    withdraw: (confirmationUid: string) => Promise<void>,
  ) => Promise<CallToolResult | InputRequiredResult>;
}

/** @param key at least 32 bytes, the same in each process */
export const createElicitation = (key: () => Promise<Uint8Array>): Elicitation => {
  let made: Promise<RequestStateCodec<State>> | undefined;
  const codec = (): Promise<RequestStateCodec<State>> => {
    made ??= key().then((bytes) =>
      createRequestStateCodec<State>({ key: bytes, ttlSeconds: STATE_SECONDS, bind: callerOf }),
    );
    made.catch(() => (made = undefined));
    return made;
  };
  return {
    verify: async (state, context) => (await codec()).verify(state, context),
    around: async (context, declared, run, withdraw) => {
      const { mcpReq } = context;
      const state = mcpReq.requestState<State>();
      if (state !== undefined) {
        const isConfirmed = acceptedContent(mcpReq.inputResponses, 'confirm', Answer)?.confirm === true;
        if (isConfirmed) return run(state.confirmationUid);
        await withdraw(state.confirmationUid);
        return toolResult({ action: DECLINED });
      }
      const result = await run();
      const content = result.structuredContent as {
        readonly action?: unknown;
        readonly confirmation?: Confirmation;
      };
      if (content?.action !== PENDING || content.confirmation === undefined) return result;
      if (!canElicit(context, declared)) return result;
      const { summary, confirmationUid } = content.confirmation;
      return inputRequired({
        inputRequests: { confirm: inputRequired.elicit({ message: summary, requestedSchema: Answer }) },
        requestState: await (await codec()).mint({ confirmationUid }, context),
      });
    },
  };
};

const callerOf = ({ mcpReq, http }: ServerContext): string =>
  `${mcpReq.method}\n${http?.authInfo?.clientId ?? ''}`;

type Declared = ClientCapabilities['elicitation'];

/** An empty declaration means forms (MCP, Elicitation, Capabilities). */
const canElicit = ({ mcpReq }: ServerContext, ofSession: Declared): boolean => {
  const envelope = mcpReq.envelope as Readonly<Record<string, ClientCapabilities>> | undefined;
  const elicitation = envelope?.[CLIENT_CAPABILITIES_META_KEY]?.elicitation ?? ofSession;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
};

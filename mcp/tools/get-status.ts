import { z } from 'zod';
import { reads, tool, type Tool } from '../tool.ts';

/** @param version of the service */
export const getStatusTool = (version: string): Tool =>
  tool({
    name: 'get_status',
    title: 'Status of the connection',
    description:
      'Who you are connected as: the account, the role of its user, the scopes of your credential, and the version of ' +
      'the service. Call it first, or when another tool says that something is not allowed.',
    scope: 'exchange:read',
    annotations: reads,
    input: z.strictObject({}),
    output: z.object({
      account: z.record(z.string(), z.unknown()).meta({ description: 'Id, company and role' }),
      scopes: z.array(z.string()),
      version: z.string(),
    }),
    run: async (_input, { invoke, caller }) => ({
      account: (await invoke('getCurrentAccount')).data,
      scopes: caller.principal.scopes,
      version,
    }),
  });

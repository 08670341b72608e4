import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { jsonSchemaOf } from './json-schema.ts';
import { outputSchemaOf } from './result.ts';
import type { Tool } from './tool.ts';

export type { ListedTool };

export const listedTool = ({ name, title, description, annotations, input, output }: Tool): ListedTool => ({
  name,
  title,
  description,
  annotations: { title, ...annotations },
  inputSchema: jsonSchemaOf(input, 'input') as ListedTool['inputSchema'],
  outputSchema: outputSchemaOf(output),
});

/** Takes a tenth of a second for all: other requests are served in between. */
export const listedTools = async (tools: readonly Tool[]): Promise<ReadonlyMap<Tool, ListedTool>> => {
  const listed = new Map<Tool, ListedTool>();
  for (const one of tools) {
    listed.set(one, listedTool(one));
    await nextTurn();
  }
  return listed;
};

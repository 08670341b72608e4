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

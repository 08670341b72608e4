import type { Tool } from './tool.ts';
import { getStatusTool } from './tools/get-status.ts';

/** In the order in which agents see them. */
export const allTools = (version: string): readonly Tool[] => [getStatusTool(version)];

import { startSandboxAgent } from './sandbox-agent.ts';

const port = Number(process.env['SANDBOX_AGENT_PORT'] ?? 4_300);
const token = process.env['SANDBOX_AGENT_TOKEN'] ?? 'sandbox-agent-token';

const url = await startSandboxAgent({ port, token });
process.stdout.write(`The sandbox agent is at ${url}

  MCP    ${url}/mcp
  A2A    ${url}/a2a
  token  ${token}

Stored data: ${url}/
`);

import { ListenError } from '../../shared/http/listen-error.ts';
import { startSandboxAgent } from './sandbox-agent.ts';

const { SANDBOX_AGENT_PORT = '4300', SANDBOX_AGENT_TOKEN: token = 'sandbox-agent-token' } = process.env;

const fail = (sentence: string, status: number): never => {
  process.stderr.write(`${sentence}\n`);
  return process.exit(status);
};

const port = Number(SANDBOX_AGENT_PORT);
if (!/^\d+$/.test(SANDBOX_AGENT_PORT) || port > 65_535) {
  fail('SANDBOX_AGENT_PORT must be a port number, 0 to 65535.', 2);
}

try {
  const url = await startSandboxAgent({ port, token });
  process.stdout.write(`The sandbox agent is at ${url}

  MCP    ${url}/mcp
  A2A    ${url}/a2a
  token  ${token}

Stored data: ${url}/
`);
} catch (error) {
  if (!(error instanceof ListenError)) throw error;
  fail(error.message, 1);
}

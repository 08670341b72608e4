/** Refusals of the transport (JSON-RPC 2.0, section 5.1), before a message is understood. */
export const rpcErrors = {
  parse: { status: 400, code: -32_700, message: 'Parse error: the body is not JSON.' },
  batch: {
    status: 400,
    code: -32_600,
    message: 'Invalid Request: batches are not supported. Send each message in a request of its own.',
  },
  noSession: {
    status: 400,
    code: -32_000,
    message: 'Bad Request: Mcp-Session-Id header is required. Send initialize first.',
  },
  nothingToFollow: {
    status: 404,
    code: -32_601,
    message: 'Method not found: this address has nothing to follow.',
  },
  unknownSession: { status: 404, code: -32_001, message: 'Session not found' },
} as const;

export type RpcError = (typeof rpcErrors)[keyof typeof rpcErrors];

export const rpcErrorBody = ({ code, message }: Pick<RpcError, 'code' | 'message'>): string =>
  JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });

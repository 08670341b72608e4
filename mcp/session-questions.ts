import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { Pool } from 'pg';

/** What the service has asked the client of one session, and its answers. They end with the session. */
export interface SessionQuestions {
  ask(id: string): Promise<void>;
  /** Undefined until the client has answered. */
  answerOf(id: string): Promise<JSONRPCMessage | undefined>;
  /** Of something that was not asked: no effect. */
  answer(id: string, message: JSONRPCMessage): Promise<void>;
  forget(id: string): Promise<void>;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ANSWER_LENGTH_MAX = 64 * 1024;

/** @param session the hash of its id */
export const sessionQuestions = (
  pool: Pick<Pool, 'query'>,
  customerId: number,
  session: Buffer,
): SessionQuestions => ({
  ask: async (id) => {
    await pool.query({
      name: 'mcp-ask',
      text: 'insert into mcp_questions (customer_id, session_hash, id) values ($1, $2, $3)',
      values: [customerId, session, id],
    });
  },
  answerOf: async (id) => {
    const { rows } = await pool.query<{ answer: string }>({
      name: 'mcp-answer-of',
      text: 'select answer from mcp_questions where session_hash = $1 and id = $2 and answer is not null',
      values: [session, id],
    });
    return rows[0] === undefined ? undefined : (JSON.parse(rows[0].answer) as JSONRPCMessage);
  },
  answer: async (id, message) => {
    const text = JSON.stringify(message);
    if (!UUID.test(id) || text.length > ANSWER_LENGTH_MAX) return;
    await pool.query({
      name: 'mcp-answer',
      text: 'update mcp_questions set answer = $3 where session_hash = $1 and id = $2 and answer is null',
      values: [session, id, text],
    });
  },
  forget: async (id) => {
    await pool.query({
      name: 'mcp-forget',
      text: 'delete from mcp_questions where session_hash = $1 and id = $2',
      values: [session, id],
    });
  },
});

/** An agent that has not answered is asked again. Key: the agent. */
export const AGENT_CHECK = 'agent-check';

import { randomBytes } from 'node:crypto';
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  completable,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
  type CallToolResult,
  type ElicitRequestFormParams,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { offerFollowing } from '../../mcp/server.ts';
import type { McpSession } from '../../mcp/sessions.ts';
import { sleep } from '../../shared/async/backoff.ts';
import type { Caller } from '../../shared/http/invoke-route.ts';

/** What the scenarios of the conformance suite call. It shows the transport under the tools, not the tools. */

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const text = (of: string) => ({ type: 'text', text: of }) as const;
const said = (of: string): CallToolResult => ({ content: [text(of)] });

const codec = createRequestStateCodec<{ readonly step: number }>({ key: randomBytes(32), ttlSeconds: 900 });

const Name = z.object({ name: z.string() });
const Color = z.object({ color: z.string() });
const Ok = z.object({ ok: z.boolean() });

export const conformanceServer = (_caller: Caller, session?: McpSession): McpServer => {
  const server = new McpServer(
    { name: 'conformance', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: false },
        resources: { listChanged: false, subscribe: true },
        prompts: { listChanged: false },
        completions: {},
      },
      requestState: { verify: codec.verify },
    },
  );
  offerContents(server);
  offerInputs(server);
  offerQuestions(server);
  offerResources(server);
  if (session !== undefined)
    offerFollowing(
      server.server,
      session,
      () => undefined,
      () => undefined,
    );
  offerPrompts(server);
  return server;
};

const offerContents = (server: McpServer): void => {
  const answers = (name: string, content: CallToolResult['content']): void => {
    server.registerTool(name, { description: name }, async () => ({ content }));
  };
  answers('test_simple_text', [text('This is a simple text response for testing.')]);
  answers('test_image_content', [image]);
  answers('test_audio_content', [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }]);
  answers('test_embedded_resource', [
    {
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    },
  ]);
  answers('test_multiple_content_types', [
    text('Multiple content types test:'),
    image,
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: '{"test":"data","value":123}',
      },
    },
  ]);
  server.registerTool('test_error_handling', { description: 'fails' }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool('test_tool_with_progress', { description: 'shows progress' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100 };
        await mcpReq.notify({ method: 'notifications/progress', params });
      }
      await sleep(50);
    }
    return said('Done');
  });
};

const askName = inputRequired.elicit({ message: 'What is your name?', requestedSchema: Name });
const askText = inputRequired.createMessage({
  messages: [{ role: 'user', content: text('What is the capital of France?') }],
  maxTokens: 100,
});

const offerInputs = (server: McpServer): void => {
  server.registerTool(
    'test_input_required_result_elicitation',
    { description: 'asks a person' },
    async ({ mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'user_name', Name);
      return given === undefined
        ? inputRequired({ inputRequests: { user_name: askName } })
        : said(`Hello, ${given.name}!`);
    },
  );
  server.registerTool(
    'test_input_required_result_sampling',
    { description: 'asks a model' },
    async ({ mcpReq }) => {
      const { kind } = inputResponse(mcpReq.inputResponses, 'capital_question');
      return kind === 'missing'
        ? inputRequired({ inputRequests: { capital_question: askText } })
        : said('Paris');
    },
  );
  server.registerTool(
    'test_input_required_result_list_roots',
    { description: 'asks for roots' },
    async ({ mcpReq }) => {
      const { kind } = inputResponse(mcpReq.inputResponses, 'client_roots');
      return kind === 'missing'
        ? inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
        : said('Roots received');
    },
  );
  for (const name of ['request_state', 'tampered_state']) {
    server.registerTool(
      `test_input_required_result_${name}`,
      { description: 'keeps a state' },
      async ({ mcpReq }) => {
        const given = acceptedContent(mcpReq.inputResponses, 'confirm', Ok);
        const state = mcpReq.requestState<{ readonly step: number }>();
        if (given !== undefined && state !== undefined) return said('state-ok');
        const confirm = inputRequired.elicit({ message: 'Please confirm', requestedSchema: Ok });
        return inputRequired({ inputRequests: { confirm }, requestState: await codec.mint({ step: 1 }) });
      },
    );
  }
  server.registerTool(
    'test_input_required_result_multiple_inputs',
    { description: 'asks for all' },
    async ({ mcpReq }) => {
      const keys = ['user_name', 'greeting', 'client_roots'];
      if (keys.every((key) => inputResponse(mcpReq.inputResponses, key).kind !== 'missing'))
        return said('All received');
      return inputRequired({
        inputRequests: { user_name: askName, greeting: askText, client_roots: inputRequired.listRoots() },
        requestState: await codec.mint({ step: 1 }),
      });
    },
  );
  server.registerTool(
    'test_input_required_result_multi_round',
    { description: 'asks twice' },
    async ({ mcpReq }) => {
      const { step = 0 } = mcpReq.requestState<{ readonly step: number }>() ?? {};
      if (step === 1 && acceptedContent(mcpReq.inputResponses, 'step1', Name) !== undefined) {
        const step2 = inputRequired.elicit({
          message: 'Step 2: What is your favorite color?',
          requestedSchema: Color,
        });
        return inputRequired({ inputRequests: { step2 }, requestState: await codec.mint({ step: 2 }) });
      }
      if (step === 2 && acceptedContent(mcpReq.inputResponses, 'step2', Color) !== undefined)
        return said('Done');
      const step1 = inputRequired.elicit({ message: 'Step 1: What is your name?', requestedSchema: Name });
      return inputRequired({ inputRequests: { step1 }, requestState: await codec.mint({ step: 1 }) });
    },
  );
  server.registerTool('test_missing_capability', { description: 'needs a model' }, async () =>
    inputRequired({ inputRequests: { capital_question: askText } }),
  );
  server.registerTool('test_streaming_elicitation', { description: 'asks a person' }, async () =>
    inputRequired({ inputRequests: { user_name: askName } }),
  );
  server.registerTool('test_logging_tool', { description: 'would log' }, async () => said('Logged'));
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'asks what it may' },
    async ({ mcpReq }) => {
      const envelope = mcpReq.envelope as
        Readonly<Record<string, { readonly elicitation?: object }>> | undefined;
      const may = envelope?.[CLIENT_CAPABILITIES_META_KEY];
      const asked = may?.elicitation === undefined ? { greeting: askText } : { user_name: askName };
      const isAnswered = Object.keys(asked).every(
        (key) => inputResponse(mcpReq.inputResponses, key).kind !== 'missing',
      );
      return isAnswered ? said('Done') : inputRequired({ inputRequests: asked });
    },
  );
};

/** For protocol versions with sessions: the service asks the client while it answers. */
const offerQuestions = (server: McpServer): void => {
  const option = (value: string, title: string) => ({ const: value, title });
  const asks = (
    name: string,
    says: string,
    requestedSchema: ElicitRequestFormParams['requestedSchema'],
  ): void => {
    server.registerTool(
      name,
      { description: name, inputSchema: z.object({ message: z.string().default('Please answer') }) },
      async ({ message }, { mcpReq }) => {
        const { action, content } = await mcpReq.elicitInput({ message, requestedSchema });
        return said(`${says}: action=${action}, content=${JSON.stringify(content)}`);
      },
    );
  };
  asks('test_elicitation', 'User response', {
    type: 'object',
    properties: {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    },
    required: ['username', 'email'],
  });
  asks('test_elicitation_sep1034_defaults', 'Elicitation completed', {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
  });
  asks('test_elicitation_sep1330_enums', 'Elicitation completed', {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: {
        type: 'string',
        oneOf: [
          option('value1', 'First Option'),
          option('value2', 'Second Option'),
          option('value3', 'Third Option'),
        ],
      },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: {
        type: 'array',
        items: {
          anyOf: [
            option('value1', 'First Choice'),
            option('value2', 'Second Choice'),
            option('value3', 'Third Choice'),
          ],
        },
      },
    },
  });
  server.registerTool(
    'test_sampling',
    { description: 'asks the model', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: 'user' as const, content: text(prompt) }];
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 });
      return said(`LLM response: ${JSON.stringify(content)}`);
    },
  );
};

const offerResources = (server: McpServer): void => {
  server.registerResource(
    'static-text',
    'test://static-text',
    { mimeType: 'text/plain' },
    async ({ href }) => ({
      contents: [
        { uri: href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
      ],
    }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { mimeType: 'image/png' },
    async ({ href }) => ({
      contents: [{ uri: href, mimeType: 'image/png', blob: PNG }],
    }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    async ({ href }, { id }) => ({
      contents: [
        {
          uri: href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
};

const offerPrompts = (server: McpServer): void => {
  const user = <Content>(content: Content) => ({ role: 'user' as const, content });
  server.registerPrompt('test_simple_prompt', { description: 'simple' }, async () => ({
    messages: [user(text('This is a simple prompt for testing.'))],
  }));
  const completed = completable(z.string(), (value) =>
    ['paris', 'park', 'party'].filter((one) => one.startsWith(value)),
  );
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'with arguments', argsSchema: z.object({ arg1: completed, arg2: z.string() }) },
    async ({ arg1, arg2 }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'with a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri: uri }) => ({
      messages: [
        user({
          type: 'resource' as const,
          resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        }),
        user(text('Please process the embedded resource above.')),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'with an image' }, async () => ({
    messages: [user(image), user(text('Please analyze the image above.'))],
  }));
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'asks a person' },
    async ({ mcpReq }) => {
      const context = z.object({ context: z.string() });
      const given = acceptedContent(mcpReq.inputResponses, 'user_context', context);
      if (given !== undefined) return { messages: [user(text(given.context))] };
      const asked = inputRequired.elicit({
        message: 'What context should the prompt use?',
        requestedSchema: context,
      });
      return inputRequired({ inputRequests: { user_context: asked } });
    },
  );
};

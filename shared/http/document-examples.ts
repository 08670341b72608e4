import type { Example, Examples } from './examples.ts';
import type { Json } from './json-schema.ts';

interface Media {
  example?: unknown;
}
type Content = Readonly<Record<string, Media>>;

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly in: string; readonly name: string; example?: unknown }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** Adds the examples to parameters, bodies and answers. */
export const addExamples = (paths: Readonly<Record<string, Json>>, examples: Examples): void => {
  for (const item of Object.values(paths)) {
    for (const operation of Object.values(item) as Operation[]) {
      const example = examples[operation.operationId];
      if (example !== undefined) addExample(operation, example);
    }
  }
};

const addExample = ({ parameters, requestBody, responses }: Operation, example: Example): void => {
  for (const parameter of parameters) {
    const value = { path: example.path, query: example.query }[parameter.in]?.[parameter.name];
    if (value !== undefined) parameter.example = value;
  }
  const [sent] = Object.values(requestBody?.content ?? {});
  if (sent !== undefined && 'body' in example) sent.example = example.body;
  const { content = {} } = responses[example.status] ?? responses['2XX'] ?? {};
  const received = mediaOf(content, example.answer);
  if (received !== undefined && 'answer' in example) received.example = example.answer;
};

const JSON_TYPE = 'application/json';

const mediaOf = (content: Content, answer: unknown): Media | undefined => {
  const type = typeof answer === 'string' ? Object.keys(content).find((one) => one !== JSON_TYPE) : JSON_TYPE;
  return type === undefined ? undefined : content[type];
};

import { z } from 'zod';
import type { JsonSchema } from '../golden/example-data.ts';
import { GENERATED, pageOf, tableOf } from './markdown.ts';
import { readOpenApi } from './read-openapi.ts';
import { componentOf, memberRows, typeText } from './schema-text.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

interface Answer {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly { readonly bearer?: readonly string[] }[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const readDocument = async (): Promise<Document> => z.custom<Document>().parse(await readOpenApi());

const fileOf = (tag: string): string => `${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.md`;

const limitsAnd = (limits: string, description: string): string =>
  [limits, description].filter((text) => text !== '').join('. ');

const memberTable = (schema: JsonSchema): readonly string[] => {
  const rows = memberRows(schema).map(({ path, type, limits, isOptional, description }) => [
    `\`${path}\`${isOptional ? ' (optional)' : ''}`,
    type,
    limitsAnd(limits, description),
  ]);
  return rows.length === 0 ? [] : [tableOf(['member', 'type', 'limits and meaning'], rows)];
};

const linkTo = (component: string): string => `[${component}](#${component.toLowerCase()})`;
const linksIn = (schema: JsonSchema): string => {
  const refs = typeof schema.items === 'object' ? [schema.items.$ref] : [schema.$ref];
  const [component] = refs.flatMap((ref) => (ref === undefined ? [] : [componentOf(ref)]));
  return component === undefined ? typeText(schema) : typeText(schema).replace(component, linkTo(component));
};

/** The type of a body as a sentence, and its members unless it is a component, which the page lists once. */
const bodyText = (label: string, schema: JsonSchema): readonly string[] => [
  `${label}: ${linksIn(schema)}.`,
  ...memberTable(schema),
];

const answerText = ([status, answer]: readonly [string, Answer]): readonly string[] => {
  const [[mediaType, { schema }] = ['', { schema: {} }]] = Object.entries(answer.content ?? {});
  const label = `**${status}** ${answer.description ?? ''}`.trim();
  if (mediaType === '') return [`${label}.`];
  if (mediaType !== 'application/json') return [`${label}: \`${mediaType}\`.`];
  const { data, meta } = schema.properties ?? {};
  const isEnveloped = data !== undefined && schema.properties?.['error'] !== undefined;
  return bodyText(
    isEnveloped ? `${label}, \`data\`${meta === undefined ? '' : ' with `meta.pagination`'}` : label,
    isEnveloped ? data : schema,
  );
};

const scopeText = ({ security }: Operation): string =>
  security.length === 0
    ? 'No credential.'
    : `Scope ${security.flatMap(({ bearer = [] }) => bearer.map((scope) => `\`${scope}\``)).join(' or ')}.`;

const operationText = (path: string, method: string, operation: Operation): readonly string[] => {
  const parameters = operation.parameters.filter(({ name }) => name !== 'Idempotency-Key');
  const [[, body] = []] = Object.entries(operation.requestBody?.content ?? {});
  return [
    `## ${method.toUpperCase()} ${path}`,
    `${operation.summary.replace(/\.$/, '')}. ${scopeText(operation)} Operation \`${operation.operationId}\`.`,
    ...(parameters.length === 0
      ? []
      : [
          tableOf(
            ['parameter', 'in', 'type', 'limits and meaning'],
            parameters.map(({ name, in: where, required, description = '', schema }) => [
              `\`${name}\`${required ? '' : ' (optional)'}`,
              where,
              typeText(schema),
              limitsAnd(memberRows({ properties: { name: schema } })[0]?.limits ?? '', description),
            ]),
          ),
        ]),
    ...(body === undefined ? [] : bodyText('Request body', body.schema)),
    ...Object.entries(operation.responses)
      .filter(([, { $ref }]) => $ref === undefined)
      .flatMap(answerText),
  ];
};

const componentsIn = (value: unknown): readonly string[] =>
  [...JSON.stringify(value).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = '']) => name);

/** Components that the operations refer to, directly or through other components. */
const usedBy = (operations: unknown, { components }: Document): readonly string[] => {
  const used = new Set<string>();
  const add = (value: unknown): void => {
    for (const name of componentsIn(value)) {
      if (used.has(name)) continue;
      used.add(name);
      add(components.schemas[name] ?? {});
    }
  };
  add(operations);
  return [...used].toSorted();
};

const componentText = (name: string, schema: JsonSchema): readonly string[] => [
  `### ${name}`,
  ...(schema.description === undefined ? [] : [schema.description]),
  ...(schema.enum === undefined
    ? []
    : [`One of ${schema.enum.map((one) => `\`${String(one)}\``).join(', ')}.`]),
  ...(memberTable(schema).length > 0 || schema.enum !== undefined
    ? memberTable(schema)
    : [`Type: ${typeText(schema)}.`]),
];

interface Entry {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

const entriesOf = ({ paths }: Document): readonly Entry[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

const tagPage = (tag: string, entries: readonly Entry[], document: Document): string => {
  const components = usedBy(
    entries.map(({ operation }) => operation),
    document,
  );
  return pageOf(
    `# API: ${tag}`,
    `${GENERATED} [Conventions and all areas](README.md), [errors](../errors.md).`,
    ...entries.flatMap(({ path, method, operation }) => operationText(path, method, operation)),
    ...(components.length === 0 ? [] : ['## Schemas']),
    ...components.flatMap((name) => componentText(name, document.components.schemas[name] ?? {})),
  );
};

const indexPage = (tags: readonly string[], entries: readonly Entry[]): string =>
  pageOf(
    '# API',
    `Every endpoint, one page for each area. ${GENERATED} A running service serves the same as \`/openapi.json\`, and ` +
      '`/skill.md` for agents.',
    '## Conventions',
    '- **Credential**: `Authorization: Bearer API_KEY`. Each endpoint lists the scope that the key needs.\n' +
      '- **Envelope**: JSON answers are `{"data": …, "error": null}`, or `{"data": null, "error": {…}}` ([errors](../errors.md)).\n' +
      '- **Lists**: `take` and `skip` select a page; `meta.pagination` has `total` and `hasMore`.\n' +
      '- **Idempotency**: every write accepts `Idempotency-Key`. For 24 hours a repeat with the same key has no further effect ' +
      'and gets the first answer.\n' +
      '- **Consistency**: a read sees every earlier successful write of the same account.\n' +
      '- **Rate limits**: `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds) are on every counted answer.\n' +
      '- **Request id**: every answer has `X-Request-Id`. Quote it when you report a problem.\n' +
      '- **Unknown members** of a request body, and unknown query parameters, are ignored.',
    ...tags.flatMap((tag) => [
      `## [${tag}](${fileOf(tag)})`,
      tableOf(
        ['request', 'what it does'],
        entries
          .filter(({ operation }) => operation.tags[0] === tag)
          .map(({ path, method, operation }) => [`\`${method.toUpperCase()} ${path}\``, operation.summary]),
      ),
    ]),
  );

export const apiPages = async (): Promise<ReadonlyMap<string, string>> => {
  const document = await readDocument();
  const entries = entriesOf(document);
  const tags = [...new Set(entries.map(({ operation }) => operation.tags[0] ?? ''))].toSorted();
  return new Map([
    ['docs/reference/api/README.md', indexPage(tags, entries)],
    ...tags.map(
      (tag) =>
        [
          `docs/reference/api/${fileOf(tag)}`,
          tagPage(
            tag,
            entries.filter(({ operation }) => operation.tags[0] === tag),
            document,
          ),
        ] as const,
    ),
  ]);
};

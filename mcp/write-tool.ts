import { z } from 'zod';
import { invalid } from '../shared/http/errors.ts';
import { IDEMPOTENCY_KEY } from '../shared/http/idempotency-key.ts';
import {
  Confirmation,
  confirmArguments,
  DECLINED,
  PENDING,
  type Confirm,
  type Described,
} from './confirm.ts';
import { bodyShapeOf, dataOf, memberOf, namingArguments, type Operations } from './operations.ts';
import { omittedMember, Page } from './page.ts';
import { tool, type Tool, type ToolAnnotations, type ToolRun, type ToolResult } from './tool.ts';
import { fitRow, fitRows, RESULT_BYTES_MAX, type Omitted, type Row } from './truncate.ts';

export interface WriteTools {
  readonly operations: Operations;
  readonly confirm: Confirm;
}

export type Given = Readonly<Record<string, unknown>>;
type Shape = Readonly<Record<string, z.ZodType>>;

/** One route that a tool may call. A tool calls one route, once: so one key means one effect. */
export interface Step {
  readonly operationId: string;
  /** Path parameters, by the argument that gives their value. */
  readonly params?: Readonly<Record<string, string>>;
  /** Members of the body that are not arguments. */
  readonly body?: (input: Given) => Readonly<Record<string, unknown>>;
  /** E.g. `create`, for descriptions and refusals. */
  readonly verb: string;
  /** What was done, in the result: e.g. `created`. */
  readonly action: string;
  /** The result repeats these arguments instead of an object. */
  readonly names?: readonly string[];
  /** Member of the answer that is the object. */
  readonly member?: string;
}

export interface WriteTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  /** Beside the members of the bodies. */
  readonly arguments: Readonly<Record<string, z.ZodType>>;
  readonly steps: readonly [Step, ...Step[]];
  /** The step that the arguments ask for. Default: the first. @throws ApiError VALIDATION_ERROR */
  readonly choose?: (input: Given) => Step;
  /** Members of the bodies that are not arguments. */
  readonly leftOut?: readonly string[];
  readonly confirmed?: {
    readonly if?: (input: Given, call: ToolRun) => boolean;
    readonly describe: (input: Given, call: ToolRun, operations: Operations) => Promise<Described>;
    readonly showsState?: boolean;
  };
}

const idempotencyArgument = {
  idempotencyKey: z
    .string()
    .regex(IDEMPOTENCY_KEY, 'must be 16 to 255 letters, digits, "_", ".", ":" or "-"')
    .meta({
      description:
        'A new name for each thing you do, e.g. a UUID. To repeat a call whose outcome you do not know, send the same key: it is done once.',
    }),
};

export const writeTool = ({ operations, confirm }: WriteTools, definition: WriteTool): Tool => {
  const { steps, arguments: own, leftOut = [], confirmed, choose = () => steps[0] } = definition;
  const shapes = new Map(
    steps.map((step) => {
      const members = Object.entries(bodyShapeOf(operations.of(step.operationId)));
      return [step, Object.fromEntries(members.filter(([member]) => !leftOut.includes(member)))] as const;
    }),
  );
  return tool({
    name: definition.name,
    title: definition.title,
    description: definition.description,
    annotations: definition.annotations,
    scope: 'exchange:write',
    input: z.strictObject({
      ...own,
      ...bodyArguments(shapes),
      ...idempotencyArgument,
      ...(confirmed !== undefined && confirmArguments),
    }),
    output: outputOf(operations, definition),
    run: async (input, call) => {
      const step = choose(input);
      const members = Object.keys(shapes.get(step) ?? {});
      refuseOthers(definition, step, members, input);
      const { idempotencyKey } = input;
      if (confirmed !== undefined && confirmed.if?.(input, call) !== false) {
        const describe = () => confirmed.describe(input, call, operations);
        const { showsState = false } = confirmed;
        const pending = await confirm({ tool: definition.name, idempotencyKey, call, describe, showsState });
        if (pending !== undefined) return pending;
      } else if (call.given['confirmationUid'] !== undefined || call.given['confirm'] !== undefined) {
        throw invalid('This call needs no confirmation. Leave confirm and confirmationUid out.', 'confirm');
      }
      return runStep(step, members, input, call);
    },
  });
};

/** Steps have mostly the same members: a tool offers each once. */
const bodyArguments = (shapes: ReadonlyMap<Step, Shape>): Record<string, z.ZodType> => {
  const merged: Record<string, z.ZodType> = {};
  for (const member of new Set([...shapes.values()].flatMap((shape) => Object.keys(shape)))) {
    const having = [...shapes].flatMap(([step, shape]) => {
      const schema = shape[member];
      return schema === undefined ? [] : [{ step, schema }];
    });
    // A change may clear a member with null, so its schema is the wider one.
    const widest = having.find(({ schema }) => takes(schema, null)) ?? having[0];
    if (widest === undefined) continue;
    const needing = having.filter(({ schema }) => !takes(schema, undefined)).map(({ step }) => step.verb);
    if (needing.length === shapes.size) {
      merged[member] = widest.schema;
      continue;
    }
    const { description } = widest.schema.meta() ?? {};
    const needed = needing.length === 0 ? undefined : `Needed to ${needing.join(' and to ')}.`;
    const text = [description, needed].filter((part) => part !== undefined).join(' ');
    const optional = widest.schema.optional();
    merged[member] = text === '' ? optional : optional.meta({ description: text });
  }
  return merged;
};

const takes = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;

/** A member that another step takes would be ignored here. @throws ApiError VALIDATION_ERROR */
const refuseOthers = (
  { arguments: own, steps }: WriteTool,
  step: Step,
  members: readonly string[],
  input: Given,
): void => {
  if (steps.length === 1) return;
  const known = new Set([...Object.keys(own), ...members, 'idempotencyKey', 'confirm', 'confirmationUid']);
  const other = Object.keys(input).find((member) => input[member] !== undefined && !known.has(member));
  if (other !== undefined) throw invalid(`${other} has no meaning to ${step.verb}. Leave it out.`, other);
};

const runStep = async (
  step: Step,
  members: readonly string[],
  input: Given,
  { given, invoke }: ToolRun,
): Promise<ToolResult> => {
  const { operationId, params = {}, body } = step;
  const argued = Object.fromEntries(
    Object.entries(params).map(([parameter, argument]) => [parameter, String(input[argument])]),
  );
  const sent = Object.fromEntries(
    members.flatMap((member) => (given[member] === undefined ? [] : [[member, given[member]]])),
  );
  const hasBody = members.length > 0 || body !== undefined;
  const called = invoke(operationId, {
    params: argued,
    ...(hasBody && { body: { ...body?.(input), ...sent } }),
    idempotencyKey: String(input['idempotencyKey']),
  });
  const { data } = await namingArguments(params, called);
  return resultOf(step, input, data);
};

const resultOf = ({ action, member, names }: Step, input: Given, data: unknown): ToolResult => {
  if (names !== undefined) return { action, ...Object.fromEntries(names.map((name) => [name, input[name]])) };
  const shown = member === undefined ? data : (data as Row)[member];
  if (Array.isArray(shown)) return fittedRows(action, shown as readonly Row[]);
  const others = member === undefined ? {} : othersOf(data as Row, member);
  const build = ({ row, omitted }: { readonly row: Row; readonly omitted: Omitted }) => ({
    action,
    object: row,
    ...others,
    ...(Object.keys(omitted).length > 0 && { omitted }),
  });
  return build(fitRow(shown as Row, '/object', RESULT_BYTES_MAX, build));
};

const othersOf = (data: Row, member: string): Row => {
  const { [member]: _object, ...others } = data;
  return others;
};

const fittedRows = (action: string, all: readonly Row[]): ToolResult => {
  const build = (rows: readonly Row[], omitted: Omitted) => ({
    action,
    objects: { results: rows },
    page: {
      returned: rows.length,
      total: all.length,
      hasMore: rows.length < all.length,
      truncated: rows.length < all.length || Object.keys(omitted).length > 0,
    },
    ...(Object.keys(omitted).length > 0 && { omitted }),
  });
  const { rows, omitted } = fitRows({
    rows: all,
    path: '/objects/results',
    bytesMax: RESULT_BYTES_MAX,
    build,
  });
  return build(rows, omitted);
};

const outputOf = (operations: Operations, definition: WriteTool): z.ZodObject => {
  const { steps, confirmed, arguments: own } = definition;
  const actions = [...new Set(steps.map(({ action }) => action))];
  const shown = steps.map(({ operationId, member, names }) => {
    if (names !== undefined) return undefined;
    const data = dataOf(operations.of(operationId));
    return member === undefined ? data : memberOf(data, member);
  });
  const objects = distinct(shown).flatMap((one) => (one instanceof z.ZodObject ? [one.partial()] : []));
  const rows = shown.find((one): one is z.ZodArray<z.ZodType> => one instanceof z.ZodArray);
  const [object, ...otherObjects] = objects;
  return z.object({
    action: z.enum([...actions, ...(confirmed === undefined ? [] : [PENDING, DECLINED])]),
    ...Object.fromEntries(
      [...new Set(steps.flatMap(({ names = [] }) => names))].map((name) => [
        name,
        own[name]?.optional() ?? z.unknown(),
      ]),
    ),
    ...(object !== undefined && {
      object: (otherObjects.length === 0 ? object : z.union([object, ...otherObjects])).optional(),
    }),
    ...(Object.assign({}, ...steps.map((step) => otherMembersOf(operations, step))) as Shape),
    ...(rows !== undefined && {
      objects: z.object({ results: z.array(partialOf(rows.element)) }).optional(),
      page: Page.optional(),
    }),
    ...(confirmed !== undefined && { confirmation: Confirmation.optional() }),
    ...omittedMember,
  });
};

/** A row that is too large loses members, so none of them is required. */
const partialOf = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodObject ? schema.partial() : schema;

const distinct = <Item>(items: readonly Item[]): readonly Item[] => [...new Set(items)];

const otherMembersOf = (operations: Operations, { operationId, member }: Step): Shape => {
  const data = dataOf(operations.of(operationId));
  if (member === undefined || !(data instanceof z.ZodObject)) return {};
  const { [member]: _object, ...others } = data.shape as Shape;
  return Object.fromEntries(Object.entries(others).map(([name, schema]) => [name, schema.optional()]));
};

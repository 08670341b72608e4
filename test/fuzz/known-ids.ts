import { parameterNamesOf, type Operation, type Schema } from './read-operations.ts';

/** Their answers name examples, or resources from the oldest on, which may be used up. */
const namingNoneNew: ReadonlySet<string> = new Set(['listEvents', 'listWebhookEventTypes']);

/** A placeholder for the id of an existing resource, filled in when the request is sent. */
export class Reference {
  readonly name: string;
  /** Index of the known id, from the newest. */
  readonly index: number;
  readonly isForeign: boolean;
  /** Sent if no id is known for the name. */
  readonly otherwise: unknown;
  readonly isNumber: boolean;

  constructor(name: string, index: number, isForeign: boolean, otherwise: unknown, isNumber: boolean) {
    this.name = name;
    this.index = index;
    this.isForeign = isForeign;
    this.otherwise = otherwise;
    this.isNumber = isNumber;
  }
}

type Owner = 'own' | 'foreign';

/** A placeholder in the body for a value of the path's parameters. */
export class PathValue {
  /** From 0. */
  readonly position: number;

  constructor(position: number) {
    this.position = position;
  }
}

/** The newest ids of each name suffice: older resources may be used up. */
const IDS_PER_NAME_MAX = 6;

/**
 * Ids of existing resources, learnt from the answers:
 * - ids in the `data` of a collection's answers, by the path of one item;
 * - ids in the lists of a resource's parts;
 * - values of members that are named like a parameter;
 * - addresses of this service with their query (a token, for example).
 * So a new route finds the resources that it refers to if its document names them consistently.
 */
export interface KnownIds {
  /** Learns from a success. @param values the path's parameter values @param sent the request's body */
  learn(owner: Owner, operation: Operation, values: readonly string[], data: unknown, sent: unknown): void;
  /** Values for all parameters of a path: one resource and its parents. */
  pathValues(path: string, index: number, isForeign: boolean): readonly string[];
  /** The query of an address in an answer; empty if no answer had the path. */
  queryOf(path: string, values: readonly string[]): Readonly<Record<string, string>>;
  /** The value of a reference. */
  resolve(reference: Reference): unknown;
  /** Adds a resource that was created by other means. */
  give(path: string, values: readonly string[]): void;
}

/** @param keep ids that the run depends on. They are never used, so that no request revokes or deletes them. */
export const createKnownIds = (operations: readonly Operation[], keep: ReadonlySet<string>): KnownIds => {
  const names = new Set(
    operations.flatMap(({ path }) => parameterNamesOf(path)).filter((name) => name !== 'id'),
  );
  const known = { own: new Map<string, string[][]>(), foreign: new Map<string, string[][]>() };
  const queries = new Map<string, Readonly<Record<string, string>>>();
  const addresses = [...new Set(operations.map(({ path }) => templateOf(path)))]
    .filter((template) => template.endsWith('{}'))
    .map((template) => ({ template, form: new RegExp(`^${template.replaceAll('{}', '([^/%]+)')}$`) }));
  const items = new Map(operations.map(({ path }) => [templateOf(upToLastParameter(path)), lastName(path)]));

  const add = (owner: Owner, name: string, values: string[]): void => {
    if (values.some((value) => keep.has(value))) return;
    const list = known[owner].get(name) ?? [];
    const others = list.filter((other) => other.join('/') !== values.join('/'));
    known[owner].set(name, [values, ...others].slice(0, IDS_PER_NAME_MAX));
  };
  const addItem = (owner: Owner, template: string, values: string[]): void => {
    add(owner, template, values);
    add(owner, `member ${singularOf(template)}Id`, values.slice(-1));
  };
  const learnAddress = (owner: Owner, text: string): void => {
    if (!/^https?:/.test(text) || !URL.canParse(text)) return;
    const { pathname, searchParams } = new URL(text);
    for (const { template, form } of addresses) {
      const [, ...values] = form.exec(pathname) ?? [];
      if (values.length === 0) continue;
      add(owner, template, values);
      queries.set(nameOf(template, values), Object.fromEntries(searchParams));
    }
  };
  const learnMembers = (owner: Owner, data: unknown, depth: number): void => {
    if (typeof data === 'string') learnAddress(owner, data);
    if (typeof data !== 'object' || data === null || depth > 4) return;
    const entries = Object.entries(data);
    for (const [name, value] of Array.isArray(data) ? entries.toReversed() : entries) {
      if (isId(value) && (names.has(name) || /(?:Id|_id)$/.test(name)))
        add(owner, `member ${camelCase(name)}`, [String(value)]);
      else learnMembers(owner, value, depth + 1);
    }
  };

  /** A list in a member contains the parts that the path has under that name. */
  const learnParts = (owner: Owner, item: string, values: readonly string[], thing: unknown): void => {
    if (typeof thing !== 'object' || thing === null) return;
    for (const [member, list] of Object.entries(thing)) {
      const part = `${item}/${member}/{}`;
      const name = items.get(part);
      if (name === undefined || !Array.isArray(list)) continue;
      for (const id of idsIn(list, name).toReversed()) addItem(owner, part, [...values, id]);
    }
  };

  return {
    learn: (owner, { operationId, method, path }, values, data, sent) => {
      if (namingNoneNew.has(operationId)) return;
      const template = templateOf(path);
      if (method === 'PUT' && path.endsWith('}')) addItem(owner, template, [...values]);
      for (const collection of [template, withoutAction(template)]) {
        const item = `${collection}/{}`;
        const name = items.get(item);
        if (name === undefined) continue;
        const put = name === 'id' ? undefined : ownMember(sent, name);
        const found = isId(put) ? [String(put)] : idsIn(data, name);
        // Lists start with the newest item.
        for (const id of found.toReversed()) addItem(owner, item, [...values, id]);
        for (const thing of [data].flat().toReversed()) {
          const id = ownMember(thing, name) ?? ownMember(thing, 'id');
          if (isId(id)) learnParts(owner, item, [...values, String(id)], thing);
        }
      }
      for (const place of [template, withoutAction(template)]) {
        if (place.endsWith('{}')) learnParts(owner, place, values, data);
      }
      learnMembers(owner, data, 0);
    },
    pathValues: (path, index, isForeign) => {
      const owner = isForeign ? 'foreign' : 'own';
      // Prefers resources given for exactly this path: most resources are not in the state that it needs.
      const found =
        known[owner].get(templateOf(path)) ?? known[owner].get(templateOf(upToLastParameter(path)));
      if (found !== undefined) return found[index % found.length] ?? [];
      const thing = `${singularOf(templateOf(upToLastParameter(path)))}Id`;
      return parameterNamesOf(path).flatMap((name, at, { length }) => {
        // Prefers the name in the path: a member named `key` may have other meanings.
        const named = at === length - 1 ? known[owner].get(`member ${thing}`) : undefined;
        const values = named ?? known[owner].get(`member ${name}`) ?? [];
        return values[index % Math.max(1, values.length)] ?? [];
      });
    },
    resolve: ({ name, index, isForeign, otherwise, isNumber }) => {
      const found = known[isForeign ? 'foreign' : 'own'].get(`member ${camelCase(name)}`) ?? [];
      const [value] = found[index % Math.max(1, found.length)] ?? [];
      if (value === undefined) return otherwise;
      return isNumber ? Number(value) : value;
    },
    queryOf: (path, values) => queries.get(nameOf(templateOf(path), values)) ?? {},
    give: (path, values) => addItem('own', templateOf(path), [...values]),
  };
};

/** `/things/{id}/parts/{partId}` as `/things/{}/parts/{}`: operations use different names for one parameter. */
const templateOf = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');

const nameOf = (template: string, values: readonly string[]): string => `${template} ${values.join('/')}`;

/** The collection of `/things/{}/parts/create`. */
const withoutAction = (template: string): string => template.replace(/\/[a-z-]+$/, '');

/** The id in a request that adds a resource to a collection, e.g. `campaignId` below `/creatives/{}/campaigns`. */
const ownMember = (sent: unknown, name: string): unknown =>
  typeof sent === 'object' && sent !== null ? (sent as Readonly<Record<string, unknown>>)[name] : undefined;

const upToLastParameter = (path: string): string => path.slice(0, path.lastIndexOf('}') + 1);

const lastName = (path: string): string => parameterNamesOf(path).at(-1) ?? 'id';

/** `audience` for `/audiences/{}`, `eventSource` for `/event-sources/{}`. */
const singularOf = (template: string): string =>
  camelCase((template.split('/').at(-2) ?? '').replace(/s$/, ''));

/** `event-source` and `event_source_id` as `eventSource` and `eventSourceId`. */
const camelCase = (text: string): string =>
  text.replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());

const isId = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '' && value.length <= 255) || Number.isSafeInteger(value);

/**
 * The same ids, but each reference is to the account's newest resource, so that the resources of a round belong
 * together.
 */
export const newestOf = (known: KnownIds, isForeign: boolean): KnownIds => ({
  ...known,
  pathValues: (path) => known.pathValues(path, 0, isForeign),
  resolve: ({ name, otherwise, isNumber }) =>
    known.resolve(new Reference(name, 0, isForeign, otherwise, isNumber)),
});

/** The ids of an answer's object, or of each item in its list. */
export const idsIn = (data: unknown, name: string): readonly string[] => {
  if (typeof data !== 'object' || data === null) return [];
  if (Array.isArray(data)) return data.flatMap((item: unknown) => idsIn(item, name));
  const members = data as Readonly<Record<string, unknown>>;
  const id = members[name] ?? members['id'];
  if (isId(id)) return [String(id)];
  return Object.values(members).flatMap((member) => (Array.isArray(member) ? idsIn(member, name) : []));
};

/** True for a member that refers to another resource by an id. */
export const isReferenceMember = (name: string, { type }: Schema): boolean =>
  /(?:Id|_id|Uid|Key)$/.test(name) && (type === 'string' || type === 'integer');

/** What answers a path, and the values of the path's parameters. */
export interface RouteMatch<Target> {
  readonly target: Target;
  readonly params: Readonly<Record<string, string>>;
}

interface End<Target> {
  readonly target: Target;
  /** Of its parameters, in the order of the path. */
  readonly names: readonly string[];
}

interface Node<Target> {
  readonly fixed: Map<string, Node<Target>>;
  parameter: Node<Target> | undefined;
  end: End<Target> | undefined;
}

const PARAMETER = /^\{(\w+)\}$/;

/**
 * Finds what answers a path by its segments: one look-up for each of them, however many paths there are. Express' own
 * router tries the regular expression of one path after the other (docs/performance.md, What was tried).
 *
 * What it finds is what that router finds with `strict` and `case sensitive` and the paths in alphabetical order: a
 * fixed segment before a parameter in its place, so `/things/search` is no thing of id `search`; no parameter is empty;
 * a slash at the end is another path.
 * @param paths in OpenAPI's form; a parameter is a whole segment
 * @throws Error when a path is given twice or a parameter is only a part of a segment
 */
export const createRouteTable = <Target>(
  paths: Iterable<readonly [path: string, target: Target]>,
): ((path: string) => RouteMatch<Target> | undefined) => {
  const root = newNode<Target>();
  for (const [path, target] of paths) add(root, path, target);

  return (path) => {
    if (!path.startsWith('/')) return undefined;
    const values: string[] = [];
    const end = find(root, path, 1, values);
    return end && { target: end.target, params: decoded(end.names, values) };
  };
};

/** A parameter of a path is not percent-encoded UTF-8. */
export class BrokenPathError extends Error {
  override readonly name = 'BrokenPathError';
}

const newNode = <Target>(): Node<Target> => ({ fixed: new Map(), parameter: undefined, end: undefined });

const add = <Target>(root: Node<Target>, path: string, target: Target): void => {
  const names: string[] = [];
  let node = root;
  for (const segment of path.slice(1).split('/')) {
    const name = PARAMETER.exec(segment)?.[1];
    if (name !== undefined) {
      names.push(name);
      node = node.parameter ??= newNode();
    } else {
      if (segment.includes('{')) throw new Error(`${path}: a parameter must be a whole segment`);
      const next = node.fixed.get(segment) ?? newNode();
      node.fixed.set(segment, next);
      node = next;
    }
  }
  if (node.end !== undefined) throw new Error(`${path} is there twice`);
  node.end = { target, names };
};

/** @param values is given the parameters' segments, as they were sent */
const find = <Target>(
  node: Node<Target>,
  path: string,
  from: number,
  values: string[],
): End<Target> | undefined => {
  const slash = path.indexOf('/', from);
  const segment = slash < 0 ? path.slice(from) : path.slice(from, slash);
  const endOf = (next: Node<Target>): End<Target> | undefined =>
    slash < 0 ? next.end : find(next, path, slash + 1, values);
  const fixed = node.fixed.get(segment);
  const end = fixed && endOf(fixed);
  if (end !== undefined || node.parameter === undefined || segment === '') return end;
  values.push(segment);
  const found = endOf(node.parameter);
  if (found === undefined) values.pop();
  return found;
};

const decoded = (names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> => {
  // A parameter may have any name.
  const params = Object.create(null) as Record<string, string>;
  names.forEach((name, at) => {
    params[name] = decode(values[at] ?? '');
  });
  return params;
};

const decode = (segment: string): string => {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    throw new BrokenPathError('the path has broken percent-encoding', { cause: error });
  }
};

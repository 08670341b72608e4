import { variables } from '../app/config.ts';
import type { OperatorCommand, Tools } from './command.ts';

/** Never prints a configured value, because it may be a secret. */
export const addConfigCommand = (program: OperatorCommand, { print }: Tools): void => {
  program
    .command('config')
    .description('Lists every setting of the service with its default, without its configured value.')
    .action(() => {
      for (const [name, schema] of Object.entries(variables)) {
        const description = schema.description ?? '';
        const byDefault = plainDefault(schema.safeParse(undefined).data);
        const shown = byDefault === null ? '' : ` Default: ${String(byDefault)}.`;
        print({ name, description, default: byDefault }, `${name}\n    ${description}${shown}`);
      }
    });
};

export const plainDefault = (value: unknown): string | number | readonly string[] | null => {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? value : null;
};

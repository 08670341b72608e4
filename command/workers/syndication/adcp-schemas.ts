import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface SchemaOutcome {
  readonly valid: boolean;
  /** `pointer` (RFC 6901) names the invalid member. */
  readonly issues: readonly {
    readonly pointer: string;
    readonly message: string;
    readonly keyword: string;
  }[];
}

export interface AdcpSchemas {
  readonly validateRequest: (task: string, parameters: unknown) => SchemaOutcome;
  readonly validateResponse: (task: string, data: unknown) => SchemaOutcome;
}

/** Loads a single file at the first call: the package's entry point also loads its server and test tools. */
export const loadAdcpSchemas = (): AdcpSchemas => {
  const require = createRequire(import.meta.url);
  const file = join(dirname(require.resolve('@adcp/sdk')), 'validation', 'schema-validator.js');
  return require(file) as AdcpSchemas;
};

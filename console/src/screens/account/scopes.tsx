import { Group } from '@mantine/core';
import type { Schema } from '../../api/schema.ts';
import { State } from '../../pieces/badge.tsx';

export type Scope = Schema<'ApiKey'>['scopes'][number];

/** What a scope lets a program do, in words. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  'exchange:read': 'See campaigns, creatives, audiences and reports',
  'exchange:write': 'Create and change campaigns, creatives and audiences',
  'exchange:admin': 'Manage API keys, members and settings of the account',
  'exchange:review': 'Review creatives for your seller',
};

export const Scopes = ({ of: scopes }: { readonly of: readonly Scope[] }) => (
  <Group gap={4}>
    {scopes.map((scope) => (
      <State key={scope} of={scope} />
    ))}
  </Group>
);
